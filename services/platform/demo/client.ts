import { setTimeout as delay } from 'node:timers/promises';
import { failures } from '@odograph/contracts/failures';

const [overloadedStatus] = failures.OVERLOADED;

/** A client of the HTTP interface for the demo. Requests wait while the platform is overloaded, and throw for other failures. */
export interface DemoClient {
  get<Answer>(path: string): Promise<Answer>;
  post<Answer>(path: string, body: object): Promise<Answer>;
}

export function createClient(httpUrl: string, headers: Record<string, string>): DemoClient {
  const jsonHeaders = { 'content-type': 'application/json', ...headers };
  const request = async <Answer>(path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${httpUrl}${path}`, { ...init, headers: jsonHeaders });
    const text = await response.text();
    if (response.status === overloadedStatus) {
      await delay(Number(response.headers.get('retry-after') ?? 1) * 1000);
      return request(path, init);
    }
    if (!response.ok) throw new Error(`${init.method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text === '' ? '{}' : text) as Answer;
  };
  return {
    get: (path) => request(path, { method: 'GET' }),
    post: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
  };
}

const retryMs = 250;

/** Repeats `attempt` until it returns true, or until `timeoutMs` has passed. @returns whether it did */
export async function waitFor(attempt: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  for (const end = performance.now() + timeoutMs; performance.now() < end; await delay(retryMs)) {
    if (await attempt().catch(() => false)) return true;
  }
  return false;
}

/** The exit codes of the command line (docs/operating.md, "Command line"). */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

/** A command line that cannot be run as it was given; nothing was done. */
export class UsageFailure extends Error {}

/** The platform does not answer. */
export class Unreachable extends Error {}

/** The platform refuses a request. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns the exit code for whatever a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageFailure) return exitCodes.usage;
  return error instanceof Unreachable ? exitCodes.unreachable : exitCodes.failed;
}

type Query = Readonly<Record<string, string | undefined>>;

/** The routes of the platform. A path without a leading slash is below `/v1/x/admin`, the operator's side. */
export interface AdminApi {
  readonly url: string;
  get(path: string, query?: Query): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
  put(path: string, body: object): Promise<unknown>;
  delete(path: string, query?: Query): Promise<unknown>;
  /** Downloads a file. */
  download(path: string, query: Query): Promise<Buffer>;
}

/** Encodes text for one segment of a path. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

function unreachable(url: string, error: unknown): Unreachable {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new Unreachable(`no answer from ${url}${code}; is the platform running?`);
}

function refused(url: string, response: Response, body: unknown): Refusal {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    return new Refusal(status, `${url} redirects to ${headers.get('location')}; use that address`);
  }
  const { error, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof error !== 'string') {
    return new Refusal(status, `unexpected answer with status ${status}; is this the platform?`);
  }
  return new Refusal(status, typeof message === 'string' ? `${error}: ${message}` : error);
}

const send = (url: string, target: URL, init: RequestInit): Promise<Response> =>
  fetch(target, { redirect: 'manual', ...init }).catch((error: unknown) => {
    throw unreachable(url, error);
  });

/**
 * Sends a request with a JSON body and reads the JSON answer. Redirects are not followed: credentials belong to one server.
 * @throws Unreachable, Refusal with a one-line message
 */
export async function requestJson(
  url: string,
  target: URL,
  init: RequestInit,
): Promise<{ body: unknown; headers: Headers }> {
  const response = await send(url, target, init);
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok || body === undefined) throw refused(url, response, body);
  return { body, headers: response.headers };
}

/**
 * Creates a client of the platform at `url`; the headers that authenticate are read at each call.
 * Each call throws Unreachable or Refusal with a one-line message.
 */
export function createAdminApi(url: string, authenticate: () => Promise<Record<string, string>>): AdminApi {
  const targetOf = (path: string, query: Query): URL => {
    const target = new URL(path.startsWith('/') ? path : `/v1/x/admin/${path}`, url);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, value);
    return target;
  };
  const request = async (method: string, path: string, query: Query, body?: object): Promise<unknown> => {
    const target = targetOf(path, query);
    const headers = { ...(await authenticate()), 'content-type': 'application/json' };
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await requestJson(url, target, { method, headers, ...json })).body;
  };
  return {
    url,
    get: (path, query = {}) => request('GET', path, query),
    post: (path, body) => request('POST', path, {}, body),
    put: (path, body) => request('PUT', path, {}, body),
    delete: (path, query = {}) => request('DELETE', path, query),
    async download(path, query) {
      const response = await send(url, targetOf(path, query), { headers: await authenticate() });
      if (!response.ok) throw refused(url, response, await response.json().catch(() => undefined));
      return Buffer.from(await response.arrayBuffer());
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import { platformVersion } from '@odograph/runtime/platform-version';
import type { Redis } from '@odograph/runtime/redis';

const requestTimeoutMs = 5000;
const turnWaitMs = 3000;
const turnPollMs = 100;

/** A request to a geocoder or router that the operator configured. */
interface EngineRequest {
  /** The setting with its address. */
  readonly url: string;
  /** Relative to the address. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; without one, the method is GET. */
  readonly body?: unknown;
  readonly maxAnswerBytes: number;
  readonly stopping?: AbortSignal;
}

/** The answer 400: a router gives it where it knows no road. */
export class EngineRefusal extends Error {}

/** Requests JSON. @throws EngineRefusal; Error for no answer within 5 s, a redirect, or an unexpected status, size or format */
export async function askEngine(request: EngineRequest): Promise<unknown> {
  const { url, path, query = {}, body, maxAnswerBytes, stopping } = request;
  const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  const response = await fetch(target, {
    headers: {
      ...{ accept: 'application/json', 'user-agent': `Odograph/${platformVersion()}` },
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.any([...(stopping ? [stopping] : []), AbortSignal.timeout(requestTimeoutMs)]),
  });
  if (response.status === 400) throw new EngineRefusal('the engine refused the request');
  if (!response.ok) throw new Error(`the engine responded with status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`the response of the engine exceeds ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

export type Members = Readonly<Record<string, unknown>>;

/** Returns the members of a JSON object; none of other values. */
export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/** Returns the elements of a JSON array; none of other values. */
export const elementsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns a JSON string; an empty one for other values. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The turns of all processes together. */
export interface Turns {
  readonly redis: Redis;
  readonly key: string;
  readonly perSecond: number;
}

/** Takes the next turn, if it has come. @throws if Redis is unavailable */
export async function takeTurn({ redis, key, perSecond }: Turns): Promise<boolean> {
  return (await redis.set(key, '1', 'PX', Math.ceil(1000 / perSecond), 'NX')) !== null;
}

/** Waits for a turn. @throws Failure TOO_MANY_REQUESTS after 3 s, OVERLOADED without Redis */
export async function awaitTurn(turns: Turns, engine: string): Promise<void> {
  const isTaken = () =>
    takeTurn(turns).catch((cause: unknown) => {
      throw new Failure('OVERLOADED', `the ${engine} cannot be asked`, { retryAfterSeconds: 5 }, { cause });
    });
  for (const endMs = performance.now() + turnWaitMs; !(await isTaken()); await delay(turnPollMs)) {
    if (performance.now() > endMs) {
      throw new Failure('TOO_MANY_REQUESTS', `the ${engine} is busy`, { retryAfterSeconds: 1 });
    }
  }
}

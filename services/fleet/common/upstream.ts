import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import { platformVersion } from '@odograph/runtime/platform-version';
import { readText } from '@odograph/runtime/read-text';
import type { Redis } from '@odograph/runtime/redis';

const requestTimeoutMs = 5000;
const maxSlotWaitMs = 3000;
const slotPollMs = 100;

/** A request to a geocoder or router that the operator configured. */
interface UpstreamRequest {
  /** The base URL in the settings. */
  readonly url: string;
  /** Relative to the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; without a body, the method is GET. */
  readonly body?: unknown;
  readonly maxAnswerBytes: number;
  readonly stopping?: AbortSignal;
}

/** A response with status 400, which routers send if they find no road. */
export class UpstreamRefusal extends Error {}

/**
 * Requests JSON.
 * @throws UpstreamRefusal; Error on a timeout of 5 s, a redirect, or an unexpected status, size or format
 */
export async function requestUpstream(request: UpstreamRequest): Promise<unknown> {
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
  if (response.status === 400) throw new UpstreamRefusal('the response has status 400');
  if (!response.ok) throw new Error(`the response has status ${response.status}`);
  const text = await readText(response, maxAnswerBytes);
  if (text === undefined) throw new Error(`the response exceeds ${maxAnswerBytes} bytes`);
  try {
    return JSON.parse(text);
  } catch {
    // The message of the error quotes the answer, which may name the place of a vehicle.
    throw new Error('the response is not JSON');
  }
}

export type Members = Readonly<Record<string, unknown>>;

/** Returns the members of a JSON object; none of other values. */
export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/** Returns the elements of a JSON array; none of other values. */
export const elementsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Returns a JSON string; an empty one for other values. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A rate limit that all processes share. */
export interface RateLimit {
  readonly redis: Redis;
  readonly key: string;
  readonly perSecond: number;
}

/** Takes the next slot of a rate limit if it is free. @throws if Redis is unavailable */
export async function takeSlot({ redis, key, perSecond }: RateLimit): Promise<boolean> {
  return (await redis.set(key, '1', 'PX', Math.ceil(1000 / perSecond), 'NX')) !== null;
}

/** Waits for a slot of a rate limit. @throws Failure TOO_MANY_REQUESTS after 3 s, OVERLOADED without Redis */
export async function awaitSlot(limit: RateLimit, upstream: string): Promise<void> {
  const isTaken = () =>
    takeSlot(limit).catch((cause: unknown) => {
      const message = `the rate limit of the ${upstream} cannot be checked`;
      throw new Failure('OVERLOADED', message, { retryAfterSeconds: 5 }, { cause });
    });
  for (const endMs = performance.now() + maxSlotWaitMs; !(await isTaken()); await delay(slotPollMs)) {
    if (performance.now() > endMs) {
      throw new Failure('TOO_MANY_REQUESTS', `the rate limit of the ${upstream} is exceeded`, { retryAfterSeconds: 1 });
    }
  }
}

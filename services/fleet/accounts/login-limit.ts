import { createHash } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { tooManyRequests } from '@odograph/http/too-many-requests';
import type { Redis } from '@odograph/runtime/redis';

const windowMs = 60_000;

/** Counts an attempt under a name. @throws Failure TOO_MANY_REQUESTS, or OVERLOADED when it cannot be counted */
export type CountAttempt = (...name: readonly string[]) => Promise<void>;

/**
 * Limits attempts at a secret to so many a minute, counted in Redis so that every replica sees the same number.
 * While Redis is away nothing can be counted, and an uncounted guess is not allowed.
 */
export function limitAttempts(redis: Redis, prefix: string, attemptsPerMinute: number): CountAttempt {
  return async (...name) => {
    // Names come from clients: the hash keeps keys short and their parts apart.
    const key = `${prefix}:attempts:${createHash('sha256').update(JSON.stringify(name)).digest('base64url')}`;
    const [count, remainingMs] = await countInWindow(redis, key);
    if (count > attemptsPerMinute) throw tooManyRequests(remainingMs);
  };
}

async function countInWindow(redis: Redis, key: string): Promise<[count: number, remainingMs: number]> {
  const results = await redis
    .multi()
    .set(key, 0, 'PX', windowMs, 'NX')
    .incr(key)
    .pttl(key)
    .exec()
    .catch((cause: unknown) => {
      throw new Failure('OVERLOADED', 'the attempt cannot be counted now', { retryAfterSeconds: 5 }, { cause });
    });
  return [Number(results?.[1]?.[1]), Number(results?.[2]?.[1])];
}

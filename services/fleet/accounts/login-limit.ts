import { createHash } from 'node:crypto';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import type { Redis } from '@odograph/runtime/redis';

const windowMs = 60_000;

/** Counts an attempt under a name. @throws Failure TOO_MANY_REQUESTS; OVERLOADED while Redis is away */
export type CountAttempt = (...name: readonly string[]) => Promise<void>;

/**
 * Limits attempts at a password or key per minute. The counts are in Redis, so all replicas share them; while Redis is
 * away an attempt cannot be counted and fails.
 */
export function createLoginLimit(redis: Redis, prefix: string, attemptsPerMinute: number): CountAttempt {
  return async (...name) => {
    // Names come from clients: hashed, they have one length and their parts cannot run into each other.
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
      throw new Failure('OVERLOADED', 'the login limit is not available', { retryAfterSeconds: 5 }, { cause });
    });
  return [Number(results?.[1]?.[1]), Number(results?.[2]?.[1])];
}

import { createHash } from 'node:crypto';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import { networkOf } from '@odograph/runtime/network-address';
import type { Redis } from '@odograph/runtime/redis';

const minuteMs = 60_000;

/** A sign-in attempt: account and network address. */
interface LoginSubject {
  /** Names of the account, such as appId and username. */
  readonly account: readonly string[];
  /** The network address of the client. */
  readonly address: string;
}

/**
 * Limits failed attempts within a window, by default a minute, per pair of account and address, so that an attacker cannot
 * lock an account for other addresses. Replicas share the counts in Redis; while Redis is unavailable, attempts fail.
 */
export class LoginLimit {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #maxFailures: number;
  readonly #windowMs: number;
  /** The last queued attempt of each key. */
  readonly #lines = new Map<string, Promise<unknown>>();

  constructor(redis: Redis, prefix: string, maxFailures: number, windowMs = minuteMs) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#maxFailures = maxFailures;
    this.#windowMs = windowMs;
  }

  /**
   * Verifies credentials. Attempts at one account from one address run one after the other, so that concurrent guesses
   * cannot pass the limit together.
   * @param verify throws a Failure for wrong credentials
   * @throws Failure TOO_MANY_REQUESTS; OVERLOADED while Redis is unavailable; whatever `verify` throws
   */
  async attempt<T>({ account, address }: LoginSubject, verify: () => Promise<T>): Promise<T> {
    // Names come from clients: hashing bounds their length and keeps their parts distinct.
    const name = JSON.stringify([...account, networkOf(address)]);
    const key = `${this.#prefix}:login-failures:${createHash('sha256').update(name).digest('base64url')}`;
    const previous = this.#lines.get(key) ?? Promise.resolve();
    const attempt = previous.then(() => this.#verify(key, verify));
    const settled = attempt.catch(() => undefined);
    this.#lines.set(key, settled);
    try {
      return await attempt;
    } finally {
      if (this.#lines.get(key) === settled) this.#lines.delete(key);
    }
  }

  async #verify<T>(key: string, verify: () => Promise<T>): Promise<T> {
    const [failures, remainingMs] = await this.#read(key);
    if (failures >= this.#maxFailures) throw tooManyRequests(remainingMs);
    try {
      const verified = await verify();
      if (failures > 0) await available(this.#redis.del(key));
      return verified;
    } catch (error) {
      if (error instanceof Failure) await this.#count(key);
      throw error;
    }
  }

  async #read(key: string): Promise<[failures: number, remainingMs: number]> {
    const results = await available(this.#redis.multi().get(key).pttl(key).exec());
    return [Number(results?.[0]?.[1] ?? 0), Number(results?.[1]?.[1])];
  }

  async #count(key: string): Promise<void> {
    await available(this.#redis.multi().set(key, 0, 'PX', this.#windowMs, 'NX').incr(key).exec());
  }
}

/** Awaits an answer of Redis. @param name what needs it, for the message. @throws Failure OVERLOADED without Redis */
export async function available<T>(answer: Promise<T>, name = 'login limit'): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new Failure('OVERLOADED', `the ${name} is not available`, { retryAfterSeconds: 5 }, { cause });
  }
}

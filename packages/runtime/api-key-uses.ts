import type { Redis } from './redis.ts';

const minuteMs = 60_000;

/** Records the last use of API keys in Redis, because services that authenticate have read-only database access. */
export class ApiKeyUses {
  readonly #redis: Redis;
  readonly #key: string;
  /** The last minute that this process recorded for each key. */
  readonly #written = new Map<string, number>();

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = `${prefix}:api-key-uses`;
  }

  /** Records the use of a key, at most once a minute. @throws if Redis is unavailable */
  async record(id: string): Promise<void> {
    const minute = Math.floor(Date.now() / minuteMs);
    if (this.#written.get(id) === minute) return;
    await this.#redis.hset(this.#key, id, minute);
    this.#written.set(id, minute);
  }

  /** Reads the last use of each key, to the minute; null if none is recorded. @throws if Redis is unavailable */
  async read(ids: readonly string[]): Promise<(Date | null)[]> {
    if (ids.length === 0) return [];
    const minutes = await this.#redis.hmget(this.#key, ...ids);
    return minutes.map((minute) => (minute === null ? null : new Date(Number(minute) * minuteMs)));
  }

  /** Removes the record of a deleted key. @throws if Redis is unavailable */
  async forget(id: string): Promise<void> {
    await this.#redis.hdel(this.#key, id);
  }
}

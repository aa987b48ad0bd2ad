import type { Redis } from './redis.ts';

const minuteMs = 60_000;

/** Keeps in Redis the minute in which each API key was last used, because services that authenticate may only read. */
export class ApiKeyUses {
  readonly #redis: Redis;
  readonly #key: string;
  /** The minute that this process has written for each key. */
  readonly #written = new Map<string, number>();

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = `${prefix}:api-key-uses`;
  }

  /** Records the use of a key, once a minute. @throws while Redis is unavailable */
  async record(id: string): Promise<void> {
    const minute = Math.floor(Date.now() / minuteMs);
    if (this.#written.get(id) === minute) return;
    await this.#redis.hset(this.#key, id, minute);
    this.#written.set(id, minute);
  }

  /** Finds when each of the keys was last used, to the minute; null for those without a record. @throws while Redis is unavailable */
  async read(ids: readonly string[]): Promise<(Date | null)[]> {
    if (ids.length === 0) return [];
    const minutes = await this.#redis.hmget(this.#key, ...ids);
    return minutes.map((minute) => (minute === null ? null : new Date(Number(minute) * minuteMs)));
  }

  /** Removes the record of a deleted key. @throws while Redis is unavailable */
  async forget(id: string): Promise<void> {
    await this.#redis.hdel(this.#key, id);
  }
}

import { randomUUID } from 'node:crypto';
import type { Logger } from './logger.ts';
import type { Redis } from './redis.ts';

const retryMs = 1000;

/**
 * Announces writes over HTTP to other processes through a value in Redis that changes with each write. While the value is
 * unchanged, a standby that had every write still has every write.
 */
export class LastWrite {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, prefix: string, logger: Logger) {
    this.#redis = redis;
    this.#key = `${prefix}:last-write`;
    this.#logger = logger;
  }

  /** Records a write; call it after the commit and before the answer. Retries every second while Redis is unavailable. */
  async record(): Promise<void> {
    try {
      await this.#redis.set(this.#key, randomUUID());
    } catch (error) {
      if (this.#timer !== undefined) return;
      this.#logger.warn({ err: error }, 'write not recorded for standby reads; retrying');
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        void this.record();
      }, retryMs).unref();
    }
  }

  /** Returns the value after the latest write; null before the first. @throws while Redis is unavailable */
  read(): Promise<string | null> {
    return this.#redis.get(this.#key);
  }
}

import { randomUUID } from 'node:crypto';
import type { Logger } from './logger.ts';
import type { Redis } from './redis.ts';

const retryMs = 1000;

/**
 * Shares between processes that something was written over HTTP, as a value in Redis that is another one after each write.
 * A reader that finds the value unchanged knows that a standby which had everything then still has everything now.
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

  /** Records a write; call it after its commit and before its answer. While Redis is unavailable it is repeated every second. */
  async record(): Promise<void> {
    try {
      await this.#redis.set(this.#key, randomUUID());
    } catch (error) {
      if (this.#timer !== undefined) return;
      this.#logger.warn({ err: error }, 'write not recorded for readers of standbys, retrying');
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

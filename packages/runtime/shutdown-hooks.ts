import type { Logger } from './logger.ts';

/** Functions that close resources at shutdown, in reverse order of registration. */
export class ShutdownHooks {
  readonly #closes: { name: string; close: () => unknown }[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, close: () => unknown): void {
    this.#closes.push({ name, close });
  }

  /** Runs every hook once; a failure is logged and does not stop the others. */
  async run(): Promise<void> {
    for (let next = this.#closes.pop(); next !== undefined; next = this.#closes.pop()) {
      try {
        await next.close();
      } catch (error) {
        this.#logger.error({ err: error, part: next.name }, 'shutdown hook failed');
      }
    }
  }
}

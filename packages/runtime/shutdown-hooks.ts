import type { Logger } from './logger.ts';

/** The closes that wait for the end, run in reverse order of their registration. */
export class ShutdownHooks {
  readonly #closes: { name: string; close: () => unknown }[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(name: string, close: () => unknown): void {
    this.#closes.push({ name, close });
  }

  /** Runs every close once; one that fails is logged and does not keep the others from running. */
  async run(): Promise<void> {
    for (let next = this.#closes.pop(); next !== undefined; next = this.#closes.pop()) {
      try {
        await next.close();
      } catch (error) {
        this.#logger.error({ err: error, part: next.name }, 'a part did not stop cleanly');
      }
    }
  }
}

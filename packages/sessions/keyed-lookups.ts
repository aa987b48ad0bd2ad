import { CallBatcher } from '@odograph/runtime/batcher';
import { within } from '@odograph/runtime/clock';

const keysPerStatement = 1000;
const statementIntervalMs = 10;
const timeoutMs = 5000;

interface Lookup {
  readonly key: string;
  /** The value changed after the lookup began. */
  isStale: boolean;
}

/** Looks up values by key, many with one statement, so that a reconnecting fleet stays cheap. */
export class KeyedLookups<Value> {
  readonly #lookups: CallBatcher<Lookup, ReadonlyMap<string, Value>>;

  /** @param select reads the values of these keys from the database; a key without one is left out */
  constructor(select: (keys: string[]) => Promise<ReadonlyMap<string, Value>>) {
    this.#lookups = new CallBatcher({
      async handle(lookups) {
        try {
          return await within(timeoutMs, select([...new Set(lookups.map(({ key }) => key))]));
        } catch (error) {
          throw new Error('the database does not answer', { cause: error });
        }
      },
      maximumItems: keysPerStatement,
      intervalMs: statementIntervalMs,
    });
  }

  /**
   * Finds the value of a key; undefined without one.
   * @throws when the database does not answer
   */
  async find(key: string): Promise<Value | undefined> {
    for (;;) {
      const lookup = { key, isStale: false };
      const found = await this.#lookups.call(lookup);
      if (!lookup.isStale) return found.get(key);
    }
  }

  /** Repeats the pending lookups of a key whose value changed: their statement may have read the old one. */
  invalidate(key: string): void {
    for (const lookup of this.#lookups.pending) if (lookup.key === key) lookup.isStale = true;
  }

  /** Repeats all pending lookups: changes of any value may have been missed. */
  invalidateAll(): void {
    for (const lookup of this.#lookups.pending) lookup.isStale = true;
  }
}

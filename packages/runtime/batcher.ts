import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';

export interface BatcherOptions<Item, Result = void> {
  /** Handles one batch. */
  handle(items: readonly Item[]): Promise<Result>;
  readonly maximumItems: number;
  /** Maximum bytes of a batch, except for a single larger item; unlimited by default. */
  readonly maximumBytes?: number;
  bytesOf?(item: Item): number;
  /** Minimum time between the starts of two batches, unless the second one is full; 0 by default. */
  readonly intervalMs?: number;
  /** Maximum of batches in flight; 1 by default. */
  readonly maximumInFlight?: number;
  /** Shares a limit of batches in flight with other batchers. */
  readonly slots?: BatchSlots;
}

/**
 * Handles items in batches (group commit). After a pause, the first batch contains the items of one turn of the event loop;
 * each later one starts when it is full or `intervalMs` after the previous one, with at most `maximumInFlight` in flight.
 * Under load, many items share the cost of a batch. `handle` deals with its own failures and never rejects.
 */
export class Batcher<Item> {
  readonly #options: BatcherOptions<Item>;
  readonly #slots: BatchSlots;
  readonly #inFlight = new Set<readonly Item[]>();
  #waiting: Item[] = [];
  #waitingBytes = 0;
  readonly #outside = AsyncLocalStorage.snapshot();
  /** A batch belongs to the trace of its first item; one that follows a full batch to none. */
  #inTrace = this.#outside;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #isScheduled = false;
  #isDraining = false;
  #onIdle: (() => void)[] = [];

  constructor(options: BatcherOptions<Item>) {
    this.#options = options;
    this.#slots = options.slots ?? new BatchSlots(Number.POSITIVE_INFINITY);
    this.#slots.register(() => this.#schedule());
  }

  /** Lists the items that are not handled, oldest first. */
  get pending(): Item[] {
    return [...this.#inFlight, this.#waiting].flat();
  }

  add(item: Item): void {
    if (this.#waiting.length === 0) this.#inTrace = AsyncLocalStorage.snapshot();
    this.#waiting.push(item);
    this.#waitingBytes += this.#bytesOf(item);
    this.#schedule();
  }

  /** Handles waiting items without further delay; resolves when none waits or is in flight. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#startDue();
    if (this.#waiting.length === 0 && this.#inFlight.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #bytesOf(item: Item): number {
    return this.#options.bytesOf?.(item) ?? 0;
  }

  get #isFull(): boolean {
    const { maximumItems, maximumBytes = Number.POSITIVE_INFINITY } = this.#options;
    return this.#waiting.length >= maximumItems || this.#waitingBytes >= maximumBytes;
  }

  get #hasSlot(): boolean {
    return this.#inFlight.size < (this.#options.maximumInFlight ?? 1) && this.#slots.free > 0;
  }

  #schedule(): void {
    while (this.#isFull && this.#hasSlot) void this.#run(this.#take());
    if (this.#isScheduled || this.#waiting.length === 0 || !this.#hasSlot) return;
    this.#isScheduled = true;
    const waitMs = this.#lastStartMs + (this.#options.intervalMs ?? 0) - performance.now();
    if (waitMs > 0 && !this.#isDraining) setTimeout(() => this.#startDue(), waitMs);
    else setImmediate(() => this.#startDue());
  }

  #startDue(): void {
    this.#isScheduled = false;
    if (this.#waiting.length > 0 && this.#hasSlot) void this.#run(this.#take());
    this.#schedule();
  }

  #take(): Item[] {
    const { maximumItems, maximumBytes = Number.POSITIVE_INFINITY } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const next of this.#waiting) {
      const nextBytes = this.#bytesOf(next);
      if (count === maximumItems || (count > 0 && bytes + nextBytes > maximumBytes)) break;
      count += 1;
      bytes += nextBytes;
    }
    this.#waitingBytes -= bytes;
    if (count < this.#waiting.length) return this.#waiting.splice(0, count);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }

  async #run(batch: readonly Item[]): Promise<void> {
    this.#lastStartMs = performance.now();
    this.#inFlight.add(batch);
    this.#slots.take();
    const inTrace = this.#inTrace;
    this.#inTrace = this.#outside;
    try {
      await inTrace(() => this.#options.handle(batch));
    } finally {
      this.#inFlight.delete(batch);
      this.#slots.release();
      if (this.#waiting.length === 0 && this.#inFlight.size === 0) {
        for (const resolve of this.#onIdle.splice(0)) resolve();
      }
    }
  }
}

interface Call<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Makes one call of many (Batcher): each item gets the result of its batch, or its failure. */
export class CallBatcher<Item, Result = void> {
  readonly #calls: Batcher<Call<Item, Result>>;

  constructor({ handle, bytesOf, ...limits }: BatcherOptions<Item, Result>) {
    this.#calls = new Batcher({
      ...limits,
      ...(bytesOf && { bytesOf: ({ item }: Call<Item, Result>) => bytesOf(item) }),
      async handle(calls) {
        try {
          const result = await handle(calls.map(({ item }) => item));
          for (const { resolve } of calls) resolve(result);
        } catch (error) {
          for (const { reject } of calls) reject(error);
        }
      },
    });
  }

  /** Lists the items without a result, oldest first. */
  get pending(): Item[] {
    return this.#calls.pending.map(({ item }) => item);
  }

  /** Resolves with the result of the item's batch; rejects when handling the batch failed. */
  call(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#calls.add({ item, resolve, reject });
    });
  }
}

/** A shared limit of batches in flight; a free slot goes to the batcher that was created first. */
export class BatchSlots {
  readonly #schedules: (() => void)[] = [];
  #free: number;

  constructor(maximumInFlight: number) {
    this.#free = maximumInFlight;
  }

  get free(): number {
    return this.#free;
  }

  register(schedule: () => void): void {
    this.#schedules.push(schedule);
  }

  take(): void {
    this.#free -= 1;
  }

  release(): void {
    this.#free += 1;
    for (const schedule of this.#schedules) schedule();
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { EventType } from '@odograph/contracts/events';
import { Failure } from '@odograph/contracts/failures';
import type { Tables } from '@odograph/database/tables';
import { type EventCursor, formatCursor } from '@odograph/event-list/cursor';
import { type EventHeads, findEventHeads, type PlatformEvent, readEventsOf } from '@odograph/event-list/read-events';
import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';
import type { Kysely } from 'kysely';

/** The heads of the list are read twice a second for all streams together. */
const intervalMs = 500;
/** Events of a stream that wait in memory. */
const eventsPerPage = 100;
/** Pages that are read at the same time for all streams; they share the connections of the other routes. */
const maxReads = 3;

/** The part of the list that a stream shows. */
export interface FollowedEvents {
  readonly applicationIds: readonly number[];
  readonly userId: string | undefined;
  /** Undefined for all vehicles of the applications. */
  readonly vehicleIds: readonly number[] | undefined;
}

interface FollowersOptions {
  readonly db: Kysely<Tables>;
  readonly logger: Logger;
  readonly failures: Counter;
}

/** Follows the list of events for the streams of this process: finds out what is new for all of them in one statement. */
export class EventFollowers {
  readonly #options: FollowersOptions;
  readonly #followers = new Set<EventFollower>();
  readonly #waiting: (() => void)[] = [];
  readonly #stopped = new AbortController();
  #reads = 0;
  #running: Promise<void> | undefined;
  #updatedAt = performance.now();
  #isFailing = false;

  constructor(options: FollowersOptions) {
    this.#options = options;
  }

  /** Milliseconds since the heads were last read; 0 without followers. */
  get ageMs(): number {
    return this.#followers.size > 0 ? performance.now() - this.#updatedAt : 0;
  }

  /**
   * Follows the list from a cursor, or from now on, for a stream.
   * @throws Failure INVALID_PARAMETER with the reason EXPIRED when events behind the cursor were deleted
   */
  async follow(
    shown: FollowedEvents,
    types: ReadonlySet<EventType>,
    after: EventCursor | undefined,
  ): Promise<EventFollower> {
    const follower = new EventFollower(shown, types, after, (one, cursor) => this.#readPage(one, cursor));
    await follower.readFirst();
    if (this.#followers.size === 0) this.#updatedAt = performance.now();
    this.#followers.add(follower);
    this.#running ??= this.#run();
    return follower;
  }

  leave(follower: EventFollower): void {
    this.#followers.delete(follower);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** Runs while there are followers. */
  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && this.#followers.size > 0) {
      try {
        await this.#findHeads();
        this.#updatedAt = performance.now();
        this.#isFailing = false;
      } catch (error) {
        this.#fail(error);
      }
      await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    }
    this.#running = undefined;
  }

  async #findHeads(): Promise<void> {
    const followers = [...this.#followers];
    const idsOf = (some: readonly EventFollower[]) => [...new Set(some.flatMap(({ shown }) => shown.applicationIds))];
    const withReadings = followers.filter((follower) => follower.wantsReadings);
    const heads = await findEventHeads(this.#options.db, idsOf(followers), idsOf(withReadings));
    for (const follower of followers) follower.wake(heads);
  }

  async #readPage({ shown, types }: EventFollower, after: EventCursor | undefined) {
    if (this.#reads >= maxReads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#reads += 1;
    try {
      const { applicationIds, userId, vehicleIds } = shown;
      return await readEventsOf(
        this.#options.db,
        { applicationIds, ...(userId !== undefined && { userId }) },
        { after, limit: eventsPerPage, types, cursorName: 'Last-Event-ID', ...(vehicleIds && { vehicleIds }) },
      );
    } catch (error) {
      if (!(error instanceof Failure)) this.#fail(error);
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#reads -= 1;
    }
  }

  #fail(error: unknown): void {
    const { logger, failures } = this.#options;
    failures.inc();
    if (!this.#isFailing) logger.warn({ err: error }, 'events for live streams not read, retrying');
    this.#isFailing = true;
  }
}

type ReadPage = (follower: EventFollower, after: EventCursor | undefined) => ReturnType<typeof readEventsOf>;

/** The list of events as one stream reads it: page by page, the next when its client has read the one before. */
export class EventFollower {
  readonly types: ReadonlySet<EventType>;
  /** Called when events can be taken. */
  onReady: () => void = () => undefined;
  /** Called when the stream cannot continue. */
  onExpired: () => void = () => undefined;
  readonly #readPage: ReadPage;
  #shown: FollowedEvents;
  /** Read and not taken yet. */
  #page: PlatformEvent[] = [];
  /** Behind what was taken. */
  #cursor: EventCursor | undefined;
  /** Behind what was read. */
  #next: EventCursor | undefined;
  #isBehind = true;
  #isReading = false;

  constructor(
    shown: FollowedEvents,
    types: ReadonlySet<EventType>,
    after: EventCursor | undefined,
    readPage: ReadPage,
  ) {
    this.#shown = shown;
    this.types = types;
    this.#cursor = this.#next = after;
    this.#readPage = readPage;
  }

  get shown(): FollowedEvents {
    return this.#shown;
  }

  get wantsReadings(): boolean {
    return this.types.has('reading.stored');
  }

  /** Whether everything that was known at the last wake has been taken. */
  get isUpToDate(): boolean {
    return this.#page.length === 0 && !this.#isBehind;
  }

  /** The cursor behind what was taken, as text. */
  get cursorText(): string {
    return this.#cursor ? formatCursor(this.#cursor) : '';
  }

  /** Reads the first page. @throws Failure when the cursor has expired */
  async readFirst(): Promise<void> {
    await this.#read();
  }

  /** Begins again behind what was taken when other vehicles may be seen. */
  changeScope(shown: FollowedEvents): void {
    this.#shown = shown;
    this.#page = [];
    this.#next = this.#cursor;
    this.#isBehind = true;
    this.#readOn();
  }

  /** Learns where the lists end. */
  wake({ events, readings }: EventHeads): void {
    const from = this.#next?.transaction ?? 0n;
    const isBehind = (heads: ReadonlyMap<number, bigint>) =>
      this.#shown.applicationIds.some((id) => (heads.get(id) ?? -1n) >= from);
    if (isBehind(events) || (this.wantsReadings && isBehind(readings))) this.#isBehind = true;
    if (this.#page.length === 0) this.#readOn();
  }

  /** Takes the next event; undefined while there is none in memory. */
  take(): PlatformEvent | undefined {
    const event = this.#page.shift();
    if (!event) {
      this.#readOn();
      return undefined;
    }
    this.#cursor = this.#page.length === 0 ? this.#next : event.cursor;
    return event;
  }

  #readOn(): void {
    if (!this.#isBehind || this.#isReading || this.#page.length > 0) return;
    this.#read().then(
      () => this.onReady(),
      (error: unknown) => {
        // After another failure the next wake reads again.
        if (error instanceof Failure) this.onExpired();
      },
    );
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    const [shown, after] = [this.#shown, this.#next];
    try {
      const { events, next, more } = await this.#readPage(this, after);
      // The scope was changed meanwhile: the page may hold what must not be seen.
      if (shown !== this.#shown) return;
      this.#page = [...events];
      this.#next = next;
      this.#isBehind = more;
      if (events.length === 0) this.#cursor = next;
    } finally {
      this.#isReading = false;
    }
  }
}

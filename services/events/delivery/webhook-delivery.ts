import { type EventType, eventTypes, typesOfPattern } from '@odograph/contracts/events';
import { Failure } from '@odograph/contracts/failures';
import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import {
  type EventHeads,
  type EventPage,
  findEvent,
  findEventCursorAt,
  type PlatformEvent,
  readEvents,
} from '@odograph/event-list/read-events';
import type { Attempt, DeliveryContext, OpenedReceiver, PostEvent, SelectEvents, SlotUser } from './context.ts';
import { EventWindow, isStale, type ReadPage, VehicleRetries, type WindowEntry } from './event-queues.ts';
import { deadLetterAfterMs, ReceiverState } from './health.ts';
import { ProgressLog } from './progress.ts';
import { countDeadLetters, type DeadLetter, type DeliveredWebhook, type VehicleKey } from './queries.ts';
import { eventsPerPage, type FollowedList } from './shared-lists.ts';

/** With more retrying vehicles, those of the window stop: each of their failures would add another. */
const maxRetryingVehicles = 1000;
/** Dead letters of a webhook. Further ones stay in the list only, where a replay by time finds them. */
const maxDeadLetters = 10_000;

/** The types that patterns such as `trip.*` stand for. */
function typesOf(patterns: readonly string[]): ReadonlySet<EventType> {
  const selected = new Set(patterns.flatMap((pattern) => typesOfPattern(pattern) ?? []));
  return new Set(eventTypes.filter((type) => selected.has(type)));
}

/** Expands the event types of a notification: excludes readings, which are too frequent, and includes escalations. */
function notifiedTypesOf(patterns: readonly string[]): ReadonlySet<EventType> {
  const types = new Set([...typesOf(patterns), 'alarm.escalated' as const]);
  types.delete('reading.stored');
  return types;
}

/** Tests whether an event needs no further attempt. */
const isDone = ({ outcome }: Attempt): boolean => outcome === 'delivered' || outcome === 'held';

/** @param cursor right before the event */
function deadLetterOf(event: PlatformEvent, cursor: EventCursor, error: string, failedAt: Date): DeadLetter {
  const { id: eventId, type, vehicleId, time: occurredAt } = event;
  return { eventId, type, vehicleId, cursor, occurredAt, failedAt, error };
}

/**
 * Delivers the events of one webhook: at least once, in order for each vehicle, and for several vehicles at once. A vehicle whose
 * event fails backs off while the others continue; a receiver that fails as a whole is paused.
 */
export class WebhookDelivery implements SlotUser {
  readonly #context: DeliveryContext;
  readonly #webhook: DeliveredWebhook;
  readonly #post: PostEvent;
  readonly #types: ReadonlySet<EventType>;
  readonly #list: FollowedList;
  readonly #read: FollowedList['read'];
  readonly #select: SelectEvents;
  readonly #window: EventWindow;
  readonly #retries: VehicleRetries;
  readonly #receiver: ReceiverState;
  readonly #progress: ProgressLog;
  /** Vehicles with an event to deliver and none in flight. */
  readonly #ready = new Set<VehicleKey>();
  readonly #busy = new Set<VehicleKey>();
  /** Vehicles whose events could not be read; the next tick tries again. */
  readonly #readFailed = new Set<VehicleKey>();
  #hasNews = true;
  #isReading = false;
  #isStopped = false;
  #isGone = false;
  #isLeased = true;
  #isAbandoned = false;
  #saving = Promise.resolve();
  #behindSinceMs: number | undefined = performance.now();
  /** The escalations of events up to this cursor are scheduled, even of those that the full window has not read. */
  #scannedUntil: EventCursor;

  constructor(context: DeliveryContext, webhook: DeliveredWebhook, { post, select }: OpenedReceiver) {
    this.#context = context;
    this.#webhook = webhook;
    this.#post = post;
    const types = this.#isNotification ? notifiedTypesOf(webhook.types) : typesOf(webhook.types);
    this.#types = types;
    const { applicationId, vehicleIds } = webhook;
    const followed = { applicationId, types, ...(vehicleIds && !this.#isNotification && { vehicleIds }) };
    this.#select = select ?? (async (events) => events);
    const selectFrom = async (page: EventPage) => ({ ...page, events: await this.#select(page.events) });
    this.#list = context.lists.follow(followed);
    this.#read = async (after) => selectFrom(await this.#list.read(after));
    this.#window = new EventWindow(webhook.cursor);
    this.#scannedUntil = webhook.cursor;
    this.#progress = new ProgressLog(context, webhook);
    const read: ReadPage = async (request) => selectFrom(await readEvents(context.db, { ...followed, ...request }));
    this.#retries = new VehicleRetries(webhook.retries, types, { read, progress: this.#progress });
    this.#receiver = new ReceiverState(webhook.health);
  }

  get version(): number {
    return this.#webhook.version;
  }

  /** Sends messages to people instead of events to a URL. */
  get #isNotification(): boolean {
    return this.#webhook.url === undefined;
  }

  get applicationId(): number {
    return this.#webhook.applicationId;
  }

  get takesReadings(): boolean {
    return this.#types.has('reading.stored');
  }

  /** Whether everything known was read. */
  get isIdle(): boolean {
    return !this.#hasNews && !this.#isReading;
  }

  get isFailing(): boolean {
    return this.#receiver.health.failingSince !== undefined;
  }

  /** Time since the delivery last caught up; 0 while the receiver fails. */
  get lagSeconds(): number {
    if (this.#behindSinceMs === undefined || this.isFailing) return 0;
    return (performance.now() - this.#behindSinceMs) / 1000;
  }

  /** Reads on if the lists of the application have grown. */
  onHeads({ events, readings }: EventHeads): void {
    const lists = this.takesReadings ? [events, readings] : [events];
    const { transaction } = this.#window.readUntil;
    if (lists.some((list) => (list.get(this.applicationId) ?? -1n) >= transaction)) this.#onNews();
  }

  #onNews(): void {
    this.#hasNews = true;
    this.#behindSinceMs ??= performance.now();
  }

  onSlotFree(): void {
    this.#pump();
  }

  /** Starts due attempts, and saves the progress. @returns false when the webhook must be loaded again, or is disabled */
  async tick(): Promise<boolean> {
    for (const vehicle of this.#retries.dueAt(this.#context.clock())) this.#markReady(vehicle);
    for (const vehicle of this.#readFailed) this.#markIfDue(vehicle);
    this.#readFailed.clear();
    this.#pump();
    this.#receiver.adjust(this.#ready.size > 0);
    await this.#save(false);
    return this.#isLeased && !this.#isGone;
  }

  /** Starts no more attempts. @returns whether none is in flight */
  drain(): boolean {
    this.#isStopped = true;
    return this.#busy.size === 0 && !this.#isReading;
  }

  /** Saves the progress, and ignores the outcome of attempts in flight. @param release gives the lease up */
  async stop(release: boolean): Promise<void> {
    this.drain();
    this.#isAbandoned = true;
    this.#list.close();
    await this.#save(release);
  }

  #save(release: boolean): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (!this.#isLeased) return;
      const { cursor } = this.#window;
      const state = { cursor, health: this.#receiver.health, isGone: this.#isGone, release };
      this.#isLeased = await this.#progress.save(state);
    });
    return this.#saving;
  }

  #markReady(vehicle: VehicleKey): void {
    if (!this.#busy.has(vehicle)) this.#ready.add(vehicle);
  }

  #pump(): void {
    if (this.#isStopped || this.#isGone || !this.#isLeased || !this.#context.hasLeases()) return;
    if (this.#receiver.isPaused(this.#context.clock())) {
      // Read on during a pause: reading schedules escalations, which must not wait for its end.
      if (this.#isNotification) void this.#readAhead();
      return;
    }
    // One message of a notification at a time: one that waited in flight could be sent outdated, or after a stop.
    const maxInFlight = this.#isNotification ? 1 : this.#receiver.maxInFlight;
    while (this.#busy.size < maxInFlight) {
      const next = this.#nextReady();
      if (!next) break;
      if (!this.#context.slots.take(this)) return;
      this.#start(next.vehicle);
    }
    void this.#readAhead();
  }

  /** The vehicle whose turn it is. After a pause, a retry probes the receiver. */
  #nextReady(): { vehicle: VehicleKey } | undefined {
    if (this.#receiver.isProbing && this.#retries.size > 0) return this.#retries.first();
    const isFull = this.#retries.size >= maxRetryingVehicles;
    for (const vehicle of this.#ready) if (!isFull || this.#retries.has(vehicle)) return { vehicle };
    return undefined;
  }

  #start(vehicle: VehicleKey): void {
    this.#ready.delete(vehicle);
    this.#busy.add(vehicle);
    void this.#work(vehicle);
  }

  async #work(vehicle: VehicleKey): Promise<void> {
    let isRead = true;
    try {
      await (this.#retries.has(vehicle) ? this.#retry(vehicle) : this.#deliver(vehicle));
    } catch (error) {
      isRead = false;
      if (!this.#isAbandoned) await this.#onReadFailure(error);
    }
    this.#busy.delete(vehicle);
    // In an outage reads fail at once: retrying before the next tick would be a busy loop.
    if (isRead) this.#markIfDue(vehicle);
    else this.#readFailed.add(vehicle);
    this.#context.slots.release(this);
    if (isRead) this.#pump();
  }

  #markIfDue(vehicle: VehicleKey): void {
    const retry = this.#retries.get(vehicle);
    const isDue = retry ? retry.nextAttemptAt <= this.#context.clock() : this.#window.firstOf(vehicle);
    if (isDue) this.#markReady(vehicle);
  }

  async #deliver(vehicle: VehicleKey): Promise<void> {
    const entry = this.#window.firstOf(vehicle);
    if (!entry) return;
    const event = await this.#findCurrent(entry);
    // restart() was called meanwhile.
    if (this.#window.firstOf(vehicle) !== entry) return;
    if (!event) return this.#window.finish(entry);
    const attempt = await this.#attempt(event, 1);
    if (isDone(attempt)) return this.#window.finish(entry);
    if (this.#isGone) return;
    this.#retries.add(vehicle, entry.before, attempt, this.#context.clock());
    this.#window.finishAll(vehicle);
    await this.#expireEvents(attempt);
  }

  /** Returns the event, read again if its content is stale. @returns undefined if it is no longer shown */
  async #findCurrent({ event, readAt }: WindowEntry): Promise<PlatformEvent | undefined> {
    const { db, clock, failures } = this.#context;
    if (!isStale(readAt, clock())) return event;
    const found = await findEvent(db, this.applicationId, event);
    const [current] = await this.#select(found ? [found] : []);
    failures.succeeded('reading');
    return current;
  }

  async #retry(vehicle: VehicleKey): Promise<void> {
    const event = await this.#retries.next(vehicle, () => this.#window.readUntil, this.#context.clock());
    this.#context.failures.succeeded('reading');
    const retry = this.#retries.get(vehicle);
    if (!event || !retry) return;
    const { cursor, failures } = retry;
    const attempt = await this.#attempt(event, failures + 1);
    const now = this.#context.clock();
    if (isDone(attempt)) return this.#retries.delivered(vehicle, event, now);
    if (this.#isGone) return;
    if (this.#retries.failed(vehicle, attempt, now) && isBefore(event.cursor, await this.#findExpiry())) {
      this.#progress.addDeadLetters([deadLetterOf(event, cursor, attempt.error ?? '', now)]);
      this.#retries.skip(vehicle, event, now);
    }
    await this.#expireEvents(attempt);
  }

  async #attempt(event: PlatformEvent, count: number): Promise<Attempt> {
    const attempt = await this.#post(event);
    if (this.#isAbandoned) throw new Error('the delivery was stopped');
    if (attempt.outcome === 'held') return attempt;
    const now = this.#context.clock();
    this.#progress.attempted(event, count, attempt);
    if (attempt.outcome === 'gone') this.#isGone = true;
    if (attempt.outcome !== 'delivered') this.#receiver.failed(attempt, now);
    else if (this.#receiver.succeeded(now)) this.#retries.makeDue(now);
    return attempt;
  }

  /** Finds the cursor before which failing events become dead letters. */
  #findExpiry(): Promise<EventCursor> {
    const since = new Date(this.#context.clock().getTime() - deadLetterAfterMs);
    return findEventCursorAt(this.#context.db, this.applicationId, since);
  }

  /** While a receiver has been failing as a whole for three days, makes every event as old a dead letter. */
  async #expireEvents({ error = '' }: Attempt): Promise<void> {
    const now = this.#context.clock();
    if (!this.#receiver.hasExhaustedRetries(now)) return;
    const until = await this.#findExpiry();
    const room = maxDeadLetters - (await countDeadLetters(this.#context.db, this.#webhook.id));
    const letters: DeadLetter[] = [];
    const isUndelivered = ({ vehicleId, cursor }: PlatformEvent) =>
      isBefore(this.#retries.get(vehicleId)?.cursor ?? this.#window.cursor, cursor);
    const cursors = [this.#window.cursor, ...this.#retries.cursors];
    let after = cursors.reduce((oldest, one) => (isBefore(one, oldest) ? one : oldest));
    while (isBefore(after, until) && letters.length < room) {
      const { events, next, more } = await this.#read(after);
      let before = after;
      for (const event of events.filter(({ cursor }) => isBefore(cursor, until))) {
        if (isUndelivered(event) && letters.length < room) letters.push(deadLetterOf(event, before, error, now));
        before = event.cursor;
      }
      if (!more || !isBefore(after, next)) break;
      after = next;
    }
    this.#progress.addDeadLetters(letters);
    this.#retries.moveAllTo(until);
    if (isBefore(this.#window.cursor, until)) this.#restart(until);
  }

  #restart(cursor: EventCursor): void {
    this.#window.restart(cursor);
    this.#scannedUntil = cursor;
    for (const vehicle of this.#ready) if (!this.#retries.has(vehicle)) this.#ready.delete(vehicle);
    this.#progress.cursorMoved();
    this.#onNews();
  }

  /** Reads ahead while there are more events and room for them. */
  async #readAhead(): Promise<void> {
    if (this.#isReading || !this.#hasNews || this.#isStopped) return;
    const isFull = this.#window.size > eventsPerPage;
    if (isFull && !this.#isNotification) return;
    this.#isReading = true;
    try {
      if (isFull) return await this.#scan();
      this.#hasNews = false;
      const [after, readAt] = [this.#window.readUntil, this.#context.clock()];
      const page = await this.#read(after);
      this.#context.failures.succeeded('reading');
      // restart() was called meanwhile.
      if (this.#window.readUntil !== after) return this.#onNews();
      const vehicles = this.#window.add(page, readAt, (vehicle) => this.#retries.has(vehicle));
      this.#progress.cursorMoved();
      for (const vehicle of vehicles) this.#markReady(vehicle);
      if (page.more) this.#hasNews = true;
      else this.#behindSinceMs = undefined;
    } catch (error) {
      this.#hasNews = true;
      await this.#onReadFailure(error);
      return;
    } finally {
      this.#isReading = false;
    }
    this.#pump();
  }

  /** Schedules the escalations of events beyond the full window. The events are read again once the window has room. */
  async #scan(): Promise<void> {
    const { readUntil } = this.#window;
    const page = await this.#read(isBefore(readUntil, this.#scannedUntil) ? this.#scannedUntil : readUntil);
    this.#context.failures.succeeded('reading');
    this.#scannedUntil = page.next;
  }

  /**
   * When the next events were deleted, or after a restore, continues with the oldest event that may be undelivered. Never
   * throws.
   */
  async #onReadFailure(error: unknown): Promise<void> {
    const { db, failures, metrics, logger } = this.#context;
    if (!(error instanceof Failure) || error.details.reason !== 'EXPIRED') return failures.failed('reading', error);
    const savedAt = new Date(this.#webhook.cursorSavedAt.getTime() - 60_000);
    const cursor = await findEventCursorAt(db, this.applicationId, savedAt).catch((failure: unknown) =>
      failures.failed('reading', failure),
    );
    if (!cursor) return;
    metrics.lostCursors.inc();
    logger.warn({ webhookId: this.#webhook.id }, 'next events no longer in the list; continuing with the oldest kept');
    this.#retries.moveAllTo(cursor);
    this.#restart(cursor);
  }
}

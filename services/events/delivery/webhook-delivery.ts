import type { EventType } from '@odograph/contracts/events';
import { Failure } from '@odograph/contracts/failures';
import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import { type EventHeads, findEventCursorAt, type PlatformEvent, readEvents } from '@odograph/event-list/read-events';
import { selectTypes } from '../registration/rules.ts';
import { patienceMs } from './back-off.ts';
import type { DeliveryContext, PostEvent } from './delivery-context.ts';
import { EventWindow } from './event-window.ts';
import { collectGivenUp, giveUp, mostDeadLetters } from './given-up.ts';
import { ProgressLog } from './progress.ts';
import { countDeadLetters, type DeliveredWebhook, type VehicleKey } from './queries.ts';
import type { Attempt } from './receiver.ts';
import { ReceiverState } from './receiver-state.ts';
import type { SlotUser } from './slots.ts';
import { type ReadPage, WaitingVehicles } from './waiting-vehicles.ts';

const eventsPerPage = 500;
/** More waiting vehicles hold up the others, whose failures would become waiting vehicles too. */
const mostWaiting = 1000;

/**
 * Delivers the events of one webhook: at least once, one vehicle's in their order, those of several vehicles at the same time. A
 * vehicle whose event fails waits, while the others go on; a receiver that fails as a whole is left alone for a while.
 */
export class WebhookDelivery implements SlotUser {
  readonly #context: DeliveryContext;
  readonly #webhook: DeliveredWebhook;
  readonly #post: PostEvent;
  readonly #types: ReadonlySet<EventType>;
  readonly #read: ReadPage;
  readonly #window: EventWindow;
  readonly #waiting: WaitingVehicles;
  readonly #receiver: ReceiverState;
  readonly #progress: ProgressLog;
  /** Vehicles with an event to deliver and none in flight. */
  readonly #ready = new Set<VehicleKey>();
  readonly #busy = new Set<VehicleKey>();
  #hasNews = true;
  #isReading = false;
  #isStopped = false;
  #isGone = false;
  #isOurs = true;
  #isAbandoned = false;
  #saving = Promise.resolve();
  #behindSinceMs: number | undefined = performance.now();

  constructor(context: DeliveryContext, webhook: DeliveredWebhook, post: PostEvent) {
    this.#context = context;
    this.#webhook = webhook;
    this.#post = post;
    const types = new Set(selectTypes(webhook.types));
    this.#types = types;
    const { applicationId, vehicleIds } = webhook;
    this.#read = (request) =>
      readEvents(context.db, { applicationId, types, ...(vehicleIds && { vehicleIds }), ...request });
    this.#window = new EventWindow(webhook.position);
    this.#progress = new ProgressLog(context, webhook);
    this.#waiting = new WaitingVehicles(webhook.retries, types, { read: this.#read, progress: this.#progress });
    this.#receiver = new ReceiverState(webhook.health);
  }

  get version(): number {
    return this.#webhook.version;
  }

  get applicationId(): number {
    return this.#webhook.applicationId;
  }

  get takesReadings(): boolean {
    return this.#types.has('reading.stored');
  }

  /** Whether it has read everything that it knows of. */
  get isIdle(): boolean {
    return !this.#hasNews && !this.#isReading;
  }

  get isFailing(): boolean {
    return this.#receiver.health.failingSince !== undefined;
  }

  /** How long it has not caught up; 0 for a receiver that fails, which is not our delay. */
  get lagSeconds(): number {
    if (this.#behindSinceMs === undefined || this.isFailing) return 0;
    return (performance.now() - this.#behindSinceMs) / 1000;
  }

  /** Notes how far the lists of applications reach. */
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

  /** Starts what is due, and saves what was done. @returns false when the webhook must be loaded again, or is disabled */
  async tick(): Promise<boolean> {
    const now = this.#context.clock();
    for (const vehicle of this.#waiting.dueAt(now)) this.#markReady(vehicle);
    this.#pump();
    await this.#save(false);
    return this.#isOurs && !this.#isGone;
  }

  /** Starts no more attempts. @returns whether none is in flight */
  drain(): boolean {
    this.#isStopped = true;
    return this.#busy.size === 0 && !this.#isReading;
  }

  /** Saves what was done, and ignores what comes of attempts in flight. @param release lets another process take over */
  async stop(release: boolean): Promise<void> {
    this.drain();
    this.#isAbandoned = true;
    await this.#save(release);
  }

  #save(release: boolean): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (!this.#isOurs) return;
      const { position } = this.#window;
      const state = { position, health: this.#receiver.health, isGone: this.#isGone, release };
      this.#isOurs = await this.#progress.save(state);
    });
    return this.#saving;
  }

  #markReady(vehicle: VehicleKey): void {
    if (!this.#busy.has(vehicle)) this.#ready.add(vehicle);
  }

  #pump(): void {
    if (this.#isStopped || this.#isGone || !this.#isOurs || !this.#context.hasLeases()) return;
    if (this.#receiver.isPaused(this.#context.clock())) return;
    while (this.#busy.size < this.#receiver.mostInFlight) {
      const next = this.#nextReady();
      if (!next) break;
      if (!this.#context.slots.take(this)) return;
      this.#start(next.vehicle);
    }
    void this.#refill();
  }

  /** The vehicle whose turn it is. After a pause, one that waits shows whether the receiver is back. */
  #nextReady(): { vehicle: VehicleKey } | undefined {
    if (this.#receiver.isProbing && this.#waiting.size > 0) return this.#waiting.first();
    const isHeld = this.#waiting.size >= mostWaiting;
    for (const vehicle of this.#ready) if (!isHeld || this.#waiting.has(vehicle)) return { vehicle };
    return undefined;
  }

  #start(vehicle: VehicleKey): void {
    this.#ready.delete(vehicle);
    this.#busy.add(vehicle);
    const work = this.#waiting.has(vehicle) ? this.#deliverWaiting(vehicle) : this.#deliverFirst(vehicle);
    work
      .catch((error: unknown) => (this.#isAbandoned ? undefined : this.#onReadFailure(error)))
      .finally(() => {
        this.#busy.delete(vehicle);
        const isDue = this.#waiting.has(vehicle)
          ? this.#waiting.isDue(vehicle, this.#context.clock())
          : this.#window.firstOf(vehicle) !== undefined;
        if (isDue) this.#markReady(vehicle);
        this.#context.slots.release(this);
        this.#pump();
      });
  }

  async #deliverFirst(vehicle: VehicleKey): Promise<void> {
    const entry = this.#window.firstOf(vehicle);
    if (!entry) return;
    const attempt = await this.#attempt(entry.event, 1);
    if (attempt.outcome === 'delivered') return this.#window.finish(entry);
    if (this.#isGone) return;
    this.#waiting.add(vehicle, entry.before, attempt, this.#context.clock());
    this.#window.finishAll(vehicle);
    await this.#giveUpLongFailing(attempt);
  }

  async #deliverWaiting(vehicle: VehicleKey): Promise<void> {
    const event = await this.#waiting.next(vehicle, () => this.#window.readUntil, this.#context.clock());
    this.#context.failures.succeeded('reading');
    if (!event) return;
    const attempt = await this.#attempt(event, this.#waiting.failuresOf(vehicle) + 1);
    const now = this.#context.clock();
    if (attempt.outcome === 'delivered') return this.#waiting.delivered(vehicle, event, now);
    if (this.#isGone) return;
    const before = this.#waiting.positionOf(vehicle);
    if (this.#waiting.failed(vehicle, attempt, now) && isBefore(event.cursor, await this.#findPatienceEnd())) {
      this.#reportGivenUp([giveUp(event, before, attempt.error ?? '', now)]);
      this.#waiting.gaveUp(vehicle, event, now);
    }
    await this.#giveUpLongFailing(attempt);
  }

  async #attempt(event: PlatformEvent, count: number): Promise<Attempt> {
    const attempt = await this.#post(event);
    if (this.#isAbandoned) throw new Error('the delivery was stopped');
    const now = this.#context.clock();
    this.#progress.attempted(event, count, attempt);
    if (attempt.outcome === 'gone') this.#isGone = true;
    if (attempt.outcome !== 'delivered') this.#receiver.failed(attempt, now);
    else if (this.#receiver.succeeded(now)) this.#waiting.makeDue(now);
    return attempt;
  }

  /** Finds the position of the oldest event that is not old enough to be given up. */
  #findPatienceEnd(): Promise<EventCursor> {
    const since = new Date(this.#context.clock().getTime() - patienceMs);
    return findEventCursorAt(this.#context.db, this.applicationId, since);
  }

  /** While a receiver has been failing as a whole for three days, gives up each event that is as old. */
  async #giveUpLongFailing({ error = '' }: Attempt): Promise<void> {
    const now = this.#context.clock();
    if (this.#receiver.failingMs(now) < patienceMs || !this.#receiver.isProbing) return;
    const until = await this.#findPatienceEnd();
    let most = Math.max(0, mostDeadLetters - (await countDeadLetters(this.#context.db, this.#webhook.id)));
    const common = {
      until,
      describe: (event: PlatformEvent, before: EventCursor) => giveUp(event, before, error, now),
    };
    for (const [vehicle, { position: after }] of this.#waiting.entries()) {
      const ofVehicle = vehicle === undefined ? {} : { vehicleIds: [vehicle] };
      const isGivenUp = (one: VehicleKey) => one === vehicle;
      const events = await collectGivenUp(this.#read, { ...common, after, most, ...ofVehicle, isGivenUp });
      most -= events.length;
      this.#reportGivenUp(events);
      this.#waiting.moveTo(vehicle, until);
    }
    const { position: after } = this.#window;
    if (!isBefore(after, until)) return;
    const isGivenUp = (vehicle: VehicleKey) => !this.#waiting.has(vehicle);
    this.#reportGivenUp(await collectGivenUp(this.#read, { ...common, after, most, isGivenUp }));
    this.#restart(until);
  }

  #reportGivenUp(events: Parameters<ProgressLog['gaveUp']>[0]): void {
    if (events.length === 0) return;
    this.#progress.gaveUp(events);
    this.#context.logger.warn(
      { webhookId: this.#webhook.id, events: events.length },
      'events given up after three days',
    );
  }

  #restart(position: EventCursor): void {
    this.#window.restart(position);
    for (const vehicle of this.#ready) if (!this.#waiting.has(vehicle)) this.#ready.delete(vehicle);
    this.#progress.changed();
    this.#onNews();
  }

  /** Reads ahead while there is more and room for it. */
  async #refill(): Promise<void> {
    if (this.#isReading || !this.#hasNews || this.#isStopped || this.#window.size > eventsPerPage) return;
    this.#isReading = true;
    try {
      this.#hasNews = false;
      const after = this.#window.readUntil;
      const page = await this.#read({ after, limit: eventsPerPage });
      this.#context.failures.succeeded('reading');
      // It was moved meanwhile.
      if (this.#window.readUntil !== after) return this.#onNews();
      const vehicles = this.#window.add(page, (vehicle) => this.#waiting.has(vehicle));
      this.#progress.changed();
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

  /** After a restore, or longer without delivery than events are kept, continues with the oldest event that may be missing. */
  async #onReadFailure(error: unknown): Promise<void> {
    const { db, failures, metrics, logger } = this.#context;
    if (!(error instanceof Failure) || error.details.reason !== 'EXPIRED') return failures.failed('reading', error);
    metrics.lostPositions.inc();
    logger.warn({ webhookId: this.#webhook.id }, 'next events no longer in the list; continuing with the oldest kept');
    const savedAt = new Date(this.#webhook.positionSavedAt.getTime() - 60_000);
    const position = await findEventCursorAt(db, this.applicationId, savedAt);
    for (const [vehicle] of this.#waiting.entries()) this.#waiting.moveTo(vehicle, position);
    this.#restart(position);
  }
}

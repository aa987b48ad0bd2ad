import { performance } from 'node:perf_hooks';
import { eventTypes } from '@odograph/contracts/events';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import { isBefore, parseCursor } from '@odograph/event-list/cursor';
import { type PlatformEvent, readEvents } from '@odograph/event-list/read-events';
import { isOutage } from '@odograph/http/outage';
import { webhookSecretContext } from '@odograph/runtime/sealing';
import type { Attempt, DeliveryContext, OpenedReceiver, PostEvent } from '../delivery/context.ts';
import { attemptDelayMs } from '../delivery/health.ts';
import { type DeliveredWebhook, logAttempts } from '../delivery/queries.ts';
import type { PostOptions } from '../delivery/receiver.ts';
import { type ChannelSettings, openChannel } from './channels.ts';
import { type Message, type ToldEvent, type Writing, writeDigest, writeMessage } from './messages.ts';
import { addAddress } from './place.ts';
import { openPushKey } from './push-key.ts';
import * as queries from './queries.ts';

type Context = Omit<DeliveryContext, 'slots' | 'lists' | 'lease' | 'hasLeases'>;

const hourMs = 3_600_000;
const eventsPerPage = 500;
const types = new Set(eventTypes.filter((type) => type !== 'reading.stored'));
const held: Attempt = { outcome: 'held', status: undefined, durationMs: 0, error: undefined, retryAfterMs: 0 };

/** Opens a notification as a receiver of events. @throws Failure INTERNAL_ERROR if no key opens its settings */
export async function openNotifier(
  context: Context,
  webhook: DeliveredWebhook,
  options: PostOptions,
): Promise<OpenedReceiver> {
  const { id, sealedSecret } = webhook;
  const { sealer, publicUrl } = options;
  const settings = JSON.parse(sealer.open(sealedSecret, webhookSecretContext(id)).toString()) as ChannelSettings;
  const { language, timeZone, ...rules } = await queries.loadRules(context.db, id, context.clock());
  const send = openChannel(settings, { ...options, findPushKey: () => openPushKey(context.db, sealer) });
  return new Notifier(context, webhook, rules, { send, writing: { language, timeZone, publicUrl } });
}

/**
 * Sends the events of one notification, one message each and in order. Events beyond the hourly limit are held in the
 * database for a digest.
 */
class Notifier implements OpenedReceiver {
  readonly #context: Context;
  readonly #webhook: DeliveredWebhook;
  readonly #maxPerHour: number;
  readonly #escalates: boolean;
  readonly #send: (message: Message) => Promise<Attempt>;
  readonly #writing: Writing;
  /** Send times of the messages of the last hour, Unix milliseconds. */
  #sentAt: number[];
  #isHolding: boolean;
  #turn: Promise<unknown> = Promise.resolve();
  #isWritingDigest = false;
  #digestFailures = 0;
  #nextDigestAt = 0;
  #isClosed = false;

  constructor(
    context: Context,
    webhook: DeliveredWebhook,
    { maxPerHour, escalates, sentAt, isHolding }: Omit<queries.Rules, 'language' | 'timeZone'>,
    { send, writing }: { send: (message: Message) => Promise<Attempt>; writing: Writing },
  ) {
    this.#context = context;
    this.#webhook = webhook;
    this.#maxPerHour = maxPerHour;
    this.#escalates = escalates;
    this.#sentAt = sentAt.map((at) => at.getTime());
    this.#isHolding = isHolding;
    this.#send = send;
    this.#writing = writing;
  }

  readonly post: PostEvent = (event) => {
    const turn = this.#turn.then(() => this.#notify(event));
    this.#turn = turn.catch(() => undefined);
    return turn;
  };

  /** Selects the events to send, and schedules the escalations of their alarms: the first attempt may be days away. */
  readonly select = (events: readonly PlatformEvent[]): Promise<PlatformEvent[]> =>
    queries.selectAndScheduleEscalations(this.#context.db, this.#webhook, events);

  async tick(): Promise<void> {
    if (!this.#isHolding || this.#isWritingDigest || this.#isClosed) return;
    if (this.#context.clock().getTime() < this.#nextDigestAt) return;
    this.#isWritingDigest = true;
    this.#turn = this.#turn
      .then(() => this.#sendDigest())
      .then(() => this.#context.failures.succeeded('digests'))
      .catch((error: unknown) => (this.#isClosed ? undefined : this.#context.failures.failed('digests', error)))
      .finally(() => {
        this.#isWritingDigest = false;
      });
  }

  isBusy(): boolean {
    return this.#isWritingDigest;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** Returns the time until the hourly limit permits another message. Reads tests from the database: other instances send them. */
  async #waitMs(): Promise<number> {
    const now = this.#context.clock();
    const start = now.getTime() - hourMs;
    this.#sentAt = this.#sentAt.filter((at) => at > start);
    const tests = await queries.listTests(this.#context.db, this.#webhook.id, now);
    const times = [...this.#sentAt, ...tests.map((at) => at.getTime())].sort((one, other) => one - other);
    return Math.max(0, (times.at(-this.#maxPerHour) ?? start) - start);
  }

  #keyOf(eventId: string): string {
    return `${this.#webhook.id}-${eventId}`;
  }

  async #notify({ id, json }: Pick<PlatformEvent, 'id' | 'json'>): Promise<Attempt> {
    const { db } = this.#context;
    const event = JSON.parse(json) as ToldEvent;
    const isTest = event.type === 'notification.test';
    const waitMs = this.#isHolding && !isTest ? hourMs : await this.#waitMs();
    if (isTest && waitMs > 0) throw tooManyRequests(waitMs);
    if (waitMs > 0) {
      await queries.hold(db, this.#webhook.id, id);
      this.#isHolding = true;
      return held;
    }
    const plates = await queries.findPlates(db, [event]);
    const placed = await addAddress(db, event);
    const attempt = await this.#attempt(() =>
      writeMessage(placed, plates.get(event.vehicleId), this.#keyOf(id), this.#writing),
    );
    if (attempt.outcome === 'delivered' && !isTest) this.#sentAt.push(this.#context.clock().getTime());
    // A disabled notification would not escalate later alarms.
    if (attempt.outcome === 'gone' && this.#escalates) {
      return { ...attempt, outcome: 'refused', error: `answered ${attempt.status}: the address no longer exists` };
    }
    return attempt;
  }

  /**
   * Writes and sends a message. An exception is a failed attempt: a message that can never be sent must back off and
   * become a dead letter, or it blocks every later message of its vehicle.
   * @throws during an outage of the database, which is no fault of the message
   */
  async #attempt(write: () => Message): Promise<Attempt> {
    const startMs = performance.now();
    try {
      return await this.#send(write());
    } catch (err) {
      if (err instanceof Error && isOutage(err)) throw err;
      this.#context.logger.error({ err, webhookId: this.#webhook.id }, 'message not sent: internal error');
      const durationMs = Math.round(performance.now() - startMs);
      const error = 'internal error: message not sent';
      return { outcome: 'failed', status: undefined, durationMs, error, retryAfterMs: 0 };
    }
  }

  async #sendDigest(): Promise<void> {
    const { db, clock, metrics } = this.#context;
    const { id } = this.#webhook;
    const nowMs = clock().getTime();
    const waitMs = await this.#waitMs();
    if (waitMs > 0) {
      this.#nextDigestAt = nowMs + waitMs;
      return;
    }
    const ids = await queries.listHeld(db, id);
    const found = await this.#readHeld(ids).catch((error: unknown) => {
      if (error instanceof Failure && error.details.reason === 'EXPIRED') return [];
      throw error;
    });
    const [first] = found;
    if (first) {
      const events = found.map(({ json }) => JSON.parse(json) as ToldEvent);
      const plates = await queries.findPlates(db, events);
      const listed = events.map((event) => ({ event, plate: plates.get(event.vehicleId) }));
      const startMs = performance.now();
      const attempt = await this.#attempt(() => writeDigest(listed, this.#keyOf(first.id), this.#writing));
      metrics.attempts.inc({ outcome: attempt.outcome });
      metrics.attemptSeconds.observe((performance.now() - startMs) / 1000);
      const { status, durationMs, error } = attempt;
      const logged = { at: clock(), eventId: first.id, type: 'notification.digest', vehicleId: undefined };
      await logAttempts(db, id, [{ ...logged, attempt: this.#digestFailures + 1, status, durationMs, error }]);
      if (attempt.outcome !== 'delivered') {
        this.#digestFailures += 1;
        this.#nextDigestAt = clock().getTime() + attemptDelayMs(this.#digestFailures, attempt.retryAfterMs);
        metrics.deadLetters.inc(await queries.dropOldHeld(db, id, clock()));
        return;
      }
      this.#sentAt.push(clock().getTime());
    }
    await queries.release(db, id, ids);
    this.#digestFailures = 0;
    this.#isHolding = false;
  }

  /** Reads the current content of held events, except private, deleted and expired ones. */
  async #readHeld(ids: readonly string[]): Promise<PlatformEvent[]> {
    const cursors = ids.map((one) => parseCursor(one)).sort((one, other) => (isBefore(one, other) ? -1 : 1));
    const [first, last] = [cursors[0], cursors.at(-1)];
    if (!first || !last) return [];
    const [wanted, events] = [new Set(ids), [] as PlatformEvent[]];
    const { applicationId } = this.#webhook;
    for (let after = { ...first, event: first.event - 1n }; isBefore(after, last); ) {
      const page = await readEvents(this.#context.db, { applicationId, after, limit: eventsPerPage, types });
      events.push(...(await this.select(page.events.filter(({ id }) => wanted.has(id)))));
      if (!page.more) break;
      after = page.next;
    }
    return events;
  }
}

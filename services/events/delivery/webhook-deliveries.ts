import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import { findEvent, findEventHeads } from '@odograph/event-list/read-events';
import { openNotifier } from '../notifications/notifier.ts';
import { resealPushKey } from '../notifications/push-key.ts';
import type { Attempt, DeliveryContext, OpenedReceiver } from './context.ts';
import type { DeliveryState } from './metrics.ts';
import * as queries from './queries.ts';
import { openReceiver, type PostOptions } from './receiver.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

/** Interval of starting, continuing and saving deliveries. */
const tickMs = 200;
const syncMs = 1000;
const pruneMs = 600_000;
/** Without a renewal for this long, no attempt starts: an attempt takes up to 15 s of the minute that a lease lasts. */
const trustedLeaseMs = 40_000;
const drainMs = 5000;

interface Running {
  readonly delivery: WebhookDelivery;
  readonly receiver: OpenedReceiver;
}

type Opener = Omit<DeliveryContext, 'slots' | 'lists' | 'lease' | 'hasLeases'>;

async function open(context: Opener, webhook: queries.DeliveredWebhook, options: PostOptions): Promise<OpenedReceiver> {
  const { url, groupId } = webhook;
  if (url === undefined) return openNotifier(context, webhook, options);
  const receiver = openReceiver({ ...webhook, url }, options);
  if (groupId === undefined) return receiver;
  return { ...receiver, select: (events) => queries.selectInGroup(context.db, groupId, events) };
}

/** Delivers to the webhooks leased by this process; several processes share the webhooks. */
export class WebhookDeliveries {
  readonly #context: DeliveryContext;
  readonly #options: PostOptions;
  readonly #running = new Map<string, Running>();
  /** Deliveries whose last attempts are in flight. */
  readonly #stopping = new Map<string, Promise<void>>();
  #renewedMs = Number.NEGATIVE_INFINITY;
  #prunedMs = performance.now();
  #isStopped = false;
  #loop = Promise.resolve();

  constructor(context: Omit<DeliveryContext, 'hasLeases'>, options: PostOptions) {
    this.#context = { ...context, hasLeases: () => performance.now() - this.#renewedMs < trustedLeaseMs };
    this.#options = options;
  }

  get state(): DeliveryState {
    const deliveries = [...this.#running.values()].map(({ delivery }) => delivery);
    const failing = deliveries.filter(({ isFailing }) => isFailing).length;
    const lagSeconds = Math.max(0, ...deliveries.map((delivery) => delivery.lagSeconds));
    return { active: deliveries.length - failing, failing, lagSeconds };
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Drains the deliveries for a few seconds, saves them, and releases the leases. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop;
    await Promise.all([...this.#running.keys()].map((id) => this.#drain(id, true)));
    await Promise.all(this.#stopping.values());
  }

  async #run(): Promise<void> {
    const { db } = this.#context;
    const { sealer } = this.#options;
    await this.#report('leases', () => queries.resealSecrets(db, sealer));
    await this.#report('leases', () => resealPushKey(db, sealer));
    while (!this.#isStopped) {
      const startedMs = performance.now();
      await this.#tick();
      await delay(Math.max(10, tickMs - (performance.now() - startedMs)));
    }
  }

  async #tick(): Promise<void> {
    if (performance.now() - this.#renewedMs >= syncMs) await this.#report('leases', () => this.#sync());
    await this.#report('reading', () => this.#findNews());
    await Promise.all(
      [...this.#running].map(async ([id, { delivery, receiver }]) => {
        await receiver.tick?.();
        if (!(await delivery.tick())) void this.#drain(id, false);
      }),
    );
    if (performance.now() - this.#prunedMs < pruneMs) return;
    this.#prunedMs = performance.now();
    await this.#report('log', () => queries.deleteOldAttempts(this.#context.db));
  }

  async #report(task: 'leases' | 'reading' | 'log', work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#context.failures.succeeded(task);
    } catch (error) {
      this.#context.failures.failed(task, error);
    }
  }

  /** Claims webhooks, renews leases, and loads changed webhooks again. */
  async #sync(): Promise<void> {
    const { db, lease } = this.#context;
    await queries.claimWebhooks(db, this.#options.sealer, lease);
    const startedMs = performance.now();
    const versions = await queries.renewLeases(db, lease);
    this.#renewedMs = startedMs;
    for (const [id, { delivery }] of this.#running) {
      if (versions.get(id) !== delivery.version) void this.#drain(id, false);
    }
    const missing = [...versions.keys()].filter((id) => !this.#running.has(id) && !this.#stopping.has(id));
    await Promise.all(missing.map((id) => this.#load(id)));
  }

  async #load(id: string): Promise<void> {
    const { db, failures } = this.#context;
    const webhook = await queries.loadWebhook(db, id);
    if (!webhook) return;
    const receiver = await open(this.#context, webhook, this.#options);
    this.#running.set(id, { delivery: new WebhookDelivery(this.#context, webhook, receiver), receiver });
    const isOpen = () => this.#running.get(id)?.receiver === receiver;
    replayDeadLetters(this.#context, webhook, receiver, isOpen).catch((error: unknown) => {
      failures.failed('reading', error);
      // Loading the webhook again continues the replay.
      void this.#drain(id, false);
    });
  }

  /** Stops a delivery after a few seconds for attempts in flight; the webhook is loaded again only afterwards. */
  #drain(id: string, release: boolean): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return Promise.resolve();
    this.#running.delete(id);
    const stopped = (async () => {
      const { delivery, receiver } = running;
      const deadlineMs = performance.now() + drainMs;
      const isDrained = () => delivery.drain() && receiver.isBusy?.() !== true;
      while (!isDrained() && performance.now() < deadlineMs) await delay(10);
      await delivery.stop(release);
      await receiver.close();
      this.#stopping.delete(id);
    })();
    this.#stopping.set(id, stopped);
    return stopped;
  }

  /** Wakes idle deliveries whose application has new events. */
  async #findNews(): Promise<void> {
    const idle = [...this.#running.values()].map(({ delivery }) => delivery).filter(({ isIdle }) => isIdle);
    if (idle.length === 0) return;
    const idsOf = (deliveries: readonly WebhookDelivery[]) => [
      ...new Set(deliveries.map(({ applicationId }) => applicationId)),
    ];
    const withReadings = idle.filter(({ takesReadings }) => takesReadings);
    const heads = await findEventHeads(this.#context.db, idsOf(idle), idsOf(withReadings));
    for (const delivery of idle) delivery.onHeads(heads);
  }
}

/**
 * Replays the requested dead letters of a webhook, one after the other and each once: one that fails stays. One whose event was
 * deleted from the list, or is of a vehicle that the webhook no longer covers, is removed. Ends when the receiver is closed.
 */
async function replayDeadLetters(
  context: DeliveryContext,
  webhook: queries.DeliveredWebhook,
  receiver: OpenedReceiver,
  isOpen: () => boolean,
): Promise<void> {
  for (const replay of await queries.findRequestedReplays(context.db, webhook.id)) {
    const error = await replayOne(context, webhook, receiver, replay);
    const isClosed = !isOpen();
    // An attempt that failed because the receiver was closed is not recorded: the next delivery repeats it and continues.
    if (!isClosed || error === undefined) await queries.finishReplay(context.db, webhook.id, replay.eventId, error);
    if (isClosed) return;
  }
}

/** @returns the error; undefined after a success */
async function replayOne(
  { db, metrics, clock, logger }: DeliveryContext,
  { id, applicationId, vehicleIds }: queries.DeliveredWebhook,
  { post, select = async (events) => events }: OpenedReceiver,
  { eventId, type }: queries.RequestedReplay,
): Promise<string | undefined> {
  const found = await findEvent(db, applicationId, { id: eventId, type }).catch((error: unknown) => {
    if (error instanceof Failure && error.details.reason === 'EXPIRED') return undefined;
    throw error;
  });
  const isOfVehicles = vehicleIds === undefined || vehicleIds.some((one) => one === found?.vehicleId);
  const [event] = await select(found && isOfVehicles ? [found] : []);
  if (!event) {
    logger.info({ webhookId: id, eventId }, 'dead letter dropped: the webhook no longer receives its event');
    return undefined;
  }
  const { outcome, status, durationMs, error } = await post(event);
  metrics.attempts.inc({ outcome });
  await queries.logAttempts(db, id, [
    { at: clock(), eventId, type, vehicleId: event.vehicleId, attempt: 1, status, durationMs, error },
  ]);
  return error;
}

/** Sends a webhook.test or notification.test event once, regardless of the receiver's state, and logs the attempt. */
export async function sendTestEvent(
  context: Opener,
  options: PostOptions,
  webhookId: string,
): Promise<{ eventId: string; attempt: Attempt }> {
  const { db } = context;
  const webhook = await queries.loadWebhook(db, webhookId);
  if (!webhook) throw new Error('the webhook was deleted');
  const type = webhook.url === undefined ? 'notification.test' : 'webhook.test';
  const [eventId, time] = [`test-${randomUUID()}`, options.clock()];
  const json = JSON.stringify({ id: eventId, type, time: time.toISOString(), appId: webhook.appId, data: {} });
  const receiver = await open(context, webhook, options);
  try {
    const attempt = await receiver.post({ id: eventId, json });
    const { status, durationMs, error } = attempt;
    const logged = { at: options.clock(), eventId, type, vehicleId: undefined, attempt: 1, status, durationMs, error };
    await queries.logAttempts(db, webhookId, [logged]);
    return { eventId, attempt };
  } finally {
    await receiver.close();
  }
}

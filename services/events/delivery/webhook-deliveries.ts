import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { findEventHeads } from '@odograph/event-list/read-events';
import { webhookSecretContext } from '@odograph/runtime/sealing';
import type { DeliveryState } from '../metrics.ts';
import type { DeliveryContext } from './delivery-context.ts';
import * as queries from './queries.ts';
import { replayDeadLetters } from './replays.ts';
import { openReceiver, type PostOptions } from './signed-posts.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

/** How often deliveries are started, continued and saved. */
const tickMs = 200;
const syncMs = 1000;
const pruneMs = 600_000;
/** A lease lasts a minute, and an attempt 15 s: after this time without a renewal, no attempt is started. */
const trustedLeaseMs = 40_000;
const drainMs = 5000;

interface Running {
  readonly delivery: WebhookDelivery;
  close(): Promise<void>;
}

/** Delivers to the webhooks that this process has leases for. Several processes share the webhooks. */
export class WebhookDeliveries {
  readonly #context: DeliveryContext;
  readonly #options: PostOptions;
  readonly #running = new Map<string, Running>();
  /** Those whose last attempts are in flight. */
  readonly #ending = new Map<string, Promise<void>>();
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

  /** Lets attempts end for a few seconds, saves, and lets other processes take over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop;
    await Promise.all([...this.#running.keys()].map((id) => this.#end(id, true)));
    await Promise.all(this.#ending.values());
  }

  async #run(): Promise<void> {
    await this.#report('leases', () => {
      const { db } = this.#context;
      return queries.resealSecrets(db, this.#options.sealer, webhookSecretContext);
    });
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
      [...this.#running].map(async ([id, { delivery }]) => {
        if (!(await delivery.tick())) void this.#end(id, false);
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

  /** Renews leases, takes over webhooks, and loads those that were changed. */
  async #sync(): Promise<void> {
    const { db, lease } = this.#context;
    await queries.claimWebhooks(db, this.#options.sealer, lease);
    const startedMs = performance.now();
    const versions = await queries.renewLeases(db, lease);
    this.#renewedMs = startedMs;
    for (const [id, { delivery }] of this.#running) {
      if (versions.get(id) !== delivery.version) void this.#end(id, false);
    }
    const missing = [...versions.keys()].filter((id) => !this.#running.has(id) && !this.#ending.has(id));
    await Promise.all(missing.map((id) => this.#load(id)));
  }

  async #load(id: string): Promise<void> {
    const { db, failures } = this.#context;
    const webhook = await queries.loadWebhook(db, id);
    if (!webhook) return;
    const { post, close } = openReceiver(webhook, this.#options);
    this.#running.set(id, { delivery: new WebhookDelivery(this.#context, webhook, post), close });
    replayDeadLetters(this.#context, webhook, post).catch((error: unknown) => failures.failed('reading', error));
  }

  /** Ends a delivery: attempts in flight have a few seconds. Another delivery of the webhook starts only after it. */
  #end(id: string, release: boolean): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return Promise.resolve();
    this.#running.delete(id);
    const ended = (async () => {
      const { delivery, close } = running;
      const deadlineMs = performance.now() + drainMs;
      while (!delivery.drain() && performance.now() < deadlineMs) await delay(10);
      await delivery.stop(release);
      await close();
      this.#ending.delete(id);
    })();
    this.#ending.set(id, ended);
    return ended;
  }

  /** Wakes the deliveries that had read everything and whose application has events since. */
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

import { randomUUID } from 'node:crypto';
import { accountsIn } from '@odograph/database/accounts';
import { Addresses } from '@odograph/database/addresses';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { answersIn } from '@odograph/database/kept-answers';
import { readEvents } from '@odograph/event-list/read-events';
import { operatorRoutes, tokenRoutes } from '@odograph/http/authentication';
import type { Clock, Http } from '@odograph/http/http';
import { openMailer } from '@odograph/mail/mailer';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { parseNetworks } from '@odograph/runtime/network-address';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer, readEncryptionKeys } from '@odograph/runtime/sealing';
import type { Service } from '@odograph/runtime/service';
import type { ResolveHost } from './delivery/addresses.ts';
import { DeliverySlots } from './delivery/context.ts';
import { createEventMetrics, eventTasks } from './delivery/metrics.ts';
import { SharedLists } from './delivery/shared-lists.ts';
import { sendTestEvent, WebhookDeliveries } from './delivery/webhook-deliveries.ts';
import { notificationRoutes, operatorNotificationRoutes } from './notifications/routes.ts';
import { webhookRoutes } from './registration/routes.ts';
import { ReportSender } from './reports/report-sender.ts';
import { operatorScheduleRoutes, scheduleRoutes } from './reports/routes.ts';

/** Maximum attempts in flight to all receivers together. */
const maxInFlight = 512;
const statementTimeoutMs = 30_000;
const preparedStatements = 64;

/** Options for tests. */
export interface EventServiceOptions {
  readonly clock?: Clock;
  readonly resolve?: ResolveHost;
  /** For a whole attempt. */
  readonly timeLimitMs?: number;
  /** Interval between checks for due reports. */
  readonly reportIntervalMs?: number;
}

/** Sends events to the webhooks and notifications of applications. */
export function createEventService({
  clock = () => new Date(),
  resolve,
  timeLimitMs = 15_000,
  reportIntervalMs = 60_000,
}: EventServiceOptions = {}): Service<Http> {
  return {
    name: 'events',
    async start({ config, http, logger, adminToken, metrics: registry, onStop }) {
      const { DATABASE_URL: url, DATABASE_POOL_SIZE: size, WEBHOOK_ALLOWED_NETWORKS: networks } = config;
      const db = openDatabase({ url, name: 'events', size, statementTimeoutMs, preparedStatements });
      onStop('events database', () => db.destroy());
      const sealer = await openSealer(config, 'webhook secrets');
      const allowed = networks === '' ? [] : (parseNetworks(networks) ?? []);
      const addresses = { allowed, ...(resolve && { resolve }) };
      const openRedis = () => {
        const redis = connectRedis(config.REDIS_URL, logger);
        onStop('wanted addresses', () => redis.disconnect());
        return redis;
      };
      const mailer = openMailer(config);
      onStop('mailer', () => mailer?.close());
      const options = { sealer, clock, addresses, timeLimitMs, mailer, publicUrl: config.PUBLIC_URL };
      const metrics = createEventMetrics(registry, () => deliveries.state);
      const failures = new BackgroundFailures(eventTasks, logger, metrics.backgroundFailures);
      const slots = new DeliverySlots(maxInFlight);
      const lists = new SharedLists((request) => readEvents(db, request));
      const context = { db, slots, lists, metrics, failures, logger, clock, lease: randomUUID() };
      const deliveries = new WebhookDeliveries(context, options);
      const sendTest = (webhookId: string) => sendTestEvent(context, options, webhookId);
      const routes = { db, ...options, lease: context.lease, sendTest };
      const schedules = { db, hasMail: mailer !== undefined };
      const sender =
        mailer &&
        new ReportSender({
          ...{ db, mailer, failures, logger, clock, intervalMs: reportIntervalMs },
          addresses: new Addresses(openRedis(), config),
        });
      const accounts = accountsIn(db, config);
      const kept = answersIn(db, await readEncryptionKeys(config));
      const ofApplications = [webhookRoutes(routes), notificationRoutes(routes), scheduleRoutes(schedules)];
      await tokenRoutes(http, accounts, ofApplications, kept);
      const ofOperators = [operatorNotificationRoutes(routes), operatorScheduleRoutes(schedules)];
      await operatorRoutes(http, { accounts, adminToken, kept }, ofOperators);
      onStop('scheduled reports', () => sender?.stop());
      onStop('webhook deliveries', () => deliveries.stop());
      return {
        async ready() {
          deliveries.start();
          sender?.start();
        },
        async health() {
          await pingDatabase(db);
          const [failure] = failures.current;
          return failure === undefined ? { ok: true, state: 'running' } : { ok: false, state: failure };
        },
      };
    },
  };
}

export const eventService = createEventService();

import { findCaller } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { tokenRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { openWorker } from '@odograph/queue/queues';
import { isPresent } from '@odograph/runtime/presence';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer, type Sealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { acknowledge } from './acknowledge.ts';
import type { CommandPath } from './await-end.ts';
import { openCommandEvents } from './command-events.ts';
import { createCommandPublisher } from './command-publisher.ts';
import { startKeyDelivery } from './keys/deliver.ts';
import { createCommandMetrics } from './metrics.ts';
import { actionRoutes, listRoutes } from './routes.ts';
import { startSweep } from './sweep.ts';

/** A statement of the command path takes a millisecond; one that hangs must not hold a request beyond its bound. */
const statementTimeoutMs = 5000;
/** All statements of the command path and of its keys, with room. */
const preparedStatements = 64;
const acknowledgementsAtOnce = 8;
/** A start does not wait longer for the broker, which may start after this service. */
const firstConnectionMs = 2000;

/** Opens everything the command path works with; the host closes it. */
function openCommandPath({ config, logger, adminToken, onStop }: ServiceHost<Http>): CommandPath {
  const db = openDatabase({
    url: config.DATABASE_URL,
    name: 'command',
    size: config.DATABASE_POOL_SIZE,
    statementTimeoutMs,
    preparedStatements,
  });
  onStop('database of the commands', () => db.destroy());
  const presence = connectRedis(config.REDIS_URL, logger);
  onStop('presence', () => presence.disconnect());
  const events = openCommandEvents(config.REDIS_URL, config.QUEUE_PREFIX, logger);
  onStop('events of the commands', () => events.close());
  const publisher = createCommandPublisher(config.MQTT_URL, adminToken, logger);
  onStop('session at the broker', () => publisher.close());
  return {
    db,
    events,
    publisher,
    logger,
    ackTimeoutMs: config.ACK_TIMEOUT_MS,
    isPresent: (deviceId) => isPresent(presence, config.QUEUE_PREFIX, deviceId),
  };
}

function openAcknowledgements(
  { config, logger, onStop }: ServiceHost<Http>,
  path: CommandPath & { readonly sealer: Sealer },
): void {
  const worker = openWorker({
    name: 'acknowledgements',
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    concurrency: acknowledgementsAtOnce,
    process: (job) => acknowledge(path, job.data),
    onFailure: (error, jobId) => logger.warn({ err: error, jobId }, 'an acknowledgement waits to be tried again'),
  });
  onStop('acknowledgements', () => worker.close());
}

/** Remote vehicle actions and lists of keys: the sole right to publish to devices. */
export const commandService: Service<Http> = {
  name: 'command',
  async start(host) {
    const path = { ...openCommandPath(host), sealer: await openSealer(host.config) };
    openAcknowledgements(host, path);
    host.onStop('sweep of the commands', startSweep(path));
    const { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix } = host.config;
    const stopKeyDelivery = startKeyDelivery(path, { redisUrl, prefix });
    host.onStop('delivery of keys', stopKeyDelivery);
    const metrics = createCommandMetrics(host.metrics, path.publisher.isConnected);
    await tokenRoutes(host.http, (tokenSha256) => findCaller(path.db, tokenSha256), [
      actionRoutes(path, metrics),
      listRoutes(path),
    ]);
    return {
      async health() {
        await pingDatabase(path.db);
        return { ok: true, state: path.publisher.isConnected() ? 'running' : 'waiting for the broker' };
      },
      ready: () => path.publisher.open(firstConnectionMs),
    };
  },
};

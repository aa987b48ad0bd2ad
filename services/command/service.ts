import { accountsIn } from '@odograph/database/accounts';
import { type Database, openDatabase, pingDatabase } from '@odograph/database/database';
import { RefusedWork } from '@odograph/database/postgres-failure';
import { tokenRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { openWorker } from '@odograph/queue/queues';
import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { DeviceMessenger } from '@odograph/sessions/presence';
import { type AcknowledgementContext, acknowledge, acknowledgeWatched } from './acknowledgements.ts';
import { openCommandEvents } from './command-events.ts';
import { endCommand, endOverdueCommands, findBeyondDeadline } from './commands.ts';
import { startKeyDelivery } from './key-delivery.ts';
import { actionRoutes, createCommandMetrics, listRoutes } from './routes.ts';
import type { CommandContext } from './send-command.ts';

/** A statement of the command path takes a millisecond; one that hangs must not hold a request beyond its deadline. */
const statementTimeoutMs = 5000;
/** More than the statements of this service. */
const preparedStatements = 64;
const concurrentAcknowledgements = 8;

/** Opens the connections of the command path; the host closes them. */
function openContext(host: ServiceHost<Http>): CommandContext {
  const { config, logger, onStop } = host;
  const db = openDatabase({
    url: config.DATABASE_URL,
    name: 'command',
    size: config.DATABASE_POOL_SIZE,
    statementTimeoutMs,
    preparedStatements,
  });
  onStop('command database', () => db.destroy());
  const redis = connectRedis(config.REDIS_URL, logger);
  onStop('command Redis', () => redis.disconnect());
  const changes = new ChangeAnnouncer(redis, host);
  const events = openCommandEvents(redis, host, changes);
  onStop('command events', () => events.close());
  const messenger = new DeviceMessenger(config.REDIS_URL, config.QUEUE_PREFIX, logger);
  onStop('messages to devices', () => messenger.close());
  return { db, events, changes, messenger, logger, ackTimeoutMs: config.ACK_TIMEOUT_MS };
}

function openAcknowledgements({ config, logger, onStop }: ServiceHost<Http>, context: AcknowledgementContext): void {
  const worker = openWorker({
    name: 'acknowledgements',
    redisUrl: config.REDIS_URL,
    prefix: config.QUEUE_PREFIX,
    concurrency: concurrentAcknowledgements,
    process: (job) => acknowledge(context, job.data),
    onFailure: (error, jobId) => logger.warn({ err: error, jobId }, 'acknowledgement failed; trying again'),
  });
  onStop('acknowledgements', () => worker.close());
  context.events.onAcknowledgement((text) => void acknowledgeWatched(context, text));
}

/** Remote vehicle actions and key lists. */
export const commandService: Service<Http> = {
  name: 'command',
  async start(host) {
    const { config, http, logger, metrics, onStop } = host;
    const context = {
      ...openContext(host),
      sealer: await openSealer(config, 'device keys'),
      refused: new RefusedWork(),
    };
    const { db, messenger } = context;
    openAcknowledgements(host, context);
    onStop('sweep of overdue commands', startSweep(context));
    onStop('key delivery', startKeyDelivery(context, config));
    const measure = createCommandMetrics(metrics, logger);
    await tokenRoutes(http, accountsIn(db, config), [actionRoutes(context, measure), listRoutes(context)]);
    return {
      async health() {
        await pingDatabase(db);
        return { ok: true, state: messenger.isConnected ? 'running' : 'waiting for Redis' };
      },
    };
  },
};

const intervalMs = 2000;
/** Twice the maximum of ACK_TIMEOUT_MS. */
const maxMs = 120_000;

/**
 * Finds commands that a database clock set back would keep active for too long: those that this process has seen active
 * for longer than any command may take, by its monotonic clock.
 * @returns a function to call regularly; resolves with the ids of the commands to end
 */
export function createStaleFinder(db: Database, nowMs: () => number = () => performance.now()) {
  let seenSinceMs = new Map<string, number>();
  return async (): Promise<string[]> => {
    const now = nowMs();
    const found = await findBeyondDeadline(db, maxMs);
    seenSinceMs = new Map(found.map((id) => [id, seenSinceMs.get(id) ?? now]));
    return found.filter((id) => now - (seenSinceMs.get(id) ?? now) > maxMs);
  };
}

/**
 * Ends overdue commands every two seconds: the process that waited for them has ended, and they must not be sent later.
 * @returns stops the sweep
 */
function startSweep({ db, events, logger }: CommandContext): () => Promise<void> {
  const findStale = createStaleFinder(db);
  const sweep = async (): Promise<void> => {
    try {
      events.announce(await endOverdueCommands(db));
      for (const id of await findStale()) {
        const ended = await endCommand(db, id);
        if (ended) events.announce([ended]);
      }
    } catch (error) {
      logger.warn({ err: error }, 'overdue commands not ended');
    }
  };
  let running = sweep();
  const timer = setInterval(() => {
    running = running.then(sweep);
  }, intervalMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}

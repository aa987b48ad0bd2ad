import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { findPresent } from '@odograph/sessions/presence';
import type { Kysely } from 'kysely';
import {
  clearSilent,
  clearUnanswered,
  keepWatch,
  raiseSilent,
  raiseUnanswered,
  recordConnections,
  recordDueEvents,
  recordSilences,
} from './watch.ts';

const everyMs = 10_000;
/** Reads the latest state of the whole fleet. */
const silencesEveryMs = 60_000;
/** Received uploads that wait longer are behind: their devices are not silent. */
const behindMs = 5000;

interface WatchOptions {
  readonly changes: Pick<ChangeAnnouncer, 'announce'>;
  /** Age of the oldest upload that is not stored. */
  oldestUploadMs(): Promise<number>;
}

/** Checks for silent devices, unanswered commands, sessions and what ended by time from the queue: one check at a time for the whole platform. */
export async function scheduleAlarms(
  db: Kysely<Tables>,
  host: ServiceHost,
  { changes, oldestUploadMs }: WatchOptions,
): Promise<void> {
  const { config, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('alarms', connection);
  host.onStop('alarms queue', () => queue.close());
  host.onStop('schedule of alarms', await keepSchedule({ queue, id: 'alarms', everyMs, data: {} }));
  const redis = connectRedis(config.REDIS_URL, logger);
  host.onStop('alarms sessions', () => redis.disconnect());
  let silencesDueAt = 0;
  const check = async (): Promise<void> => {
    // First, so that /health shows its failure: checks that fail are not recorded.
    await recordDueEvents(db);
    await keepWatch(db, (await oldestUploadMs()) > behindMs);
    for (const step of [clearSilent, raiseSilent, clearUnanswered, raiseUnanswered]) {
      await changes.announce({ alarmIds: await step(db) });
    }
    if (performance.now() >= silencesDueAt) {
      await recordSilences(db);
      silencesDueAt = performance.now() + silencesEveryMs;
    }
    await recordConnections(db, [...(await findPresent(redis, config.QUEUE_PREFIX))]);
  };
  const worker = openWorker({
    ...connection,
    name: 'alarms',
    concurrency: 1,
    // A failed check would be retried concurrently with the next one.
    process: () =>
      check().catch((error: unknown) =>
        logger.error(describeDatabaseError(error), 'check for alarms failed; retrying'),
      ),
    onFailure: (error) => logger.debug({ err: error }, 'alarms worker failed'),
  });
  host.onStop('alarms worker', () => worker.close());
}

import { setTimeout as delay } from 'node:timers/promises';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { Logger } from '@odograph/runtime/logger';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { resegment, type SegmentLimits } from './resegment.ts';
import { deleteWorkOfDeleted, distributeTouched, findDue, finishWork, postponeWork, takeWork } from './trip-work.ts';

const tickMs = 1000;
const vehiclesAtOnce = 50;
const maxJobMs = 1000;
/** The worker pauses for this multiple of a job's duration, which leaves most of the database to uploads. */
const pauseFactor = 1.5;
/** A turn is one transaction, and the embedded database runs only one at a time. */
const readingsPerTurn = 50_000;
const postponedSeconds = 60;
const dayMicroseconds = 86_400_000_000;

/** Runs one turn of a vehicle in a transaction. @returns false without work or when another worker has the lock */
async function segmentVehicle(db: Kysely<Tables>, vehicleId: number, limits: SegmentLimits): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const work = await takeWork(transaction, vehicleId);
    if (!work) return false;
    const rest = await resegment(transaction, vehicleId, work.touched, limits);
    await finishWork(transaction, vehicleId, work, rest);
    return true;
  });
}

/** Segments vehicles that are due, until none is left or `isOver`. A vehicle that fails is postponed. */
export async function segmentDueVehicles(
  db: Kysely<Tables>,
  options: { pauseMs: number; limits: SegmentLimits; logger: Logger; isOver: () => boolean },
): Promise<void> {
  const { pauseMs, limits, logger, isOver } = options;
  while (await distributeTouched(db, pauseMs)) if (isOver()) return;
  await deleteWorkOfDeleted(db);
  for (let isBusy = true; isBusy; ) {
    isBusy = false;
    for (const vehicleId of await findDue(db, vehiclesAtOnce)) {
      if (isOver()) return;
      try {
        isBusy = (await segmentVehicle(db, vehicleId, limits)) || isBusy;
      } catch (error) {
        logger.error({ vehicleId, ...describeDatabaseError(error) }, 'segmentation of trips failed; retrying');
        await postponeWork(db, vehicleId, postponedSeconds);
      }
    }
  }
}

/** Segments trips from the queue: one job per second for the whole platform, whatever the number of workers. */
export async function scheduleTrips(db: Kysely<Tables>, host: ServiceHost): Promise<void> {
  const { config, limits, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('trips', connection);
  host.onStop('trips queue', () => queue.close());
  host.onStop('schedule of trips', await keepSchedule({ queue, id: 'trips', everyMs: tickMs, data: {} }));
  const stopping = new AbortController();
  const worker = openWorker({
    ...connection,
    name: 'trips',
    concurrency: 1,
    process: async () => {
      const start = performance.now();
      const days = config.RETENTION_DAYS;
      const horizonMicroseconds = days === 0 ? null : Date.now() * 1000 - days * dayMicroseconds;
      const options = {
        pauseMs: limits.minTripsIntervalMs,
        limits: { readings: readingsPerTurn, horizonMicroseconds },
        logger,
        isOver: () => stopping.signal.aborted || performance.now() - start > maxJobMs,
      };
      // A failed job would be retried concurrently with the next one, which is due in a second anyway.
      await segmentDueVehicles(db, options).catch((error: unknown) =>
        logger.warn(describeDatabaseError(error), 'trips job failed'),
      );
      await delay((performance.now() - start) * pauseFactor, undefined, { signal: stopping.signal }).catch(
        () => undefined,
      );
    },
    onFailure: (error) => logger.debug({ err: error }, 'trips worker failed'),
  });
  host.onStop('trips worker', () => {
    stopping.abort();
    return worker.close();
  });
}

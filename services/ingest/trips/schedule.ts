import { setTimeout as delay } from 'node:timers/promises';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { keepSchedule } from '@odograph/queue/clock-steps';
import { openQueue, openWorker } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { resegment, type SegmentLimits } from './resegment.ts';
import { deleteWorkOfDeleted, distributeTouched, findDue, finishWork, postponeWork, takeWork } from './trip-work.ts';

const tickMs = 1000;
const vehiclesAtOnce = 50;
const longestJobMs = 1000;
/** After a job the worker rests for so many times as long, so that uploads have the larger part of the database. */
const restFactor = 1.5;
/** A turn is one transaction, and on the embedded database nobody else has one meanwhile. */
const readingsPerTurn = 50_000;
const postponedSeconds = 60;
const dayMicroseconds = 86_400_000_000;

/** Whether a job has to make way: for the next one, or because the platform stops. */
type IsOver = () => boolean;

/** One turn of a vehicle, whole or not at all. @returns false when another worker has it */
async function segmentVehicle(db: Kysely<Tables>, vehicleId: number, limits: SegmentLimits): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const work = await takeWork(transaction, vehicleId);
    if (!work) return false;
    const rest = await resegment(transaction, vehicleId, work.touched, limits);
    await finishWork(transaction, vehicleId, work, rest);
    return true;
  });
}

/** Works off what is due until nothing is left or it is over; a vehicle that fails is tried again later. */
export async function workOffTrips(
  db: Kysely<Tables>,
  options: { pauseMs: number; limits: SegmentLimits; logger: Logger; isOver: IsOver },
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
        logger.error({ vehicleId, ...describeDatabaseError(error) }, 'trips could not be segmented yet');
        await postponeWork(db, vehicleId, postponedSeconds);
      }
    }
  }
}

function limitsAt(nowMs: number, retentionDays: number): SegmentLimits {
  const horizonMicroseconds = retentionDays === 0 ? null : nowMs * 1000 - retentionDays * dayMicroseconds;
  return { readings: readingsPerTurn, horizonMicroseconds };
}

/** Keeps the trips up to date from the queue: one job a second for the whole platform however many workers there are. */
export async function scheduleTrips(db: Kysely<Tables>, host: ServiceHost): Promise<void> {
  const { config, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('trips', connection);
  host.onStop('trips queue', () => queue.close());
  const upsert = (repeat: { every: number }) => queue.upsertJobScheduler('trips', repeat, { name: 'trips', data: {} });
  host.onStop('schedule of trips', await keepSchedule({ queue, id: 'trips', everyMs: tickMs, upsert }));
  const stopping = new AbortController();
  const worker = openWorker({
    ...connection,
    name: 'trips',
    concurrency: 1,
    process: async () => {
      const start = performance.now();
      const options = {
        pauseMs: config.TRIPS_PAUSE_MS,
        limits: limitsAt(Date.now(), config.RETENTION_DAYS),
        logger,
        isOver: () => stopping.signal.aborted || performance.now() - start > longestJobMs,
      };
      // The next job is never far; one that fails would be tried again beside it.
      await workOffTrips(db, options).catch((error: unknown) =>
        logger.warn(describeDatabaseError(error), 'trips could not be worked off'),
      );
      await delay((performance.now() - start) * restFactor, undefined, { signal: stopping.signal }).catch(
        () => undefined,
      );
    },
    onFailure: (error) => logger.debug({ err: error }, 'trips worker'),
  });
  host.onStop('trips worker', () => {
    stopping.abort();
    return worker.close();
  });
}

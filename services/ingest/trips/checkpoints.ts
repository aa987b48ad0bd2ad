import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { SegmentState } from './segmentation/segment-trips.ts';

/** What segmentation knew after the reading of a time. */
export interface Checkpoint {
  timeMicroseconds: number;
  state: SegmentState;
  /** How many readings there were since the checkpoint before. */
  readings: number;
  /** Whether none follows. */
  isNewest: boolean;
}

/** A checkpoint that is to be stored, with its state as JSON text: the state itself goes on changing. */
export interface NewCheckpoint extends Pick<Checkpoint, 'timeMicroseconds' | 'readings'> {
  json: string;
}

const columns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", state, readings,
  not exists (select from trip_checkpoint as later
    where later.vehicle_id = trip_checkpoint.vehicle_id and later.time > trip_checkpoint.time) as "isNewest"`;
const instant = (microseconds: number) => sql`timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond'`;

const leastReadings = 1000;
const mostReadings = 5000;

/** Whether a checkpoint is worth keeping when segmentation goes on: the next one in a quiet moment, or one too far off. */
export function isWorthKeeping({ journey, gap }: SegmentState, readings: number): boolean {
  return readings >= mostReadings || (readings >= leastReadings && journey === null && gap === null);
}

/** The last checkpoint before a moment. */
export async function findCheckpointBefore(
  db: Database,
  vehicleId: number,
  microseconds: number,
): Promise<Checkpoint | undefined> {
  const { rows } = await sql<Checkpoint>`select ${columns} from trip_checkpoint
    where vehicle_id = ${vehicleId} and time < ${instant(microseconds)} order by time desc limit 1`.execute(db);
  return rows[0];
}

/** The first checkpoint after a moment. */
export async function findCheckpointAfter(
  db: Database,
  vehicleId: number,
  microseconds: number,
): Promise<Checkpoint | undefined> {
  const { rows } = await sql<Checkpoint>`select ${columns} from trip_checkpoint
    where vehicle_id = ${vehicleId} and time > ${instant(microseconds)} order by time limit 1`.execute(db);
  return rows[0];
}

/** Replaces the checkpoints after one moment, up to another one included. */
export async function replaceCheckpoints(
  db: Database,
  vehicleId: number,
  stretch: { afterMicroseconds: number; untilMicroseconds: number },
  checkpoints: readonly NewCheckpoint[],
): Promise<void> {
  await sql`delete from trip_checkpoint where vehicle_id = ${vehicleId}
    and time > ${instant(stretch.afterMicroseconds)} and time <= ${instant(stretch.untilMicroseconds)}`.execute(db);
  if (checkpoints.length === 0) return;
  await sql`insert into trip_checkpoint (vehicle_id, time, state, readings)
    select ${vehicleId}::integer, timestamptz 'epoch' + time_us * interval '1 microsecond', state, readings
    from unnest(${checkpoints.map(({ timeMicroseconds }) => timeMicroseconds)}::bigint[],
      ${checkpoints.map(({ json }) => json)}::jsonb[],
      ${checkpoints.map(({ readings }) => readings)}::integer[]) as given (time_us, state, readings)`.execute(db);
}

/** Forgets checkpoints from which segmentation never begins again, because the readings that follow are dropped. */
export async function forgetCheckpoints(db: Database, vehicleId: number, beforeMicroseconds: number): Promise<void> {
  await sql`delete from trip_checkpoint where vehicle_id = ${vehicleId} and time < ${instant(beforeMicroseconds)}
    and time < (select max(time) from trip_checkpoint where vehicle_id = ${vehicleId})`.execute(db);
}

import type { Readable } from 'node:stream';
import type { Database } from '@odograph/database/database';
import { isoMicroseconds, type Microseconds } from '@odograph/http/timestamps';
import { type RawBuilder, sql } from 'kysely';
import type { ReadingKey } from './continuation.ts';
import { type Frame, streamJson } from './json-stream.ts';
import type { Snapshot } from './snapshot.ts';
import type { VehicleScope } from './vehicle-scope.ts';

/** No answer holds more readings (interface specification, "Limits"). */
export const maximumReadings = 10_000;

/** A stretch of readings in the order of time, then vehicle. */
export interface PageRequest {
  /** Inclusive. */
  readonly from: Microseconds;
  /** Inclusive; without it the stretch is open. */
  readonly until?: Microseconds;
  /** Only what follows this reading. */
  readonly after?: ReadingKey;
  readonly offset: number;
  /** At most maximumReadings are given, whatever is asked for. */
  readonly limit: number;
}

export interface ReadingPage {
  readonly body: Readable | string;
  /** The last reading of the page when more follow. */
  readonly continueAfter?: ReadingKey;
}

interface KeyRow {
  microseconds: string;
  vehicle_id: number;
}

const moment = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** The time alone is what excludes chunks; the pair decides within one microsecond. */
function beside(comparison: '>' | '>=' | '<=', key: ReadingKey): RawBuilder<boolean> {
  const time = moment(key.time);
  const pair = sql.raw(comparison);
  const coarse = sql.raw(comparison === '<=' ? '<=' : '>=');
  return sql<boolean>`reading.time ${coarse} ${time} and (reading.time, reading.vehicle_id) ${pair} (${time}, ${key.vehicleId})`;
}

function stretch({ from, until, after }: PageRequest): RawBuilder<boolean> {
  const parts = [sql<boolean>`reading.time >= ${moment(from)}`];
  if (until !== undefined) parts.push(sql<boolean>`reading.time <= ${moment(until)}`);
  if (after) parts.push(beside('>', after));
  return sql<boolean>`${sql.join(parts, sql` and `)}`;
}

interface Stride {
  readonly offset: number;
  readonly count: number;
}

/** Keys from the index alone, so that skipping a reading costs little. */
function keysOf({ condition, few }: VehicleScope, range: RawBuilder<boolean>, { offset, count }: Stride) {
  const keys = (vehicles: RawBuilder<boolean>, skipped: number, taken: number) => sql`
    select reading.time, reading.vehicle_id from reading where ${vehicles} and ${range}
    order by reading.time, reading.vehicle_id offset ${skipped} limit ${taken}`;
  if (!few) return keys(condition, offset, count);
  return sql`select own.time, own.vehicle_id from unnest(${few}::integer[]) as one (id)
    cross join lateral (${keys(sql<boolean>`reading.vehicle_id = one.id`, 0, offset + count)}) as own
    order by own.time, own.vehicle_id offset ${offset} limit ${count}`;
}

async function keysAt(
  db: Database,
  scope: VehicleScope,
  range: RawBuilder<boolean>,
  stride: Stride,
): Promise<ReadingKey[]> {
  const result = await sql<KeyRow>`
    select (extract(epoch from key.time) * 1000000)::bigint::text as microseconds, key.vehicle_id
    from (${keysOf(scope, range, stride)}) as key order by key.time, key.vehicle_id`.execute(db);
  return result.rows.map(({ microseconds, vehicle_id }) => ({ time: BigInt(microseconds), vehicleId: vehicle_id }));
}

/**
 * Opens a page of readings, each the vehicle of the scope followed by `members`. Where the page ends is found first, in
 * the same snapshot, so that the answer can announce it before its first reading.
 */
export async function openReadingPage(
  snapshot: Snapshot,
  scope: VehicleScope,
  request: PageRequest,
  members: RawBuilder<string>,
  frame: Frame,
): Promise<ReadingPage> {
  const limit = Math.min(request.limit, maximumReadings);
  let range = stretch(request);
  if (request.offset > 0) {
    const [start] = limit === 0 ? [] : await keysAt(snapshot.db, scope, range, { offset: request.offset, count: 1 });
    if (start) range = sql<boolean>`${range} and ${beside('>=', start)}`;
    else return empty(snapshot, frame);
  }
  if (limit === 0 || scope.members.size === 0) return empty(snapshot, frame);
  const [last, following] = await keysAt(snapshot.db, scope, range, { offset: limit - 1, count: 2 });
  if (last) range = sql<boolean>`${range} and ${beside('<=', last)}`;
  const query = sql<{ vehicle_id: number; members: string }>`
    select reading.vehicle_id, ${members} as members from reading where ${scope.condition} and ${range}
    order by reading.time, reading.vehicle_id limit ${limit}`;
  const body = await streamJson(
    snapshot,
    query,
    frame,
    (row) => `{${scope.members.get(row.vehicle_id) ?? ''}${row.members}}`,
  );
  return following && last ? { body, continueAfter: last } : { body };
}

async function empty(snapshot: Snapshot, frame: Frame): Promise<ReadingPage> {
  await snapshot.close();
  return { body: frame.start + frame.end };
}

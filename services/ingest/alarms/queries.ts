import type { AlarmKind } from '@odograph/contracts/alarms';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { instant, instantArray } from '../pipeline/sql-values.ts';

/** An alarm as stored; times in microseconds. */
export interface StoredAlarm {
  readonly id: string;
  readonly ruleId: string;
  readonly vehicleId: number;
  readonly fromMicroseconds: number;
  readonly untilMicroseconds: number;
}

/**
 * Finds the alarms of vehicles that are open, or ended after the oldest reading of the vehicle in a batch.
 * @returns in time order
 */
export async function findAlarms(
  db: Database,
  vehicles: readonly { readonly vehicleId: number; readonly oldestMicroseconds: number }[],
): Promise<StoredAlarm[]> {
  const ids = vehicles.map(({ vehicleId }) => vehicleId);
  const { rows } = await sql<StoredAlarm & { untilMicroseconds: number | null }>`
    select alarm.id, rule_id as "ruleId", alarm.vehicle_id as "vehicleId",
      (extract(epoch from raised_at) * 1000000)::bigint as "fromMicroseconds",
      (extract(epoch from cleared_at) * 1000000)::bigint as "untilMicroseconds"
    from unnest(${ids}::integer[], ${instantArray(vehicles.map((one) => one.oldestMicroseconds))})
      as incoming (vehicle_id, oldest)
    join alarm on alarm.vehicle_id = incoming.vehicle_id and coalesce(alarm.cleared_at, 'infinity') > incoming.oldest
    order by raised_at`.execute(db);
  return rows.map((row) => ({ ...row, untilMicroseconds: row.untilMicroseconds ?? Number.POSITIVE_INFINITY }));
}

/** The fields of a stored reading that alarms depend on. */
export interface HistoricReading {
  readonly timeMicroseconds: number;
  readonly reading: Pick<TelemetryReading, 'location' | 'status' | 'can' | 'electric' | 'fleet' | 'alarms'>;
}

/**
 * Finds stored readings of a vehicle after a time and up to another, in time order.
 * @param column SQL: true for the readings wanted
 */
export async function findReadings(
  db: Database,
  vehicleId: number,
  bounds: { afterMicroseconds: number; untilMicroseconds: number; column: string; limit: number },
): Promise<HistoricReading[]> {
  const { rows } = await sql<HistoricReading>`
    select (extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", jsonb_strip_nulls(jsonb_build_object(
      'location', case when latitude is not null then
        jsonb_build_object('latitude', latitude, 'longitude', longitude, 'speed', speed) end,
      'status', jsonb_build_object('ignition', ignition, 'movement', movement),
      'electric', jsonb_build_object('soc', soc), 'can', ${sql.raw(allCanValues)}, 'fleet', fleet, 'alarms', alarms)) as reading
    from reading
    where vehicle_id = ${vehicleId} and time > ${instant(bounds.afterMicroseconds)}
      and time <= ${instant(bounds.untilMicroseconds)} and ${sql.raw(bounds.column)}
    order by time limit ${bounds.limit}`.execute(db);
  return rows;
}

/** An alarm to insert, or to change if it has an id. */
export interface AlarmChange {
  readonly id?: string;
  readonly applicationId: number;
  readonly ruleId: string;
  readonly vehicleId: number;
  readonly kind: AlarmKind;
  readonly fromMicroseconds: number;
  readonly untilMicroseconds: number;
  /** The value of the reading that raised it; undefined if the alarm begins as stored. */
  readonly evidence?: { readonly value?: number; readonly latitude?: number; readonly longitude?: number };
}

const incomingColumns = `id uuid, application_id integer, rule_id uuid, vehicle_id integer, kind text, raised_us bigint,
  cleared_us bigint, is_shown boolean, value double precision, latitude double precision, longitude double precision`;

function toIncoming({ id, applicationId, ruleId, vehicleId, kind, evidence, ...change }: AlarmChange) {
  return {
    ...{ id, application_id: applicationId, rule_id: ruleId, vehicle_id: vehicleId, kind },
    raised_us: change.fromMicroseconds,
    cleared_us: Number.isFinite(change.untilMicroseconds) ? change.untilMicroseconds : null,
    is_shown: evidence !== undefined,
    ...evidence,
  };
}

/** SQL of a table expression `incoming` with these alarms. */
const incomingOf = (changes: readonly AlarmChange[]) => sql`incoming as (
  select one.*, timestamptz 'epoch' + raised_us * interval '1 microsecond' as raised_at,
    timestamptz 'epoch' + cleared_us * interval '1 microsecond' as cleared_at
  from jsonb_to_recordset(${JSON.stringify(changes.map(toIncoming))}::jsonb) as one (${sql.raw(incomingColumns)}))`;

async function changeAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`with ${incomingOf(changes)}
    update alarm set raised_at = incoming.raised_at, cleared_at = incoming.cleared_at,
      value = case when is_shown then incoming.value else alarm.value end,
      latitude = case when is_shown then incoming.latitude else alarm.latitude end,
      longitude = case when is_shown then incoming.longitude else alarm.longitude end
    from incoming where alarm.id = incoming.id returning alarm.id`.execute(db);
  return rows.map(({ id }) => id);
}

async function insertAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`with ${incomingOf(changes)}
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, value, latitude, longitude)
    select application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, value, latitude, longitude from incoming
    on conflict do nothing returning id`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Writes alarms. Those that end are written before those that begin, since a rule has one open alarm of a vehicle.
 * @returns the ids of the alarms that were raised or changed
 */
export async function writeAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const known = changes.filter(({ id }) => id !== undefined);
  const raised = changes.filter(({ id }) => id === undefined);
  return [
    ...(known.length > 0 ? await changeAlarms(db, known) : []),
    ...(raised.length > 0 ? await insertAlarms(db, raised) : []),
  ];
}

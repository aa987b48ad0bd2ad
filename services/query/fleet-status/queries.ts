import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import { latestMembers, privacyIsOn } from '../reading-json.ts';
import type { DynamicState } from '../schemas.ts';
import type { FleetFacts, KnownPosition } from './rules.ts';

const isPrivate = sql.raw<boolean>(privacyIsOn);
const states = sql`json_build_object('towing', vehicle.towing, 'accident', vehicle.accident,
  'maintenance', vehicle.maintenance, 'breakdown', vehicle.breakdown, 'stolen', vehicle.stolen,
  'unavailable', vehicle.unavailable)`;

/** Finds a vehicle by its id. @throws Failure UNKNOWN_VEHICLE */
export async function findVehicleId(db: Database, caller: Caller, id: string): Promise<number> {
  return (await findVehicle(db, caller, id)).id;
}

/** Finds a vehicle by its plate; only letters and digits count. @throws Failure UNKNOWN_VEHICLE */
export async function findVehicleIdByPlate(db: Database, caller: Caller, plate: string): Promise<number> {
  const row = await db
    .selectFrom('vehicle')
    .select('id')
    .where(hasPlate(plate))
    .where(accessibleTo(caller))
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  return row.id;
}

/** The latest reading of a vehicle, and its state flags. */
export interface LatestReading {
  /** Members of a JSON object, `vehicle` to `sensors`. */
  readonly members: string;
  readonly state: DynamicState;
}

/** Finds the latest reading of a vehicle; undefined if it never reported. */
export async function findLatestReading(db: Database, vehicleId: number): Promise<LatestReading | undefined> {
  const { rows } = await sql<LatestReading>`select ${latestMembers.stateless} as members,
      ${states} as state
    from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.id = ${vehicleId}`.execute(db);
  return rows[0];
}

interface PositionRow {
  latitude: number | null;
  longitude: number | null;
  located_us: string | null;
}

const positionColumns = sql`
  case when not ${isPrivate} then vehicle_latest.location->'latitude' end as latitude,
  case when not ${isPrivate} then vehicle_latest.location->'longitude' end as longitude,
  (extract(epoch from vehicle_latest.location_time) * 1000000)::bigint::text as located_us`;

function toPosition({ latitude, longitude, located_us: time }: PositionRow): KnownPosition | undefined {
  if (latitude === null || longitude === null || time === null) return undefined;
  return { latitude, longitude, time: BigInt(time) };
}

/** Finds the last known position of a vehicle; undefined also while it is private. */
export async function findPosition(db: Database, vehicleId: number): Promise<KnownPosition | undefined> {
  const { rows } = await sql<PositionRow>`select ${positionColumns}
    from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.id = ${vehicleId}`.execute(db);
  return rows[0] && toPosition(rows[0]);
}

/** How many readings are searched for a speed before the one of the last position is used. */
const readingsWithSpeed = 100;

/**
 * Both groups may have a speed, and `fleet` keeps its last one when it is reported without. So if `fleet` was reported later
 * than the location, the speed comes from the readings since then, whose column has that of either group.
 */
const speed: RawBuilder<number | null> = sql`coalesce(
  case when vehicle_latest.fleet ? 'speed' and vehicle_latest.location ? 'speed'
      and vehicle_latest.fleet_time > vehicle_latest.location_time then (
    select recent.speed from (
      select reading.time, reading.speed from reading
      where reading.application_id = vehicle.application_id and reading.vehicle_id = vehicle.id
        and reading.time > vehicle_latest.location_time and reading.time <= vehicle_latest.fleet_time
      order by reading.time desc limit ${sql.lit(readingsWithSpeed)}) as recent
    where recent.speed is not null order by recent.time desc limit 1) end,
  (vehicle_latest.location->'speed')::double precision,
  (vehicle_latest.fleet->'speed')::double precision)`;

/** Authorizations that are current; a suspended one is included. */
const authorizations = sql`(select coalesce(json_agg(json_build_object('authorizationId', granted.id,
    'userId', granted.driver_id, 'from', granted.valid_from, 'until', granted.valid_until)
    order by granted.valid_from, granted.id), '[]')
  from bluetooth_authorization as granted
  where granted.vehicle_id = vehicle.id and granted.revoked_at is null
    and granted.valid_from <= now() and granted.valid_until > now())`;

interface FactsRow
  extends PositionRow,
    Pick<FleetFacts, 'fleet' | 'alarms' | 'status' | 'electric' | 'fleetIsNewer' | 'privacy' | 'scenarii' | 'state'> {
  speed: number | null;
  authorizations: FleetFacts['authorizations'];
  received_at: Date;
}

const source = sql`from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
  join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  join device on device.id = device_link.device_id
  join device_model on device_model.id = device.model_id`;

/**
 * Finds what the fleet status of a vehicle is made of; undefined when no device is linked to it, or one that never reported:
 * the vehicle has no reading since the link.
 */
export async function findFleetFacts(db: Database, vehicleId: number): Promise<FleetFacts | undefined> {
  const { rows } = await sql<FactsRow>`
    select coalesce(fleet, '{}') as fleet, coalesce(alarms, '{}') as alarms, coalesce(status, '{}') as status,
      coalesce(electric, '{}') as electric, coalesce(fleet_time >= status_time, true) as "fleetIsNewer",
      ${speed} as speed, ${positionColumns}, ${isPrivate} as privacy, device_model.scenarii,
      ${authorizations} as authorizations, vehicle_latest.received_at,
      ${states} as state
    ${source} where vehicle.id = ${vehicleId} and device_link.period @> vehicle_latest.time`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { latitude, longitude, located_us, received_at: lastMessage, ...facts } = row;
  const utc = (time: string) => new Date(time).toISOString();
  return {
    ...facts,
    lastMessage,
    speed: row.speed ?? undefined,
    position: toPosition({ latitude, longitude, located_us }),
    authorizations: row.authorizations.map((one) => ({ ...one, from: utc(one.from), until: utc(one.until) })),
  };
}

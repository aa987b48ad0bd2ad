import type { GbfsSettings } from '@odograph/contracts/gbfs';
import type { GeofenceArea } from '@odograph/contracts/geofences';
import type { Database } from '@odograph/database/database';
import { hasDevice, isMoving, outOfService } from '@odograph/database/vehicle-conditions';
import { sql } from 'kysely';
import { isPrivate } from '../reads/vehicle-table-queries.ts';

/** An application that publishes feeds. */
export interface GbfsSystem {
  readonly applicationId: number;
  readonly settings: GbfsSettings;
  readonly idKey: Buffer;
  /** When the settings were last changed. */
  readonly updatedAt: Date;
}

/**
 * Finds the system of a public id, or of an application; undefined if nothing is published under it, or while the
 * application is being moved to another cell, because its vehicles cannot be booked then.
 */
export async function findSystem(
  db: Database,
  by: { systemId: string } | { applicationId: number },
): Promise<GbfsSystem | undefined> {
  const row = await db
    .selectFrom('gbfs_system')
    .innerJoin('application', 'application.id', 'gbfs_system.application_id')
    .select(['application_id', 'settings', 'id_key', 'gbfs_system.updated_at'])
    .where('application.deleted_at', 'is', null)
    .where('application.moving_since', 'is', null)
    .$if('systemId' in by, (query) => query.where('system_id', '=', 'systemId' in by ? by.systemId : ''))
    .$if('applicationId' in by, (query) =>
      query.where('application_id', '=', 'applicationId' in by ? by.applicationId : 0),
    )
    .executeTakeFirst();
  if (!row) return undefined;
  const { application_id: applicationId, settings, id_key: idKey, updated_at: updatedAt } = row;
  return { applicationId, settings, idKey, updatedAt };
}

/** Why a vehicle is not published, before its type and range are looked at. */
export const hiddenStates = [
  ...['OUT_OF_SERVICE', 'PRIVATE', 'NO_DEVICE', 'BOOKED', 'AUTHORIZED', 'POSITION_UNKNOWN', 'SILENT', 'MOVING'],
] as const;
export type HiddenState = (typeof hiddenStates)[number];

/** A vehicle of a system. Its position is null, and nothing else of its state is known, while it is hidden. */
export interface SystemVehicle {
  readonly id: number;
  readonly plate: string;
  readonly hidden: HiddenState | null;
  readonly brand: string;
  readonly model: string;
  readonly kind: string;
  readonly energy: string;
  readonly latitude: number | null;
  readonly longitude: number | null;
  /** Charge or fuel in percent. */
  readonly level: number | null;
  readonly rangeKm: number | null;
  readonly contactAt: Date | null;
  /** When its last booking ended, microseconds; null without one. */
  readonly rentedUntil: string | null;
  /** When its last drive without a booking ended, microseconds; null unless it is later than the last booking. */
  readonly drivenUntil: string | null;
  readonly nextBookingAt: Date | null;
  /** Short id of the parking spot that it is assigned to. */
  readonly spot: string | null;
}

const number = (group: string, key: string) =>
  sql`(vehicle_latest.${sql.ref(group)}->>${sql.lit(key)})::double precision`;
const microseconds = (time: string) => sql`(extract(epoch from ${sql.raw(time)}) * 1000000)::bigint::text`;

const isBooked = sql`exists (select from booking where booking.vehicle_id = vehicle.id and booking.deleted_at is null
  and tstzrange(booking.starts_at, booking.ends_at) @> now())`;
/** A driver may hold the vehicle by an authorization alone. */
const isAuthorized = sql`exists (select from bluetooth_authorization held where held.vehicle_id = vehicle.id
  and held.level = 'DRIVE' and held.revoked_at is null and held.valid_until > now() and held.valid_from <= now())`;
const isSilent = (
  maxAgeMinutes: number,
) => sql`(vehicle_latest.location_time < now() - make_interval(mins => ${maxAgeMinutes}::integer)
  or vehicle_latest.received_at < now() - make_interval(mins => ${maxAgeMinutes}::integer))`;
const levels = [number('electric', 'soc'), number('fleet', 'ChargeLevel'), number('fleet', 'fuelRange')];
/** Devices also send 0 for an unknown level, so 0 counts only if no other level is reported. */
const level = sql`coalesce(${sql.join(levels.map((percent) => sql`nullif(${percent}, 0)`))},
  case when vehicle.tank_litres > 0 then ${number('fleet', 'fuel')} * 100 / vehicle.tank_litres end, least(${sql.join(levels)}))`;

/** Devices send 0 for an unknown range. */
const range = sql`coalesce(nullif(${number('status', 'autonomy')}, 0), nullif(${number('fleet', 'RemainingRange')}, 0))`;

const defaultMaxAgeMinutes = 25 * 60;

/**
 * Reads the vehicles of a system in one statement.
 * @param onlyPublished leaves out vehicles that are hidden
 */
export async function findVehicles(
  db: Database,
  { applicationId, settings }: GbfsSystem,
  onlyPublished: boolean,
): Promise<SystemVehicle[]> {
  const { vehicleIds, positionMaxAgeMinutes = defaultMaxAgeMinutes } = settings;
  const chosen = vehicleIds === undefined ? sql`true` : sql`vehicle.id = any(${vehicleIds.map(Number)}::integer[])`;
  const hidden = sql`case when cardinality(${outOfService}) > 0 then 'OUT_OF_SERVICE' when ${isPrivate} then 'PRIVATE'
    when not ${hasDevice} then 'NO_DEVICE' when ${isBooked} then 'BOOKED' when ${isAuthorized} then 'AUTHORIZED'
    when vehicle_latest.location_time is null then 'POSITION_UNKNOWN'
    when ${isSilent(positionMaxAgeMinutes)} then 'SILENT' when ${isMoving} then 'MOVING' end`;
  const { rows } = await sql<SystemVehicle>`
    select vehicle.id, vehicle.plate, state.hidden, vehicle.brand, vehicle.model, vehicle.kind, vehicle.energy,
      case when state.hidden is null then ${number('location', 'latitude')} end as latitude,
      case when state.hidden is null then ${number('location', 'longitude')} end as longitude,
      case when state.hidden is null then ${level} end as level,
      case when state.hidden is null then ${range} end as "rangeKm",
      case when state.hidden is null then vehicle_latest.received_at end as "contactAt",
      ${microseconds('rental.ended_at')} as "rentedUntil",
      case when drive.ended_at > coalesce(rental.ended_at, '-infinity') then ${microseconds('drive.ended_at')} end
        as "drivenUntil",
      (select min(starts_at) from booking where booking.vehicle_id = vehicle.id and booking.deleted_at is null
        and starts_at > now() and (ends_at is null or ends_at > starts_at)) as "nextBookingAt",
      parking.short_id as spot
    from vehicle
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    left join vehicle_parking on vehicle_parking.vehicle_id = vehicle.id
    left join parking on parking.id = vehicle_parking.parking_id
    cross join lateral (select ${hidden} as hidden) as state
    cross join lateral (select (select ends_at from booking where booking.vehicle_id = vehicle.id
      and booking.deleted_at is null and ends_at <= now() and ends_at > starts_at
      order by starts_at desc limit 1) as ended_at) as rental
    cross join lateral (select greatest(
      case when vehicle_latest.parked_location is not null then vehicle_latest.parked_at end,
      (select ended_at from trip where trip.vehicle_id = vehicle.id order by started_at desc limit 1)) as ended_at) as drive
    where vehicle.application_id = ${applicationId} and vehicle.deleted_at is null and ${chosen}
      and ${onlyPublished ? sql`state.hidden is null` : sql`true`}
    order by vehicle.id`.execute(db);
  return rows;
}

/** A parking spot with coordinates. */
export interface Spot {
  readonly shortId: string;
  readonly name: string;
  readonly address: string;
  readonly zipcode: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** Reads the parking spots that a system publishes, by their short ids. */
export async function findSpots(db: Database, { applicationId, settings }: GbfsSystem): Promise<Spot[]> {
  const { stations } = settings;
  if (stations === 'none') return [];
  const chosen = stations === 'all' ? sql`true` : sql`short_id = any(${[...stations]}::text[])`;
  const { rows } =
    await sql<Spot>`select short_id as "shortId", name, concat_ws(', ', address, nullif(address2, '')) as address,
      zipcode, latitude, longitude
    from parking where application_id = ${applicationId} and latitude is not null and ${chosen}
    order by short_id`.execute(db);
  return rows;
}

/** Reads the shapes of the geofences that a system publishes, by their ids; one that was deleted is missing. */
export async function findShapes(
  db: Database,
  { applicationId, settings }: GbfsSystem,
): Promise<ReadonlyMap<string, GeofenceArea>> {
  const ids = (settings.geofencing?.zones ?? []).map(({ geofenceId }) => geofenceId);
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; shape: GeofenceArea }>`select id::text,
      jsonb_strip_nulls(geometry || jsonb_build_object('radiusMetres', radius_metres)) as shape
    from geofence where application_id = ${applicationId} and id = any(${ids}::uuid[])
      and geometry ->> 'type' <> 'LineString'`.execute(db);
  return new Map(rows.map(({ id, shape }) => [id, shape]));
}

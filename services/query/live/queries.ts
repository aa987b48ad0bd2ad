import type { Viewer } from '@odograph/contracts/caller';
import { kindsOfOpenAlarms, type ShownAlarm, selectAlarms } from '@odograph/database/alarms';
import { findShownCommands, type ShownCommand } from '@odograph/database/commands';
import type { Database } from '@odograph/database/database';
import { privacyIsOn } from '@odograph/database/reading-json';
import { visibleTo } from '@odograph/database/vehicle-access';
import { outOfService } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import type { LiveRow } from './live-fleet.ts';

const isPrivate = sql.raw<boolean>(privacyIsOn);
const number = (group: string, key: string) =>
  sql`(vehicle_latest.${sql.ref(group)}->>${sql.lit(key)})::double precision`;
const milliseconds = (column: string) => sql`extract(epoch from ${sql.ref(column)})::double precision * 1000`;

/** Positions and speeds of private vehicles do not leave the database. */
const unlessPrivate = (value: RawBuilder<unknown>) => sql`case when not private.is_on then ${value} end`;

/** Selects the vehicles for which `condition` is true and that are neither archived nor deleted, in the order of their ids. */
async function selectVehicles(db: Database, condition: RawBuilder<boolean>, limit: number): Promise<LiveRow[]> {
  const { rows } = await sql<LiveRow>`
    select vehicle.id, vehicle.application_id as "applicationId", application.app_id as "appId",
      vehicle.plate, vehicle.vin, vehicle.brand, vehicle.model, device_link.device_id as "deviceId",
      ${outOfService} as flags, private.is_on as "isPrivate", ${kindsOfOpenAlarms} as alarms,
      ${unlessPrivate(number('location', 'latitude'))} as latitude,
      ${unlessPrivate(number('location', 'longitude'))} as longitude,
      ${unlessPrivate(number('location', 'angle'))} as angle,
      ${unlessPrivate(number('location', 'speed'))} as "locationSpeed",
      ${milliseconds('vehicle_latest.location_time')} as "locatedAtMs",
      (vehicle_latest.status->>'ignition')::boolean as ignition,
      vehicle_latest.fleet->>'engine' as engine,
      ${milliseconds('vehicle_latest.status_time')} as "statusAtMs",
      ${unlessPrivate(number('fleet', 'speed'))} as "fleetSpeed",
      ${milliseconds('vehicle_latest.fleet_time')} as "fleetAtMs",
      coalesce(${number('electric', 'soc')}, ${number('fleet', 'ChargeLevel')}) as soc,
      case when vehicle_latest.parked_location is not null then ${milliseconds('vehicle_latest.parked_at')} end
        as "parkedAtMs",
      ${milliseconds('vehicle_latest.received_at')} as "contactAtMs"
    from vehicle
    join application on application.id = vehicle.application_id
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
    cross join lateral (select ${isPrivate} as is_on) as private
    where vehicle.deleted_at is null and vehicle.archived_at is null and ${condition}
    order by vehicle.id limit ${limit}`.execute(db);
  return rows;
}

/** Finds the state of vehicles. */
export function findVehicles(db: Database, ids: readonly number[]): Promise<LiveRow[]> {
  return selectVehicles(db, sql<boolean>`vehicle.id = any(${ids}::integer[])`, ids.length);
}

const vehiclesPerQuery = 5000;

/** Finds the state of all vehicles, in several statements. */
export async function findAllVehicles(db: Database): Promise<LiveRow[]> {
  const all: LiveRow[] = [];
  for (;;) {
    const last = all.at(-1)?.id ?? 0;
    const rows = await selectVehicles(db, sql<boolean>`vehicle.id > ${last}`, vehiclesPerQuery);
    all.push(...rows);
    if (rows.length < vehiclesPerQuery) return all;
  }
}

/** Finds all applications that are not deleted. */
export async function findApplicationIds(db: Database): Promise<number[]> {
  const rows = await db.selectFrom('application').select('id').where('deleted_at', 'is', null).orderBy('id').execute();
  return rows.map(({ id }) => id);
}

/** Finds the vehicles that are visible to a viewer. */
export async function findVisibleIds(db: Database, viewer: Viewer): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select vehicle.id from vehicle where ${visibleTo(viewer)}
    order by vehicle.id`.execute(db);
  return rows.map(({ id }) => id);
}

interface CommandOfVehicle {
  readonly vehicleId: number;
  readonly event: 'command';
  readonly data: ShownCommand;
}

interface AlarmOfVehicle {
  readonly vehicleId: number;
  readonly event: 'alarm';
  readonly data: ShownAlarm;
}

/** A command or an alarm as the stream sends it, with the number of its vehicle. */
export type EventOfVehicle = CommandOfVehicle | AlarmOfVehicle;

/** Finds the commands and alarms among these ids; commands in the order in which they were requested. */
export async function findEvents(db: Database, ids: readonly string[]): Promise<EventOfVehicle[]> {
  if (ids.length === 0) return [];
  return [...(await findCommands(db, ids)), ...(await findAlarms(db, ids))];
}

async function findAlarms(db: Database, ids: readonly string[]): Promise<AlarmOfVehicle[]> {
  const alarms = await selectAlarms(db, sql`alarm.id = any(${ids}::uuid[]) order by alarm.raised_at`);
  return alarms.map((data) => ({ vehicleId: Number(data.vehicleId), event: 'alarm', data }));
}

async function findCommands(db: Database, ids: readonly string[]): Promise<CommandOfVehicle[]> {
  const commands = await findShownCommands(db, ids);
  return commands.map((data) => ({ vehicleId: Number(data.vehicleId), event: 'command', data }));
}

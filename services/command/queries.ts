import type { Caller } from '@odograph/contracts/caller';
import type { CommandState } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, parseVehicleId, requirePermission, type VehicleAct } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import type { LastReported, Outcome, Target } from './rules.ts';

interface TargetRow {
  id: number;
  archived: boolean;
  permitted: boolean;
  device_id: string | null;
  actions: string[] | null;
  protocol: string | null;
  takes_commands: boolean;
  ignition: unknown;
  engine: unknown;
  location_speed: unknown;
  location_time: Date | null;
  fleet_speed: unknown;
  fleet_time: Date | null;
}

function toReported(row: TargetRow): LastReported {
  return {
    ...(typeof row.ignition === 'boolean' ? { ignition: row.ignition } : {}),
    ...(typeof row.engine === 'string' ? { engine: row.engine } : {}),
    ...(typeof row.location_speed === 'number' ? { locationSpeedKmh: row.location_speed } : {}),
    ...(row.location_time === null ? {} : { locationTimeMs: row.location_time.getTime() }),
    ...(typeof row.fleet_speed === 'number' ? { fleetSpeedKmh: row.fleet_speed } : {}),
    ...(row.fleet_time === null ? {} : { fleetTimeMs: row.fleet_time.getTime() }),
  };
}

/**
 * Finds a vehicle with the device that is linked to it now and the state that it last reported, in one statement.
 * @throws Failure UNKNOWN_VEHICLE if it is missing, deleted or hidden from the caller; UNAUTHORIZED if the role of the
 *   caller does not permit the act
 */
export async function findTarget(db: Database, caller: Caller, id: string, act: VehicleAct): Promise<Target> {
  const number = parseVehicleId(id);
  if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
  const { rows } = await sql<TargetRow>`
    select vehicle.id, vehicle.archived_at is not null as archived, ${accessibleTo(caller, act)} as permitted,
      device.id as device_id, model.actions, model.protocol,
      exists (select from source where source.application_id = device.application_id and source.format = 'flespi'
        and source.takes_commands and source.deleted_at is null) as takes_commands,
      latest.status -> 'ignition' as ignition, latest.fleet -> 'engine' as engine,
      latest.location -> 'speed' as location_speed, latest.location_time,
      latest.fleet -> 'speed' as fleet_speed, latest.fleet_time
    from vehicle
    left join device_link link on link.vehicle_id = vehicle.id and link.period @> clock_timestamp()
    left join device on device.id = link.device_id
    left join device_model model on model.id = device.model_id
    left join vehicle_latest latest on latest.vehicle_id = vehicle.id
    where vehicle.id = ${number} and ${accessibleTo(caller)}`.execute(db);
  const row = rows[0];
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  requirePermission(row.permitted);
  const { device_id: deviceId, actions } = row;
  const isBehindSource = row.protocol === 'source';
  return {
    vehicleId: row.id,
    archived: row.archived,
    reported: toReported(row),
    ...(deviceId === null
      ? {}
      : {
          device: {
            id: deviceId,
            actions: isBehindSource && !row.takes_commands ? [] : (actions ?? []),
            isBehindSource,
          },
        }),
  };
}

/** One row of the table command. */
export interface Command extends Outcome {
  readonly id: string;
  readonly vehicleId: number;
  readonly deviceId: string;
  readonly action: string;
  /** UNIX seconds. */
  readonly expiresAt: number;
  /** Measured by the database's clock; negative after the deadline. */
  readonly remainingMs: number;
  /** The next pending command of the vehicle, in statements that return it. */
  readonly nextId?: string;
}

export interface CommandRow {
  id: string;
  vehicle_id: number;
  device_id: string;
  action: string;
  state: CommandState;
  cause: string | null;
  status: string | null;
  reason: string | null;
  expires_at: Date;
  remaining_ms: number;
  next_id?: string | null;
}

/** The columns of a CommandRow. */
export const commandColumns = sql`id, vehicle_id, device_id, action, state, cause, status, reason, expires_at,
  (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as remaining_ms`;
/** True for commands that have not ended. */
export const isActive = sql`state in ('pending', 'sent')`;

function toCommand(row: CommandRow): Command {
  return {
    id: row.id,
    vehicleId: row.vehicle_id,
    deviceId: row.device_id,
    action: row.action,
    state: row.state,
    expiresAt: row.expires_at.getTime() / 1000,
    remainingMs: row.remaining_ms,
    ...(row.cause === null ? {} : { cause: row.cause }),
    ...(row.status === null ? {} : { status: row.status }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(typeof row.next_id === 'string' ? { nextId: row.next_id } : {}),
  };
}

/** Runs a statement that returns rows of commands. */
export async function returnCommands(db: Database, statement: RawBuilder<CommandRow>): Promise<Command[]> {
  return (await statement.execute(db)).rows.map(toCommand);
}

export async function findCommand(db: Database, id: string): Promise<Command | undefined> {
  return (await returnCommands(db, sql`select ${commandColumns} from command where id = ${id}`))[0];
}

/** Finds the command that this caller made with an idempotency key. Each user, and the application itself, has its own keys. */
export async function findCommandByKey(db: Database, caller: Caller, key: string): Promise<Command | undefined> {
  const user = caller.userId === undefined ? sql`user_id is null` : sql`user_id = ${caller.userId}`;
  const found = await returnCommands(
    db,
    sql`select ${commandColumns} from command
      where application_id = ${caller.applicationId} and idempotency_key = ${key} and ${user}`,
  );
  return found[0];
}

/** Tests whether a pending command is the next of its vehicle. */
export async function isNext(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from command own where id = ${id} and state = 'pending' and not exists (
      select 1 from command other where other.vehicle_id = own.vehicle_id and other.id <> own.id
        and (other.state = 'sent' or (other.state = 'pending' and other.position < own.position)))`.execute(db);
  return rows.length > 0;
}

/**
 * Finds active commands whose deadline lies further ahead than any command may take: the clock of the database was set
 * back after they were inserted.
 * @param maxMs the longest time that a command may take
 */
export async function findBeyondDeadline(db: Database, maxMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from command
    where ${isActive} and expires_at > clock_timestamp() + ${maxMs} * interval '1 millisecond'`.execute(db);
  return rows.map(({ id }) => id);
}

/** A command in the answer of GET /v1/x/commands; times in ISO 8601. */
export interface ListedCommand {
  id: string;
  action: string;
  state: CommandState;
  createdAt: string;
  expiresAt: string;
  sentAt?: string;
  endedAt?: string;
  reason?: string;
  message?: string;
  status?: string;
}

/** Lists the latest commands of a vehicle, newest first. */
export async function listCommands(db: Database, vehicleId: number, limit: number): Promise<ListedCommand[]> {
  const rows = await db
    .selectFrom('command')
    .select(['id', 'action', 'state', 'created_at', 'expires_at', 'sent_at', 'ended_at', 'cause', 'reason', 'status'])
    .where('vehicle_id', '=', vehicleId)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    action: row.action,
    state: row.state,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    ...(row.sent_at === null ? {} : { sentAt: row.sent_at.toISOString() }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at.toISOString() }),
    ...(row.cause === null ? {} : { reason: row.cause }),
    ...(row.reason === null ? {} : { message: row.reason }),
    ...(row.status === null ? {} : { status: row.status }),
  }));
}

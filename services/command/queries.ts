import type { Caller } from '@odograph/contracts/caller';
import type { AcknowledgementMessage, CommandState, DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import { actorOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { sqlState } from '@odograph/database/postgres-failure';
import { accessibleTo, parseVehicleId, requirePermission, type VehicleAct } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { audited, byPlatform } from './audited.ts';
import type { LastReported, Outcome, Target } from './rules.ts';

interface TargetRow {
  id: number;
  archived: boolean;
  permitted: boolean;
  device_id: string | null;
  actions: string[] | null;
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
 * The vehicle, the device that is linked to it now, and what it last reported of its driving; one statement.
 * @throws Failure UNKNOWN_VEHICLE if it is missing, deleted or hidden from the caller; UNAUTHORIZED if the role of the
 * caller does not permit the act
 */
export async function findTarget(db: Database, caller: Caller, id: string, act: VehicleAct): Promise<Target> {
  const number = parseVehicleId(id);
  if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
  const { rows } = await sql<TargetRow>`
    select vehicle.id, vehicle.archived_at is not null as archived, ${accessibleTo(caller, act)} as permitted,
      device.id as device_id, model.actions,
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
  return {
    vehicleId: row.id,
    archived: row.archived,
    reported: toReported(row),
    ...(deviceId === null ? {} : { device: { id: deviceId, actions: actions ?? [] } }),
  };
}

/** A command as its row says. */
export interface Command extends Outcome {
  readonly id: string;
  readonly vehicleId: number;
  readonly deviceId: string;
  readonly action: string;
  /** UNIX seconds. */
  readonly expiresAt: number;
  /** By the database's clock; negative when the time is over. */
  readonly remainingMs: number;
  /** The command whose turn comes with the end of this one, where that is known. */
  readonly nextId?: string;
}

interface CommandRow {
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

const columns = sql`id, vehicle_id, device_id, action, state, cause, status, reason, expires_at,
  (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as remaining_ms`;
const nextId = sql`(select next.id from command next where next.vehicle_id = command.vehicle_id
  and next.state = 'pending' and next.id <> command.id order by next.position limit 1) as next_id`;
const active = sql`state in ('pending', 'sent')`;

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

async function commands(db: Database, statement: RawBuilder<CommandRow>): Promise<Command[]> {
  return (await statement.execute(db)).rows.map(toCommand);
}

export async function findCommand(db: Database, id: string): Promise<Command | undefined> {
  return (await commands(db, sql`select ${columns} from command where id = ${id}`))[0];
}

/** The command that this caller gave this key; the keys of other users and of the application are not looked at. */
export async function findCommandByKey(db: Database, caller: Caller, key: string): Promise<Command | undefined> {
  const user = caller.userId === undefined ? sql`user_id is null` : sql`user_id = ${caller.userId}`;
  const found = await commands(
    db,
    sql`select ${columns} from command
      where application_id = ${caller.applicationId} and idempotency_key = ${key} and ${user}`,
  );
  return found[0];
}

export interface NewCommand {
  readonly id: string;
  readonly caller: Caller;
  /** The network address it was asked from. */
  readonly address: string;
  readonly vehicleId: number;
  readonly deviceId: string;
  readonly action: DeviceAction;
  readonly idempotencyKey: string | undefined;
  readonly remainingMs: number;
}

/** True while the device sits in the vehicle and the vehicle may be acted on. */
const reachable = (vehicleId: RawBuilder<unknown>, deviceId: RawBuilder<unknown>) => sql`exists (
  select 1 from device_link link join vehicle on vehicle.id = link.vehicle_id
  where link.device_id = ${deviceId} and link.vehicle_id = ${vehicleId} and link.period @> clock_timestamp()
    and vehicle.archived_at is null and vehicle.deleted_at is null)`;

const insertion = (command: NewCommand, state: RawBuilder<unknown>, condition: RawBuilder<unknown>) =>
  audited<CommandRow>(
    sql`insert into command
    (id, application_id, user_id, vehicle_id, device_id, action, idempotency_key, expires_at, state, sent_at)
  select ${command.id}::uuid, ${command.caller.applicationId}::integer, ${command.caller.userId ?? null}::uuid,
    ${command.vehicleId}::integer, ${command.deviceId}::text, ${command.action}::text,
    ${command.idempotencyKey ?? null}::text,
    clock_timestamp() + ${command.remainingMs}::float8 * interval '1 millisecond',
    turn.state, case turn.state when 'sent' then clock_timestamp() end
  from (select ${state} as state) turn
  where ${condition}
  on conflict do nothing`,
    { actor: actorOf(command.caller), address: command.address, outcome: 'requested' },
    columns,
  );

/**
 * Makes the command: `sent` at once when its vehicle has nothing to wait for, else `pending`. One statement but for a
 * race with another command of the vehicle.
 * @returns undefined when the caller's idempotency key is taken
 */
export async function insertCommand(db: Database, command: NewCommand): Promise<Command | undefined> {
  const vehicleId = sql`${command.vehicleId}::integer`;
  const busy = sql`exists (select 1 from command where vehicle_id = ${vehicleId} and ${active})`;
  const state = sql`case when ${busy} then 'pending' else 'sent' end`;
  const inserted = await commands(db, insertion(command, state, reachable(vehicleId, sql`${command.deviceId}::text`)));
  if (inserted[0]) return inserted[0];
  // The key is taken, another command went first, or the device left the vehicle: what waits its turn meets them all.
  return (await commands(db, insertion(command, sql`'pending'`, sql`true`)))[0];
}

/** Whether nothing of the vehicle comes before this pending command. */
export async function isNext(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from command own where id = ${id} and state = 'pending' and not exists (
      select 1 from command other where other.vehicle_id = own.vehicle_id and other.id <> own.id
        and (other.state = 'sent' or (other.state = 'pending' and other.position < own.position)))`.execute(db);
  return rows.length > 0;
}

/** pending -> sent, if it is the command's turn, its time is not over and its device still sits in the vehicle. */
export async function markSent(db: Database, id: string): Promise<Command | undefined> {
  try {
    const sent = await commands(
      db,
      sql`update command set state = 'sent', sent_at = clock_timestamp()
        where id = ${id} and state = 'pending' and expires_at > clock_timestamp()
          and not exists (select 1 from command other where other.vehicle_id = command.vehicle_id
            and other.state in ('pending', 'sent') and other.position < command.position)
          and ${reachable(sql`command.vehicle_id`, sql`command.device_id`)}
        returning ${columns}`,
    );
    return sent[0];
  } catch (error) {
    // unique_violation: another command of the vehicle is under way.
    if (sqlState(error) === '23505') return undefined;
    throw error;
  }
}

const ending = (cause: string | undefined, condition: RawBuilder<unknown>, returned: RawBuilder<unknown>) =>
  audited<CommandRow>(
    sql`update command set ended_at = clock_timestamp(),
      state = case state when 'sent' then 'unknown' else 'expired' end,
      cause = coalesce(${cause ?? null}::text, case state when 'sent' then 'NO_ACKNOWLEDGEMENT' else 'VEHICLE_BUSY' end)
    where ${active} and ${condition}`,
    byPlatform,
    returned,
  );

/**
 * sent -> unknown, pending -> expired.
 * @param cause in the words of the answer's `reason`; left out for a command whose time is over
 * @returns undefined when it had ended before
 */
export async function endCommand(db: Database, id: string, cause?: string): Promise<Command | undefined> {
  return (await commands(db, ending(cause, sql`id = ${id}`, sql`${columns}, ${nextId}`)))[0];
}

/** Ends the commands whose time is over, of one vehicle or of all. @returns those that it ended */
export async function endOverdueCommands(db: Database, vehicleId?: number): Promise<Command[]> {
  const ofVehicle = vehicleId === undefined ? sql`true` : sql`vehicle_id = ${vehicleId}`;
  return commands(db, ending(undefined, sql`expires_at <= clock_timestamp() and ${ofVehicle}`, columns));
}

/**
 * Commands under way that end later than any command may: the clock of the database was set back since they were made.
 * @param longestMs how long a command may take
 */
export async function findBeyond(db: Database, longestMs: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from command
    where ${active} and expires_at > clock_timestamp() + ${longestMs} * interval '1 millisecond'`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * sent -> acknowledged | refused; a late one turns unknown into what happened.
 * @returns undefined for a repeated one, a foreign device's, or one of no command: nothing changes
 */
export async function acknowledgeCommand(
  db: Database,
  deviceId: string,
  { id, ok, status, reason }: AcknowledgementMessage,
): Promise<Command | undefined> {
  const acknowledged = await commands(
    db,
    audited<CommandRow>(
      sql`update command set state = ${ok ? 'acknowledged' : 'refused'}, cause = ${ok ? null : 'REFUSED'},
          status = ${status ?? null}, reason = ${reason ?? null}, ended_at = clock_timestamp()
        where id = ${id} and device_id = ${deviceId} and state in ('sent', 'unknown')`,
      { actor: `device:${deviceId}`, address: '' },
      sql`${columns}, ${nextId}`,
    ),
  );
  return acknowledged[0];
}

/** A command as GET /v1/x/commands tells it; times in ISO 8601. */
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

/** The latest commands of a vehicle, the newest first. */
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

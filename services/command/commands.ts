import type { Caller } from '@odograph/contracts/caller';
import type { AcknowledgementMessage, CommandState, DeviceAction } from '@odograph/contracts/commands';
import { type AuditExpressions, actorOf, auditCall } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { sqlState } from '@odograph/database/postgres-failure';
import { fleetWithoutStaleSpeed } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import type { Outcome } from './rules.ts';

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

/** The columns of a CommandRow. */
const commandColumns = sql`id, vehicle_id, device_id, action, state, cause, status, reason, expires_at,
  (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as remaining_ms`;
/** True for commands that have not ended. */
const isActive = sql`state in ('pending', 'sent')`;

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
async function returnCommands(db: Database, statement: RawBuilder<CommandRow>): Promise<Command[]> {
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

/** The actor of a change and its network address, for the audit. */
interface CommandOrigin {
  readonly actor: string;
  readonly address: string;
  /** The new state of the command when left out. */
  readonly outcome?: string;
}

const byPlatform: CommandOrigin = { actor: 'platform', address: '' };

const entryOf = ({ actor, address, outcome }: CommandOrigin): AuditExpressions => ({
  actor,
  address,
  chain: sql`command.application_id`,
  action: sql`'command.' || lower(command.action)`,
  subject: sql`'vehicle:' || command.vehicle_id`,
  details: sql`jsonb_strip_nulls(jsonb_build_object('commandId', command.id, 'cause', command.cause))`,
  outcome: outcome ?? sql`command.state`,
});

/**
 * Changes commands and appends the change to the audit, in one statement.
 * @param change an insert into or update of the table command, without a returning clause
 * @param returned columns of the changed rows, whose alias is `command`
 * @param preparation common table expressions that the change uses, each followed by a comma
 */
function audited(
  change: RawBuilder<unknown>,
  origin: CommandOrigin,
  returned: RawBuilder<unknown>,
  preparation: RawBuilder<unknown> = sql``,
): RawBuilder<CommandRow> {
  // Sorted, so that all rows change before the first audit chain is locked, and chains are locked in one order.
  return sql<CommandRow>`with ${preparation} changed as (${change} returning *),
    ordered as materialized (select * from changed order by application_id, position)
    select ${returned}, ${auditCall(entryOf(origin))} as audited from ordered as command`;
}

const nextId = sql`(select next.id from command next where next.vehicle_id = command.vehicle_id
  and next.state = 'pending' and next.id <> command.id order by next.position limit 1) as next_id`;

export interface NewCommand {
  readonly id: string;
  readonly caller: Caller;
  /** Network address of the client. */
  readonly address: string;
  readonly vehicleId: number;
  readonly deviceId: string;
  readonly action: DeviceAction;
  readonly idempotencyKey: string | undefined;
  readonly remainingMs: number;
}

/** True while the device is linked to the vehicle and the vehicle is neither archived nor deleted. */
const reachable = (vehicleId: RawBuilder<unknown>, deviceId: RawBuilder<unknown>) => sql`exists (
  select 1 from device_link link join vehicle on vehicle.id = link.vehicle_id
  where link.device_id = ${deviceId} and link.vehicle_id = ${vehicleId} and link.period @> clock_timestamp()
    and vehicle.archived_at is null and vehicle.deleted_at is null)`;

const insertion = (command: NewCommand, state: RawBuilder<unknown>, condition: RawBuilder<unknown>) =>
  audited(
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
    commandColumns,
  );

/**
 * Inserts a command: `sent` when its vehicle has no active command, else `pending`. Needs a second statement only after a
 * race with another command of the vehicle.
 * @returns undefined when the caller has used the idempotency key before
 */
export async function insertCommand(db: Database, command: NewCommand): Promise<Command | undefined> {
  const vehicleId = sql`${command.vehicleId}::integer`;
  const busy = sql`exists (select 1 from command where vehicle_id = ${vehicleId} and ${isActive})`;
  const state = sql`case when ${busy} then 'pending' else 'sent' end`;
  const inserted = await returnCommands(
    db,
    insertion(command, state, reachable(vehicleId, sql`${command.deviceId}::text`)),
  );
  if (inserted[0]) return inserted[0];
  // The key is taken, another command was first, or the link ended: a pending command handles all three in its turn.
  return (await returnCommands(db, insertion(command, sql`'pending'`, sql`true`)))[0];
}

/** pending -> sent, when it is the command's turn, before its deadline, while its device is still linked to the vehicle. */
export async function markSent(db: Database, id: string): Promise<Command | undefined> {
  try {
    const sent = await returnCommands(
      db,
      sql`update command set state = 'sent', sent_at = clock_timestamp()
        where id = ${id} and state = 'pending' and expires_at > clock_timestamp()
          and not exists (select 1 from command other where other.vehicle_id = command.vehicle_id
            and other.state in ('pending', 'sent') and other.position < command.position)
          and ${reachable(sql`command.vehicle_id`, sql`command.device_id`)}
        returning ${commandColumns}`,
    );
    return sent[0];
  } catch (error) {
    // unique_violation: another command of the vehicle is in flight.
    if (sqlState(error) === '23505') return undefined;
    throw error;
  }
}

const ending = (cause: string | undefined, condition: RawBuilder<unknown>, returned: RawBuilder<unknown>) =>
  audited(
    sql`update command set ended_at = clock_timestamp(),
      state = case state when 'sent' then 'unknown' else 'expired' end,
      cause = coalesce(${cause ?? null}::text, case when state = 'pending' then 'VEHICLE_BUSY'
        when reason is null then 'NO_ACKNOWLEDGEMENT' else 'UNKNOWN_ANSWER' end)
    where ${isActive} and ${condition}`,
    byPlatform,
    returned,
  );

/**
 * sent -> unknown, pending -> expired.
 * @param cause the `reason` of the answer; left out after the deadline
 * @returns undefined when the command had ended before
 */
export async function endCommand(db: Database, id: string, cause?: string): Promise<Command | undefined> {
  return (await returnCommands(db, ending(cause, sql`id = ${id}`, sql`${commandColumns}, ${nextId}`)))[0];
}

/** Ends the commands of one vehicle, or of all, whose deadline has passed. @returns the commands that it ended */
export async function endOverdueCommands(db: Database, vehicleId?: number): Promise<Command[]> {
  const ofVehicle = vehicleId === undefined ? sql`true` : sql`vehicle_id = ${vehicleId}`;
  return returnCommands(db, ending(undefined, sql`expires_at <= clock_timestamp() and ${ofVehicle}`, commandColumns));
}

/**
 * sent | unknown -> acknowledged | refused; a late acknowledgement corrects unknown. An acknowledged command also writes
 * the state that it achieved, with the time of the receipt, in the same statement.
 * @returns undefined for one that is repeated, of another device, or of no command: nothing changes
 */
export async function acknowledgeCommand(
  db: Database,
  deviceId: string,
  acknowledgement: AcknowledgementMessage,
  receivedAtMs: number,
): Promise<Command | undefined> {
  const { id, ok, status, reason } = acknowledgement;
  const acknowledged = await returnCommands(
    db,
    audited(
      // Counting the achieved states locks the latest state before the audit chain, in the order of ingest.
      sql`update command set state = ${ok ? 'acknowledged' : 'refused'}, cause = ${ok ? null : 'REFUSED'},
        status = ${status ?? null}, reason = ${reason ?? null}, ended_at = clock_timestamp()
      where id = ${id} and device_id = ${deviceId} and state in ('sent', 'unknown')
        and (select count(*) from achieved) is not null`,
      { actor: `device:${deviceId}`, address: '' },
      sql`${commandColumns}, ${nextId}`,
      sql`achieved as (${writeAchievedState(deviceId, acknowledgement, receivedAtMs)}),`,
    ),
  );
  return acknowledged[0];
}

/** Stores an answer that the model of the device does not define: the outcome stays unknown. */
export async function recordAnswer(
  db: Database,
  deviceId: string,
  { id, reason = '' }: AcknowledgementMessage,
): Promise<void> {
  await sql`update command set reason = ${reason}, cause = case state when 'unknown' then 'UNKNOWN_ANSWER' end
    where id = ${id} and device_id = ${deviceId} and state in ('sent', 'unknown')`.execute(db);
}

/** The field of the field group `fleet` that an acknowledged action sets. The device may report the opposite status. */
const acknowledgedField = (status: string | undefined) => sql`case command.action
  when 'LOCK' then jsonb_build_object('lock', case ${status ?? ''}::text when 'OPEN' then 'UNLOCKED' else 'LOCKED' end)
  when 'UNLOCK' then jsonb_build_object('lock', case ${status ?? ''}::text when 'CLOSED' then 'LOCKED' else 'UNLOCKED' end)
  when 'IMMOBILIZE' then
    jsonb_build_object('immobilizer', case ${status ?? ''}::text when 'UNLOCKED' then 'UNLOCKED' else 'LOCKED' end)
  when 'START' then
    jsonb_build_object('immobilizer', case ${status ?? ''}::text when 'LOCKED' then 'LOCKED' else 'UNLOCKED' end) end`;

/** SQL on `command`: true if a later command that sets the same field is already acknowledged. */
const isSuperseded = sql`exists (select from command as later
  where later.vehicle_id = command.vehicle_id and later.position > command.position and later.state = 'acknowledged'
    and later.action = any (case when command.action in ('LOCK', 'UNLOCK') then array['LOCK', 'UNLOCK']
      else array['IMMOBILIZE', 'START'] end))`;

/**
 * SQL that writes the `lock` or `immobilizer` that an acknowledged command achieves to the latest state of its vehicle;
 * newer telemetry and later commands win. A refused or ended command changes nothing.
 */
function writeAchievedState(
  deviceId: string,
  { id, ok, status }: AcknowledgementMessage,
  receivedAtMs: number,
): RawBuilder<unknown> {
  const receivedAt = sql`least(clock_timestamp(), to_timestamp(${receivedAtMs}::float8 / 1000))`;
  return sql`update vehicle_latest set
      fleet = case when vehicle_latest.fleet_time > ${receivedAt} then achieved.field || vehicle_latest.fleet
        else coalesce(${fleetWithoutStaleSpeed}, '{}') || achieved.field end,
      fleet_time = greatest(vehicle_latest.fleet_time, ${receivedAt})
    from command cross join lateral (select ${acknowledgedField(status)} as field) as achieved
    where ${ok} and command.id = ${id} and command.device_id = ${deviceId} and command.state in ('sent', 'unknown')
      and vehicle_latest.vehicle_id = command.vehicle_id and achieved.field is not null and not ${isSuperseded}
    returning 1`;
}

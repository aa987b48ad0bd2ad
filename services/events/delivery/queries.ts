import type { EventType } from '@odograph/contracts/events';
import type { Database } from '@odograph/database/database';
import { groupsBelow } from '@odograph/database/vehicle-groups';
import { type EventCursor, formatCursor, parseCursor } from '@odograph/event-list/cursor';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import { type Sealer, webhookSecretContext } from '@odograph/runtime/sealing';
import { type RawBuilder, sql } from 'kysely';

/** Lease of a delivering process; far longer than an attempt. */
export const leaseSeconds = 60;
/** Maximum webhooks claimed at once, so that processes share them. */
const maxWebhooksPerClaim = 100;

/** SQL that is true for secrets that this process can open; while new ENCRYPTION_KEYS roll out, others need another process. */
const isOpenable = ({ keyIds }: Sealer): RawBuilder<boolean> =>
  sql<boolean>`substring(webhook.sealed_secret from 1 for 4) = any(${keyIds}::bytea[])`;

const isDelivered = sql<boolean>`webhook.disabled_at is null and exists (
  select from application where application.id = webhook.application_id and application.deleted_at is null
    and application.moving_since is null)`;

/** Claims webhooks without a current lease. */
export async function claimWebhooks(db: Database, sealer: Sealer, lease: string): Promise<void> {
  await sql`update webhook set lease = ${lease}, leased_until = clock_timestamp() + ${leaseSeconds} * interval '1 second'
    where id in (select id from webhook where ${isDelivered} and ${isOpenable(sealer)}
      and (leased_until is null or leased_until < clock_timestamp()
        -- Made before the clock was set back.
        or leased_until > clock_timestamp() + ${2 * leaseSeconds} * interval '1 second')
      limit ${maxWebhooksPerClaim} for update skip locked)`.execute(db);
}

/** Renews the leases of a process past half their lifetime. @returns the version of each webhook that it delivers to */
export async function renewLeases(db: Database, lease: string): Promise<Map<string, number>> {
  await sql`update webhook set leased_until = clock_timestamp() + ${leaseSeconds} * interval '1 second'
    where lease = ${lease} and leased_until between clock_timestamp()
      and clock_timestamp() + ${leaseSeconds / 2} * interval '1 second'`.execute(db);
  const { rows } = await sql<{ id: string; version: number }>`select id, version from webhook
    where lease = ${lease} and leased_until > clock_timestamp() and ${isDelivered}`.execute(db);
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/** A vehicle, or undefined for the events of no vehicle. */
export type VehicleKey = number | undefined;

/** A vehicle whose next event failed. */
export interface Retry {
  /** Everything of the vehicle before it was delivered or is a dead letter. */
  cursor: EventCursor;
  /** Failures of the next event. */
  failures: number;
  failingSince: Date;
  nextAttemptAt: Date;
}

/** A webhook with the state of its delivery. */
export interface DeliveredWebhook {
  readonly id: string;
  readonly applicationId: number;
  readonly appId: string;
  /** Undefined for a notification. */
  readonly url: string | undefined;
  readonly types: readonly string[];
  /** Undefined for all vehicles. */
  readonly vehicleIds: readonly number[] | undefined;
  /** Only vehicles of this group and its subgroups. */
  readonly groupId: string | undefined;
  readonly sealedSecret: Buffer;
  /** Signs too until the end of a rotation. */
  readonly sealedPreviousSecret: Buffer | undefined;
  readonly previousSecretUntil: Date | undefined;
  readonly version: number;
  readonly cursor: EventCursor;
  readonly cursorSavedAt: Date;
  readonly health: ReceiverHealth;
  readonly retries: ReadonlyMap<VehicleKey, Retry>;
}

/** How a receiver has answered lately. */
export interface ReceiverHealth {
  readonly failingSince: Date | undefined;
  /** Pauses of the whole delivery since the last success. */
  readonly pauses: number;
  readonly pausedUntil: Date | undefined;
  readonly lastError: string | undefined;
  readonly lastSuccessAt: Date | undefined;
}

/** Reads a webhook with its retries; undefined for one that was deleted. */
export async function loadWebhook(db: Database, id: string): Promise<DeliveredWebhook | undefined> {
  const row = await db
    .selectFrom('webhook')
    .innerJoin('application', 'application.id', 'webhook.application_id')
    .selectAll('webhook')
    .select('app_id')
    .where('webhook.id', '=', id)
    .executeTakeFirst();
  if (!row) return undefined;
  const { rows: vehicles } = await sql<{ id: number }>`select vehicle_id as id from webhook_vehicle
    where webhook_id = ${id}`.execute(db);
  return {
    ...{ id, applicationId: row.application_id, appId: row.app_id, url: row.url ?? undefined, types: row.event_types },
    version: row.version,
    groupId: row.group_id ?? undefined,
    vehicleIds: row.all_vehicles ? undefined : vehicles.map((vehicle) => vehicle.id),
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret ?? undefined,
    previousSecretUntil: row.previous_secret_until ?? undefined,
    cursor: parseCursor(row.position),
    cursorSavedAt: row.position_saved_at,
    health: {
      failingSince: row.failing_since ?? undefined,
      pauses: row.pauses,
      pausedUntil: row.paused_until ?? undefined,
      lastError: row.last_error ?? undefined,
      lastSuccessAt: row.last_success_at ?? undefined,
    },
    retries: await loadRetries(db, id),
  };
}

async function loadRetries(db: Database, id: string): Promise<Map<VehicleKey, Retry>> {
  const { rows } = await sql<Omit<Retry, 'cursor'> & { vehicleId: number | null; position: string }>`
    select vehicle_id as "vehicleId", position, failures, failing_since as "failingSince",
      next_attempt_at as "nextAttemptAt" from webhook_retry where webhook_id = ${id}`.execute(db);
  return new Map(
    rows.map(({ vehicleId, position, ...retry }) => [
      vehicleId ?? undefined,
      { ...retry, cursor: parseCursor(position) },
    ]),
  );
}

/** Selects the events of the vehicles that are in a group or its subgroups now. */
export async function selectInGroup(
  db: Database,
  groupId: string,
  events: readonly PlatformEvent[],
): Promise<PlatformEvent[]> {
  const { rows } = await sql<{ id: number }>`select distinct vehicle_id as id from vehicle_group_member
    where vehicle_id = any(${events.flatMap(({ vehicleId }) => vehicleId ?? [])}::integer[])
      and group_id in ${groupsBelow([groupId])}`.execute(db);
  const members = new Set<VehicleKey>(rows.map(({ id }) => id));
  return events.filter(({ vehicleId }) => members.has(vehicleId));
}

/** An attempt, for the log. */
export interface LoggedAttempt {
  readonly at: Date;
  readonly eventId: string;
  readonly type: string;
  readonly vehicleId: VehicleKey;
  readonly attempt: number;
  readonly status: number | undefined;
  readonly durationMs: number;
  readonly error: string | undefined;
}

/** An event that failed for three days. */
export interface DeadLetter {
  readonly eventId: string;
  readonly type: EventType;
  readonly vehicleId: VehicleKey;
  /** Right before the event; its id is the cursor behind it. */
  readonly cursor: EventCursor;
  readonly occurredAt: string;
  readonly failedAt: Date;
  readonly error: string;
}

/** Progress of a delivery since it was last saved. */
export interface Progress {
  readonly cursor: EventCursor;
  readonly health: ReceiverHealth;
  /** The changed ones; undefined for vehicles that have caught up. */
  readonly retries: ReadonlyMap<VehicleKey, Retry | undefined>;
  readonly deadLetters: readonly DeadLetter[];
  readonly attempts: readonly LoggedAttempt[];
  /** The receiver answered 410. */
  readonly isGone: boolean;
  /** Gives the lease up. */
  readonly release: boolean;
}

const attemptColumns = sql.raw('webhook_id, at, event_id, type, vehicle_id, attempt, status, duration_ms, error');

/** Builds SQL of the rows of attempts in the log, without the webhook. */
function attemptRows(attempts: readonly LoggedAttempt[]): RawBuilder<unknown> {
  const column = <Value>(read: (attempt: LoggedAttempt) => Value) => attempts.map(read);
  return sql`unnest(${column(({ at }) => at)}::timestamptz[],
    ${column(({ eventId }) => eventId)}::text[], ${column(({ type }) => type)}::text[],
    ${column(({ vehicleId }) => vehicleId ?? null)}::integer[], ${column(({ attempt }) => attempt)}::integer[],
    ${column(({ status }) => status ?? null)}::smallint[], ${column(({ durationMs }) => durationMs)}::integer[],
    ${column(({ error }) => error ?? null)}::text[])`;
}

/** Adds attempts to the log, in one statement; ignores those of a webhook that was deleted. */
export async function logAttempts(db: Database, webhookId: string, attempts: readonly LoggedAttempt[]): Promise<void> {
  if (attempts.length === 0) return;
  await sql`insert into webhook_attempt (${attemptColumns}) select kept.id, one.*
    from (select id from webhook where id = ${webhookId} for key share) as kept, ${attemptRows(attempts)} as one`.execute(
    db,
  );
}

/**
 * Saves the progress of a delivery in one statement.
 * @returns false if the webhook was changed meanwhile, or another process has its lease: only the log was saved
 */
export async function saveProgress(
  db: Database,
  { id, version, lease }: { id: string; version: number; lease: string },
  { cursor, health, retries, deadLetters, attempts, isGone, release }: Progress,
): Promise<boolean> {
  const caughtUp = [...retries].filter(([, retry]) => !retry).map(([vehicleId = null]) => vehicleId);
  const failing = [...retries].flatMap(([vehicle_id, retry]) => {
    if (!retry) return [];
    const { failures, failingSince, nextAttemptAt } = retry;
    return [{ vehicle_id, position: formatCursor(retry.cursor), failures, failingSince, nextAttemptAt }];
  });
  const letters = deadLetters.map((letter) => ({ ...letter, cursor: formatCursor(letter.cursor) }));
  const { rows } = await sql`
    with saved as (
      update webhook set position = ${formatCursor(cursor)},
        position_saved_at = clock_timestamp(), failing_since = ${health.failingSince ?? null}, pauses = ${health.pauses},
        paused_until = ${health.pausedUntil ?? null}, last_error = ${health.lastError ?? null},
        last_success_at = ${health.lastSuccessAt ?? null},
        disabled_at = case when ${isGone} then clock_timestamp() end, disabled_reason = case when ${isGone} then 'GONE' end,
        lease = case when not ${release} then lease end, leased_until = case when not ${release} then leased_until end
      where id = ${id} and lease = ${lease} and version = ${version} and disabled_at is null returning id),
    caught_up as (
      delete from webhook_retry using saved, unnest(${caughtUp}::integer[]) as vehicle (id)
      where webhook_id = saved.id and vehicle_id is not distinct from vehicle.id),
    failing as (
      insert into webhook_retry (webhook_id, vehicle_id, position, failures, failing_since, next_attempt_at)
      select saved.id, one.* from saved, jsonb_to_recordset(${JSON.stringify(failing)}::jsonb) as one (vehicle_id integer,
        position text, failures integer, "failingSince" timestamptz, "nextAttemptAt" timestamptz)
      on conflict (webhook_id, vehicle_id) do update set position = excluded.position, failures = excluded.failures,
        failing_since = excluded.failing_since, next_attempt_at = excluded.next_attempt_at),
    dead as (
      insert into webhook_dead_letter
        (webhook_id, event_id, type, vehicle_id, position, position_behind, occurred_at, failed_at, error)
      select saved.id, "eventId", type, "vehicleId", cursor, "eventId", "occurredAt", "failedAt", error
      from saved, jsonb_to_recordset(${JSON.stringify(letters)}::jsonb) as one ("eventId" text, type text,
        "vehicleId" integer, cursor text, "occurredAt" timestamptz, "failedAt" timestamptz, error text)
      on conflict do nothing),
    logged as (insert into webhook_attempt (${attemptColumns}) select saved.id, one.* from saved, ${attemptRows(attempts)} as one)
    select id from saved`.execute(db);
  const isLeased = rows.length > 0;
  if (!isLeased) await logAttempts(db, id, attempts);
  return isLeased;
}

export async function countDeadLetters(db: Database, webhookId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from webhook_dead_letter
    where webhook_id = ${webhookId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A dead letter to be sent again. */
export interface RequestedReplay {
  readonly eventId: string;
  readonly type: EventType;
}

/** Finds the dead letters to be sent again, in the order of the requests. */
export async function findRequestedReplays(db: Database, webhookId: string): Promise<RequestedReplay[]> {
  const { rows } = await sql<RequestedReplay>`select event_id as "eventId", type
    from webhook_dead_letter where webhook_id = ${webhookId} and replay_requested_at is not null
    order by replay_requested_at, occurred_at, event_id`.execute(db);
  return rows;
}

/** Removes a dead letter that was sent or whose event was deleted; keeps one that failed again with its new error. */
export async function finishReplay(
  db: Database,
  webhookId: string,
  eventId: string,
  error: string | undefined,
): Promise<void> {
  if (error === undefined) {
    await sql`delete from webhook_dead_letter where webhook_id = ${webhookId} and event_id = ${eventId}`.execute(db);
  } else {
    await sql`update webhook_dead_letter set replay_requested_at = null, error = ${error}
      where webhook_id = ${webhookId} and event_id = ${eventId}`.execute(db);
  }
}

const logDays = 3;

/** Deletes attempts of more than three days ago from the log. */
export async function deleteOldAttempts(db: Database): Promise<void> {
  await sql`delete from webhook_attempt where at < now() - make_interval(days => ${logDays})`.execute(db);
}

/** Seals secrets under the newest of ENCRYPTION_KEYS. */
export async function resealSecrets(db: Database, sealer: Sealer): Promise<void> {
  const { rows } = await sql<{ id: string; sealed: Buffer }>`select id, sealed_secret as sealed from webhook
    where ${isOpenable(sealer)}`.execute(db);
  for (const { id, sealed } of rows.filter((row) => !sealer.isCurrent(row.sealed))) {
    const current = sealer.seal(sealer.open(sealed, webhookSecretContext(id)), webhookSecretContext(id));
    await sql`update webhook set sealed_secret = ${current} where id = ${id} and sealed_secret = ${sealed}`.execute(db);
  }
}

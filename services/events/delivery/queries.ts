import type { EventType } from '@odograph/contracts/events';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type EventCursor, formatCursor, parseCursor } from '@odograph/event-list/cursor';
import type { Sealer } from '@odograph/runtime/sealing';
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** Lease of a delivering process. An attempt ends well before a lease that is no longer renewed. */
export const leaseSeconds = 60;
/** Most webhooks that a process takes over at once, so that several share them. */
const webhooksPerClaim = 100;

/** SQL that is true for secrets that this process can open; while new ENCRYPTION_KEYS roll out, others need another process. */
const isOpenable = ({ keyIds }: Sealer): RawBuilder<boolean> =>
  sql<boolean>`substring(webhook.sealed_secret from 1 for 4) = any(${keyIds}::bytea[])`;

const isDelivered = sql<boolean>`webhook.disabled_at is null and exists (
  select from application where application.id = webhook.application_id and application.deleted_at is null)`;

/** Takes over webhooks that no process delivers to. @returns their ids */
export async function claimWebhooks(db: Database, sealer: Sealer, lease: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update webhook set lease = ${lease}, leased_until = clock_timestamp() + ${leaseSeconds} * interval '1 second'
    where id in (select id from webhook where ${isDelivered} and ${isOpenable(sealer)}
      and (leased_until is null or leased_until < clock_timestamp()
        -- A longer lease was made before the clock was set back.
        or leased_until > clock_timestamp() + ${2 * leaseSeconds} * interval '1 second')
      limit ${webhooksPerClaim} for update skip locked)
    returning id`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Renews the leases of a process that half of their time has passed of.
 * @returns the version of each webhook that it still delivers to
 */
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

/** A vehicle whose next event was not delivered. */
export interface Retry {
  /** Everything of the vehicle up to here was delivered or given up. */
  position: EventCursor;
  /** Failures of the next event. */
  failures: number;
  failingSince: Date;
  nextAttemptAt: Date;
}

/** A webhook as its delivery needs it. */
export interface DeliveredWebhook {
  readonly id: string;
  readonly applicationId: number;
  readonly appId: string;
  readonly url: string;
  readonly types: readonly string[];
  /** Undefined for all vehicles. */
  readonly vehicleIds: readonly number[] | undefined;
  readonly sealedSecret: Buffer;
  /** Signs too until the end of a rotation. */
  readonly sealedPreviousSecret: Buffer | undefined;
  readonly previousSecretUntil: Date | undefined;
  readonly version: number;
  readonly position: EventCursor;
  readonly positionSavedAt: Date;
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

/** Reads a webhook with what waits; undefined for one that was deleted. */
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
    ...{
      id,
      applicationId: row.application_id,
      appId: row.app_id,
      url: row.url,
      types: row.event_types,
      version: row.version,
    },
    vehicleIds: row.all_vehicles ? undefined : vehicles.map((vehicle) => vehicle.id),
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret ?? undefined,
    previousSecretUntil: row.previous_secret_until ?? undefined,
    position: parseCursor(row.position),
    positionSavedAt: row.position_saved_at,
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
  const { rows } = await sql<Omit<Retry, 'position'> & { vehicleId: number | null; position: string }>`
    select vehicle_id as "vehicleId", position, failures, failing_since as "failingSince",
      next_attempt_at as "nextAttemptAt" from webhook_retry where webhook_id = ${id}`.execute(db);
  return new Map(
    rows.map(({ vehicleId, position, ...retry }) => [
      vehicleId ?? undefined,
      { ...retry, position: parseCursor(position) },
    ]),
  );
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

/** An event that was given up. */
export interface GivenUpEvent {
  readonly eventId: string;
  readonly type: EventType;
  readonly vehicleId: VehicleKey;
  /** Positions right before and right behind the event. */
  readonly position: EventCursor;
  readonly positionBehind: EventCursor;
  readonly occurredAt: string;
  readonly failedAt: Date;
  readonly error: string;
}

/** What a delivery has done since it was last saved. */
export interface Progress {
  readonly position: EventCursor;
  readonly health: ReceiverHealth;
  /** The changed ones; undefined for those that have caught up. */
  readonly retries: ReadonlyMap<VehicleKey, Retry | undefined>;
  readonly givenUp: readonly GivenUpEvent[];
  readonly attempts: readonly LoggedAttempt[];
  /** The receiver answered 410. */
  readonly isGone: boolean;
  /** Lets another process take the webhook over. */
  readonly release: boolean;
}

/** Adds attempts to the log, in one statement. */
export async function logAttempts(db: Database, webhookId: string, attempts: readonly LoggedAttempt[]): Promise<void> {
  if (attempts.length === 0) return;
  const column = <Value>(read: (attempt: LoggedAttempt) => Value) => attempts.map(read);
  await sql`insert into webhook_attempt
      (webhook_id, at, event_id, type, vehicle_id, attempt, status, duration_ms, error)
    select ${webhookId}, * from unnest(${column(({ at }) => at)}::timestamptz[],
      ${column(({ eventId }) => eventId)}::text[], ${column(({ type }) => type)}::text[],
      ${column(({ vehicleId }) => vehicleId ?? null)}::integer[], ${column(({ attempt }) => attempt)}::integer[],
      ${column(({ status }) => status ?? null)}::smallint[], ${column(({ durationMs }) => durationMs)}::integer[],
      ${column(({ error }) => error ?? null)}::text[])`.execute(db);
}

async function saveRetries(db: Database, webhookId: string, retries: Progress['retries']): Promise<void> {
  for (const [vehicleId = null, retry] of retries) {
    if (retry === undefined) {
      await sql`delete from webhook_retry where webhook_id = ${webhookId}
        and vehicle_id is not distinct from ${vehicleId}::integer`.execute(db);
      continue;
    }
    const { position, failures, failingSince, nextAttemptAt } = retry;
    await sql`insert into webhook_retry (webhook_id, vehicle_id, position, failures, failing_since, next_attempt_at)
      values (${webhookId}, ${vehicleId}, ${formatCursor(position)}, ${failures}, ${failingSince}, ${nextAttemptAt})
      on conflict (webhook_id, vehicle_id) do update set position = excluded.position, failures = excluded.failures,
        failing_since = excluded.failing_since, next_attempt_at = excluded.next_attempt_at`.execute(db);
  }
}

async function saveGivenUp(db: Database, webhookId: string, events: readonly GivenUpEvent[]): Promise<void> {
  for (const { eventId, type, vehicleId = null, position, positionBehind, ...event } of events) {
    const { occurredAt, failedAt, error } = event;
    await sql`insert into webhook_dead_letter
        (webhook_id, event_id, type, vehicle_id, position, position_behind, occurred_at, failed_at, error)
      values (${webhookId}, ${eventId}, ${type}, ${vehicleId}, ${formatCursor(position)}, ${formatCursor(positionBehind)},
        ${occurredAt}, ${failedAt}, ${error})
      on conflict do nothing`.execute(db);
  }
}

/**
 * Saves what a delivery has done, at once.
 * @returns false if the webhook was changed meanwhile, or belongs to another process: nothing but the log was saved
 */
export async function saveProgress(
  db: Kysely<Tables>,
  { id, version, lease }: { id: string; version: number; lease: string },
  { position, health, retries, givenUp, attempts, isGone, release }: Progress,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`update webhook set position = ${formatCursor(position)},
        position_saved_at = clock_timestamp(), failing_since = ${health.failingSince ?? null}, pauses = ${health.pauses},
        paused_until = ${health.pausedUntil ?? null}, last_error = ${health.lastError ?? null},
        last_success_at = ${health.lastSuccessAt ?? null},
        disabled_at = case when ${isGone} then clock_timestamp() end, disabled_reason = case when ${isGone} then 'GONE' end,
        lease = case when not ${release} then lease end, leased_until = case when not ${release} then leased_until end
      where id = ${id} and lease = ${lease} and version = ${version} and disabled_at is null`.execute(trx);
    const isOurs = numAffectedRows === 1n;
    if (isOurs) {
      await saveRetries(trx, id, retries);
      await saveGivenUp(trx, id, givenUp);
    }
    const { rows } = await sql`select id from webhook where id = ${id} for key share`.execute(trx);
    if (rows.length > 0) await logAttempts(trx, id, attempts);
    return isOurs;
  });
}

/** Counts the dead letters of a webhook. */
export async function countDeadLetters(db: Database, webhookId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from webhook_dead_letter
    where webhook_id = ${webhookId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A dead letter that is to be sent again. */
export interface RequestedReplay {
  readonly eventId: string;
  readonly type: EventType;
  readonly vehicleId: number | null;
  readonly position: string;
}

/** Finds the dead letters that are to be sent again, in the order of the requests. */
export async function findRequestedReplays(db: Database, webhookId: string): Promise<RequestedReplay[]> {
  const { rows } = await sql<RequestedReplay>`select event_id as "eventId", type, vehicle_id as "vehicleId", position
    from webhook_dead_letter where webhook_id = ${webhookId} and replay_requested_at is not null
    order by replay_requested_at, occurred_at, event_id`.execute(db);
  return rows;
}

/** Removes a dead letter that was sent or no longer exists, or keeps it with its new error. */
export async function endReplay(
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
export async function resealSecrets(
  db: Database,
  sealer: Sealer,
  contextOf: (webhookId: string) => string,
): Promise<void> {
  const { rows } = await sql<{ id: string; sealed: Buffer }>`select id, sealed_secret as sealed from webhook
    where ${isOpenable(sealer)}`.execute(db);
  for (const { id, sealed } of rows.filter((row) => !sealer.isCurrent(row.sealed))) {
    const current = sealer.seal(sealer.open(sealed, contextOf(id)), contextOf(id));
    await sql`update webhook set sealed_secret = ${current} where id = ${id} and sealed_secret = ${sealed}`.execute(db);
  }
}

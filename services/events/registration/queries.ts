import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { type EventCursor, formatCursor, isBefore, parseCursor } from '@odograph/event-list/cursor';
import type { NextPage } from '@odograph/http/paging';
import { type Sealer, webhookSecretContext } from '@odograph/runtime/sealing';
import { type RawBuilder, sql } from 'kysely';
import { leaseSeconds } from '../delivery/queries.ts';
import { createWebhookSecret } from '../delivery/receiver.ts';
import { type DeadLetterCursor, maxWebhooks, requireId, rotationHours } from './rules.ts';
import type { DeadLetter, DeliveriesQuery, Delivery, Webhook } from './schemas.ts';

/** Settings of a webhook. */
export interface WebhookFields {
  /** Null for a notification. */
  readonly url: string | null;
  readonly types: readonly string[];
  /** Undefined for all vehicles. */
  readonly vehicleIds: readonly number[] | undefined;
  /** Only vehicles of this group and its subgroups. */
  readonly groupId?: string | undefined;
}

async function firstRow<Row>(db: Database, statement: RawBuilder<Row>): Promise<Row | undefined> {
  return (await statement.execute(db)).rows[0];
}

/** @throws Failure UNKNOWN_VEHICLE unless all of them are vehicles of the application */
async function setVehicles(db: Database, applicationId: number, id: string, vehicleIds: readonly number[] = []) {
  const listed = [...new Set(vehicleIds)];
  await sql`delete from webhook_vehicle where webhook_id = ${id}`.execute(db);
  const { numAffectedRows = 0n } = await sql`insert into webhook_vehicle (webhook_id, vehicle_id)
    select ${id}, id from vehicle
    where id = any(${listed}::integer[]) and application_id = ${applicationId} and deleted_at is null`.execute(db);
  if (Number(numAffectedRows) < listed.length) throw new Failure('UNKNOWN_VEHICLE');
}

/** @throws Failure INVALID_PARAMETER unless it is a group of the application */
async function setGroup(db: Database, applicationId: number, id: string, groupId: string | undefined): Promise<void> {
  const row = await firstRow(
    db,
    sql`update webhook set group_id = ${groupId ?? null}::uuid where id = ${id} and (${groupId === undefined}
      or exists (select from vehicle_group where id = ${groupId ?? null}::uuid and application_id = ${applicationId}))
      returning id`,
  );
  if (!row) throw invalidParameter('groupId', 'must be a group of the application');
}

/**
 * Creates a webhook whose first event is the first one after `position`.
 * @param lease of this process, which delivers to it
 * @param secret to be sealed: the signing secret of a webhook, or the channel settings of a notification
 * @throws Failure TOO_MANY, UNKNOWN_VEHICLE, INVALID_PARAMETER for a group of another application
 */
export async function createWebhook(
  db: Database,
  sealer: Sealer,
  applicationId: number,
  given: WebhookFields & { readonly position: string; readonly lease: string },
  secret = createWebhookSecret(),
): Promise<{ id: string; secret: string }> {
  const { url, types, vehicleIds, position, lease } = given;
  // Two creations at the same time must not pass the limit together.
  await sql`select from application where id = ${applicationId} for no key update`.execute(db);
  const row = await firstRow(
    db,
    sql<{ id: string }>`with chosen as (select gen_random_uuid() as id)
      insert into webhook (id, application_id, url, event_types, all_vehicles, sealed_secret, position,
        lease, leased_until)
      select id, ${applicationId}, ${url}, ${[...types]}::text[], ${vehicleIds === undefined}::boolean, '', ${position},
        ${lease}::uuid, clock_timestamp() + ${leaseSeconds} * interval '1 second'
      from chosen where (select count(*) from webhook
          where application_id = ${applicationId} and (url is null) = ${url === null}) < ${maxWebhooks}
      returning id`,
  );
  if (!row)
    throw new Failure('TOO_MANY', `an application has at most ${maxWebhooks} webhooks and as many notifications`);
  const sealed = sealer.seal(Buffer.from(secret), webhookSecretContext(row.id));
  await sql`update webhook set sealed_secret = ${sealed} where id = ${row.id}`.execute(db);
  await setVehicles(db, applicationId, row.id, vehicleIds);
  await setGroup(db, applicationId, row.id, given.groupId);
  return { id: row.id, secret };
}

/** Locks a webhook or notification for a change. @throws Failure NOT_FOUND, also if it belongs to another application */
export async function lockWebhook(
  db: Database,
  applicationId: number,
  id: string,
  resource: 'webhook' | 'notification' = 'webhook',
): Promise<void> {
  const row = await firstRow(
    db,
    sql`select id from webhook where id = ${requireId(id, resource)} and application_id = ${applicationId}
      and (url is null) = ${resource === 'notification'} for update`,
  );
  if (!row) throw new Failure('NOT_FOUND', `no such ${resource}`);
}

/**
 * Changes a locked webhook; with another URL, or enabled again, its delivery starts without a pause.
 * @throws Failure UNKNOWN_VEHICLE, INVALID_PARAMETER for a group of another application
 */
export async function changeWebhook(
  db: Database,
  applicationId: number,
  id: string,
  { url, types, vehicleIds, groupId, enabled }: WebhookFields & { readonly enabled: boolean },
): Promise<void> {
  await setVehicles(db, applicationId, id, vehicleIds);
  await setGroup(db, applicationId, id, groupId);
  const disabled = enabled
    ? sql`disabled_at = null, disabled_reason = null`
    : sql`disabled_at = coalesce(disabled_at, clock_timestamp()), disabled_reason = coalesce(disabled_reason, 'REQUESTED')`;
  await sql`update webhook set url = ${url}, event_types = ${[...types]}::text[],
    all_vehicles = ${vehicleIds === undefined}, ${disabled} where id = ${id}`.execute(db);
  await restartDelivery(db, id);
  // Keep those of notifications: they include escalated alarms of vehicles that the notification does not select.
  await sql`delete from webhook_retry where webhook_id = ${id} and ${url !== null && vehicleIds !== undefined}
    and coalesce(vehicle_id, 0) <> all(${[...(vehicleIds ?? [])]}::integer[])`.execute(db);
}

/** Makes the process that delivers to a locked webhook reload it, and resets the back-off. */
export async function restartDelivery(db: Database, id: string): Promise<void> {
  await sql`update webhook set version = version + 1, failing_since = null, pauses = 0, paused_until = null,
    last_error = null where id = ${id}`.execute(db);
  await sql`update webhook_retry set failures = 0, failing_since = clock_timestamp(), next_attempt_at = clock_timestamp()
    where webhook_id = ${id}`.execute(db);
}

/** Deletes a locked webhook with its log. */
export async function deleteWebhook(db: Database, id: string): Promise<void> {
  await sql`delete from webhook where id = ${id}`.execute(db);
}

/** Replaces the secret of a locked webhook; both sign for a day. @returns the new secret */
export async function rotateSecret(db: Database, sealer: Sealer, id: string): Promise<string> {
  const secret = createWebhookSecret();
  const sealed = sealer.seal(Buffer.from(secret), webhookSecretContext(id));
  await sql`update webhook set sealed_previous_secret = sealed_secret, sealed_secret = ${sealed},
      previous_secret_until = clock_timestamp() + ${rotationHours} * interval '1 hour', version = version + 1
    where id = ${id}`.execute(db);
  return secret;
}

interface WebhookRow extends Omit<Webhook, 'state' | 'disabledReason'> {
  readonly disabledReason?: 'GONE' | 'REQUESTED';
}

/** Lists the webhooks of an application by their identifiers, or the one with `id`; deleted vehicles are left out. */
export async function listWebhooks(db: Database, applicationId: number, id?: string): Promise<Webhook[]> {
  const { rows } = await sql<{ one: WebhookRow }>`
    select jsonb_strip_nulls(jsonb_build_object('id', webhook.id, 'url', url, 'types', event_types,
      'vehicleIds', case when not all_vehicles then (select coalesce(jsonb_agg(vehicle_id::text order by vehicle_id), '[]')
        from webhook_vehicle join vehicle on vehicle.id = vehicle_id
        where webhook_id = webhook.id and vehicle.deleted_at is null) end,
      'groupId', group_id, 'disabledReason', disabled_reason,
      'createdAt', ${isoTime('created_at')}, 'lastSuccessAt', ${isoTime('last_success_at')},
      'failingSince', ${isoTime('failing_since')},
      'nextAttemptAt', case when paused_until > clock_timestamp() then ${isoTime('paused_until')} end,
      'lastError', last_error,
      'previousSecretUntil', case when previous_secret_until > clock_timestamp() then ${isoTime('previous_secret_until')} end,
      'waitingVehicles', (select count(*) from webhook_retry where webhook_id = webhook.id),
      'deadLetters', (select count(*) from webhook_dead_letter where webhook_id = webhook.id))) as one
    from webhook where application_id = ${applicationId} and url is not null and (${id === undefined} or webhook.id = ${id ?? null}::uuid)
    order by webhook.id`.execute(db);
  return rows.map(({ one }) => ({ ...one, state: stateOf(one) }));
}

const stateOf = ({ disabledReason, failingSince }: WebhookRow): Webhook['state'] => {
  if (disabledReason !== undefined) return 'disabled';
  return failingSince === undefined ? 'active' : 'failing';
};

/** Finds a webhook. @throws Failure NOT_FOUND, also for one of another application */
export async function findWebhook(db: Database, applicationId: number, id: string): Promise<Webhook> {
  const [webhook] = await listWebhooks(db, applicationId, requireId(id));
  if (!webhook) throw new Failure('NOT_FOUND', 'no such webhook');
  return webhook;
}

/** Reads a page of attempts as JSON, newest first, and the next page. @param path of the list */
export async function pageOfDeliveries(
  db: Database,
  path: string,
  id: string,
  query: DeliveriesQuery,
): Promise<{ body: string; next: NextPage | undefined }> {
  const found = await listDeliveries(db, id, query, query.limit + 1);
  const deliveries = found.slice(0, query.limit);
  const last = found.length > query.limit ? deliveries.at(-1) : undefined;
  const given = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const next = last && { path, parameters: { ...given, after: last.id } };
  return { body: JSON.stringify({ deliveries }), next };
}

/** Lists attempts, the newest first. */
async function listDeliveries(
  db: Database,
  id: string,
  { eventId, failed, after }: DeliveriesQuery,
  limit: number,
): Promise<Delivery[]> {
  const filters = [sql<boolean>`webhook_id = ${id}`];
  if (eventId !== undefined) filters.push(sql<boolean>`event_id = ${eventId}`);
  if (failed !== undefined) filters.push(sql<boolean>`(error is not null) = ${failed}`);
  if (after !== undefined) filters.push(sql<boolean>`id < ${after}::bigint`);
  const { rows } = await sql<{ one: Delivery }>`
    select jsonb_strip_nulls(jsonb_build_object('id', id::text, 'time', ${isoTime('at')}, 'eventId', event_id,
      'type', type, 'vehicleId', vehicle_id::text, 'attempt', attempt, 'status', status, 'durationMs', duration_ms,
      'error', error)) as one
    from webhook_attempt where ${sql.join(filters, sql` and `)} order by id desc limit ${limit}`.execute(db);
  return rows.map(({ one }) => one);
}

/** Lists dead letters, the latest failure first. */
export async function listDeadLetters(
  db: Database,
  id: string,
  after: DeadLetterCursor | undefined,
  limit: number,
): Promise<DeadLetter[]> {
  const isBehind = after
    ? sql<boolean>`(failed_at, event_id) < (${after.failedAt}::timestamptz, ${after.eventId})`
    : sql<boolean>`true`;
  const { rows } = await sql<{ one: DeadLetter }>`
    select jsonb_strip_nulls(jsonb_build_object('eventId', event_id, 'type', type, 'vehicleId', vehicle_id::text,
      'time', ${isoTime('occurred_at')}, 'failedAt', ${isoTime('failed_at')}, 'error', error)) as one
    from webhook_dead_letter where webhook_id = ${id} and ${isBehind}
    order by failed_at desc, event_id desc limit ${limit}`.execute(db);
  return rows.map(({ one }) => one);
}

/** Requests that dead letters of a locked webhook are sent again. @returns how many of them there are */
export async function replayDeadLetters(db: Database, id: string, eventIds: readonly string[]): Promise<number> {
  const { numAffectedRows = 0n } = await sql`update webhook_dead_letter set replay_requested_at = clock_timestamp()
    where webhook_id = ${id} and event_id = any(${[...eventIds]}::text[])`.execute(db);
  await sql`update webhook set version = version + 1 where id = ${id}`.execute(db);
  return Number(numAffectedRows);
}

/**
 * Moves a locked webhook back in the list of events; retries and dead letters behind the cursor are sent again with the rest. A
 * webhook before the cursor stays where it is.
 */
export async function rewindWebhook(db: Database, id: string, to: EventCursor): Promise<void> {
  const { rows: places } = await sql<{ position: string; vehicleId: number | null }>`
    select position, null::integer as "vehicleId" from webhook where id = ${id}
    union all select position, vehicle_id from webhook_retry where webhook_id = ${id}`.execute(db);
  const [own, ...waiting] = places.map(({ position, vehicleId }) => ({ vehicleId, position: parseCursor(position) }));
  const isLater = (one: EventCursor | undefined) => one?.epoch !== to.epoch || isBefore(to, one);
  await sql`update webhook set version = version + 1, pauses = 0, paused_until = null,
      position = case when ${isLater(own?.position)} then ${formatCursor(to)} else position end where id = ${id}`.execute(
    db,
  );
  for (const { vehicleId } of waiting.filter(({ position }) => isLater(position))) {
    await sql`delete from webhook_retry where webhook_id = ${id} and vehicle_id is not distinct from ${vehicleId}`.execute(
      db,
    );
  }
  const { rows: dead } = await sql<{ eventId: string; position: string }>`
    select event_id as "eventId", position_behind as position from webhook_dead_letter where webhook_id = ${id}`.execute(
    db,
  );
  const again = dead.filter(({ position }) => isLater(parseCursor(position))).map(({ eventId }) => eventId);
  await sql`delete from webhook_dead_letter where webhook_id = ${id} and event_id = any(${again}::text[])`.execute(db);
}

import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { requireTimeZone } from '@odograph/database/time-zone';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import { type Sealer, webhookSecretContext } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import { deadLetterAfterMs } from '../delivery/health.ts';
import type { DeliveredWebhook } from '../delivery/queries.ts';
import * as webhooks from '../registration/queries.ts';
import { requireId } from '../registration/rules.ts';
import type { ChannelSettings } from './channels.ts';
import type { ToldEvent } from './messages.ts';
import type { Channel } from './rules.ts';
import type { ChannelName, NewNotification, Notification } from './schemas.ts';

/** The rules of a notification and its recent activity. */
export interface Rules {
  readonly language: string;
  readonly timeZone: string;
  readonly maxPerHour: number;
  /** Whether its alarms escalate to another notification. */
  readonly escalates: boolean;
  /** Send times of the messages of the last hour, without tests. */
  readonly sentAt: readonly Date[];
  /** Whether events are held for a digest. */
  readonly isHolding: boolean;
}

/** Reads the rules and recent activity of a notification. */
export async function loadRules(db: Database, id: string, now: Date): Promise<Rules> {
  const { rows } = await sql<Rules>`select notification.language, notification.max_per_hour as "maxPerHour",
      escalates_to is not null as escalates,
      coalesce(notification.time_zone, application.time_zone) as "timeZone",
      exists (select from notification_held where notification_id = ${id}) as "isHolding",
      array(select at from webhook_attempt where webhook_id = ${id} and error is null and type <> 'notification.test'
        and at > ${now}::timestamptz - interval '1 hour' order by at) as "sentAt"
    from notification join webhook on webhook.id = notification.id
    join application on application.id = webhook.application_id where notification.id = ${id}`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the notification was deleted');
  return row;
}

/** Lists the send times of the test messages of the last hour. */
export async function listTests(db: Database, id: string, now: Date): Promise<Date[]> {
  const { rows } = await sql<{ at: Date }>`select at from webhook_attempt where webhook_id = ${id} and error is null
    and type = 'notification.test' and at > ${now}::timestamptz - interval '1 hour'`.execute(db);
  return rows.map(({ at }) => at);
}

/** SQL that is true if an event was stored during duty hours. Intervals that end at or before their start end the next day. */
const isOnDuty = sql<boolean>`(notification.duty is null or exists (
  select from jsonb_to_recordset(notification.duty) as hours (weekdays integer[], "from" time, until time)
  cross join lateral (select event.stored_at at time zone coalesce(notification.time_zone, application.time_zone) as at) as local
  cross join lateral (select extract(isodow from local.at) as today, local.at::time as time,
    extract(isodow from local.at - interval '1 day') as yesterday) as day
  where case when hours."from" < hours.until
    then day.today = any (hours.weekdays) and day.time >= hours."from" and day.time < hours.until
    else (day.today = any (hours.weekdays) and day.time >= hours."from")
      or (day.yesterday = any (hours.weekdays) and day.time < hours.until) end))`;

/** SQL that is true if a privacy interval covers the time of an event or overlaps its trip. */
const isPrivate = sql<boolean>`exists (select from privacy_period where privacy_period.vehicle_id = event.vehicle_id
  and (privacy_period.period @> event.occurred_at or privacy_period.period && (select tstzrange(started_at, ended_at, '[]')
    from trip where event.type like 'trip.%' and trip.id::text = event.subject)))`;

/**
 * Selects the events to send: those that match vehicles, rules and duty hours, and are not private. Also schedules one
 * escalation for each of their alarms that is not acknowledged.
 */
export async function selectAndScheduleEscalations(
  db: Database,
  { id, applicationId }: Pick<DeliveredWebhook, 'id' | 'applicationId'>,
  events: readonly PlatformEvent[],
): Promise<PlatformEvent[]> {
  if (events.length === 0) return [];
  const transactions = events.map(({ cursor }) => String(cursor.transaction));
  const numbers = events.map(({ cursor }) => String(cursor.event));
  const { rows } = await sql<{ number: string }>`with told as (
    select event.id::text as number, case when event.type in ('alarm.raised', 'alarm.escalated')
      and alarm.acknowledged_at is null and escalates_to is not null then alarm.id end as unacknowledged,
      clock_timestamp() + make_interval(mins => escalates_after_minutes) as due_at
    from unnest(${transactions}::xid8[], ${numbers}::bigint[]) as listed (transaction_id, id)
    join event on event.application_id = ${applicationId} and event.transaction_id = listed.transaction_id
      and event.id = listed.id
    join notification on notification.id = ${id} join webhook on webhook.id = notification.id
    join application on application.id = event.application_id
    left join alarm on alarm.id = case when event.type like 'alarm.%' then event.subject::uuid end
    left join command on command.id = case when event.type = 'command.ended' then event.subject::uuid end
    where not ${isPrivate} and case when event.type = 'alarm.escalated'
      then event.details ->> 'notificationId' = notification.id::text
      else (webhook.all_vehicles or exists (select from webhook_vehicle as one
          where one.webhook_id = webhook.id and one.vehicle_id = event.vehicle_id))
        and (notification.group_ids is null or event.vehicle_id in (select vehicle_id from vehicle_group_member
          where group_id in (select groups_below(notification.group_ids))))
        and (event.type not like 'alarm.%' or notification.rule_ids is null or alarm.rule_id = any (notification.rule_ids))
        and (event.type <> 'command.ended' or command.state <> 'acknowledged') and ${isOnDuty} end),
    planned as (insert into notification_escalation (notification_id, alarm_id, due_at)
      select ${id}::uuid, unacknowledged, due_at from told where unacknowledged is not null on conflict do nothing)
    select number from told`.execute(db);
  const told = new Set(rows.map(({ number }) => number));
  return events.filter(({ cursor }) => told.has(String(cursor.event)));
}

/** Finds the plates of the vehicles of events, by vehicle id. */
export async function findPlates(db: Database, events: readonly ToldEvent[]): Promise<Map<string | undefined, string>> {
  const ids = events.flatMap(({ vehicleId }) => parseVehicleId(vehicleId ?? '') ?? []);
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; plate: string }>`select id::text, plate from vehicle
    where id = any (${ids}::integer[])`.execute(db);
  return new Map(rows.map(({ id, plate }) => [id, plate]));
}

/** Holds an event for the next digest. */
export async function hold(db: Database, id: string, eventId: string): Promise<void> {
  await sql`insert into notification_held (notification_id, event_id) values (${id}, ${eventId})
    on conflict do nothing`.execute(db);
}

/** Lists the ids of held events. */
export async function listHeld(db: Database, id: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select event_id as id from notification_held
    where notification_id = ${id}`.execute(db);
  return rows.map((row) => row.id);
}

/** Deletes held events that a digest has listed. */
export async function release(db: Database, id: string, eventIds: readonly string[]): Promise<void> {
  await sql`delete from notification_held where notification_id = ${id}
    and event_id = any (${[...eventIds]}::text[])`.execute(db);
}

/** Drops held events that could not be sent for three days. @returns the number of dropped events */
export async function dropOldHeld(db: Database, id: string, now: Date): Promise<number> {
  const { numAffectedRows = 0n } = await sql`delete from notification_held where notification_id = ${id}
    and held_at < ${new Date(now.getTime() - deadLetterAfterMs)}`.execute(db);
  return Number(numAffectedRows);
}

/** The columns of the settings of a notification, except its channel. */
type Columns = Omit<NewNotification, ChannelName | 'events' | 'vehicleIds'>;

/** Adds the settings of a notification to its webhook. @throws Failure INVALID_PARAMETER */
export async function writeSettings(
  db: Database,
  applicationId: number,
  id: string,
  given: Columns,
  channel: { readonly name: string; readonly target: string } | undefined,
): Promise<void> {
  const { name, language, timeZone, ruleIds, groupIds, duty, maxPerHour, escalation } = given;
  if (timeZone !== undefined) await requireTimeZone(db, 'timeZone', timeZone);
  await requireOwn(db, applicationId, id, given);
  const columns = sql`name = ${name ?? null}, language = ${language}, time_zone = ${timeZone ?? null}, max_per_hour = ${maxPerHour},
    rule_ids = ${ruleIds ? [...ruleIds] : null}::uuid[], group_ids = ${groupIds ? [...groupIds] : null}::uuid[], duty = ${duty ? JSON.stringify(duty) : null}::jsonb,
    escalates_to = ${escalation?.notificationId ?? null}::uuid,
    escalates_after_minutes = ${escalation?.afterMinutes ?? null}::integer`;
  if (channel) {
    await sql`insert into notification (id, channel, target, language, max_per_hour)
      values (${id}, ${channel.name}, ${channel.target}, ${language}, ${maxPerHour})
      on conflict (id) do update set channel = excluded.channel, target = excluded.target`.execute(db);
  }
  await sql`update notification set ${columns} where id = ${id}`.execute(db);
}

/** Checks that referenced rules, groups and notifications belong to the application. */
async function requireOwn(
  db: Database,
  applicationId: number,
  id: string,
  { ruleIds = [], groupIds = [], escalation }: Columns,
): Promise<void> {
  const { rows } = await sql<{ rules: number; groups: number; target: boolean }>`select
    (select count(*)::integer from alarm_rule where id = any (${[...ruleIds]}::uuid[])
      and application_id = ${applicationId} and deleted_at is null) as rules,
    (select count(*)::integer from vehicle_group where id = any (${[...groupIds]}::uuid[])
      and application_id = ${applicationId}) as groups,
    exists (select from webhook where id = ${escalation?.notificationId ?? null}::uuid and id <> ${id}
      and application_id = ${applicationId} and url is null) as target`.execute(db);
  const { rules = 0, groups = 0, target = false } = rows[0] ?? {};
  const fault = (field: string, message: string) => new Failure('INVALID_PARAMETER', `${field} ${message}`, { field });
  if (rules < new Set(ruleIds).size) throw fault('ruleIds', 'must be alarm rules of the application');
  if (groups < new Set(groupIds).size) throw fault('groupIds', 'must be groups of the application');
  if (escalation && !target) {
    throw fault('escalation.notificationId', 'must be another notification of the application');
  }
}

/** Replaces the sealed channel settings of a locked notification; held events are kept. */
export async function sealChannel(db: Database, sealer: Sealer, id: string, settings: ChannelSettings): Promise<void> {
  const sealed = sealer.seal(Buffer.from(JSON.stringify(settings)), webhookSecretContext(id));
  await sql`update webhook set sealed_secret = ${sealed} where id = ${id}`.execute(db);
}

/**
 * Replaces the subscription of a locked push notification; re-enables it if the previous subscription no longer existed.
 * @throws Failure NOT_FOUND for another channel
 */
export async function replaceSubscription(
  db: Database,
  sealer: Sealer,
  id: string,
  { target, settings }: Channel,
): Promise<void> {
  const { numAffectedRows } = await sql`update notification set target = ${target}
    where id = ${id} and channel = 'push'`.execute(db);
  if (numAffectedRows !== 1n) throw new Failure('NOT_FOUND', 'the notification is not sent by push');
  await sealChannel(db, sealer, id, settings);
  await sql`update webhook set disabled_at = null, disabled_reason = null
    where id = ${id} and disabled_reason = 'GONE'`.execute(db);
  await webhooks.restartDelivery(db, id);
}

/** Lists the notifications of an application, or the one with `id`. */
export async function listNotifications(db: Database, applicationId: number, id?: string): Promise<Notification[]> {
  const { rows } = await sql<{ one: Notification }>`select jsonb_strip_nulls(jsonb_build_object(
      'id', webhook.id, 'name', name, 'channel', channel, 'target', target, 'events', event_types,
      'vehicleIds', case when not all_vehicles then (select coalesce(jsonb_agg(vehicle_id::text order by vehicle_id), '[]')
        from webhook_vehicle join vehicle on vehicle.id = vehicle_id
        where webhook_id = webhook.id and vehicle.deleted_at is null) end,
      'ruleIds', rule_ids, 'groupIds', group_ids, 'language', language, 'timeZone', time_zone, 'duty', duty, 'maxPerHour', max_per_hour,
      'escalation', case when escalates_to is not null then jsonb_build_object('notificationId', escalates_to,
        'afterMinutes', escalates_after_minutes) end,
      'state', case when disabled_at is not null then 'disabled' when failing_since is not null then 'failing'
        else 'active' end,
      'disabledReason', disabled_reason, 'createdAt', ${isoTime('created_at')},
      'lastSuccessAt', ${isoTime('last_success_at')}, 'failingSince', ${isoTime('failing_since')},
      'lastError', last_error,
      'held', (select count(*) from notification_held where notification_id = webhook.id),
      'undelivered', (select count(*) from webhook_dead_letter where webhook_id = webhook.id))) as one
    from webhook join notification on notification.id = webhook.id
    where application_id = ${applicationId} and (${id === undefined} or webhook.id = ${id ?? null}::uuid)
    order by webhook.id`.execute(db);
  return rows.map(({ one }) => one);
}

/** Finds a notification. @throws Failure NOT_FOUND, also if it belongs to another application */
export async function findNotification(db: Database, applicationId: number, id: string): Promise<Notification> {
  const [found] = await listNotifications(db, applicationId, requireId(id, 'notification'));
  if (!found) throw new Failure('NOT_FOUND', 'no such notification');
  return found;
}

/** Finds the application of a notification, for operators. @throws Failure NOT_FOUND */
export async function findApplicationOf(
  db: Database,
  id: string,
  among: readonly number[] | undefined,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`select application_id as id from webhook
    where id = ${requireId(id, 'notification')}::uuid
    and url is null and (${among === undefined} or application_id = any (${[...(among ?? [])]}::integer[]))`.execute(
    db,
  );
  const [found] = rows;
  if (!found) throw new Failure('NOT_FOUND', 'no such notification');
  return found.id;
}

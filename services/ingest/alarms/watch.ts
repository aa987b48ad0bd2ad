import type { AlarmKind } from '@odograph/contracts/alarms';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import { privacyIsOn } from '@odograph/database/reading-json';
import type { Tables } from '@odograph/database/tables';
import { maxPause } from '@odograph/database/vehicle-conditions';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { findPresent } from '@odograph/sessions/presence';
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** A longer pause between two checks counts as an outage of the platform. */
const maxPauseSeconds = 120;

/** SQL that is true if the rule `rule` applies to the vehicle `vehicle`. The devices of an application that moves are refused. */
const appliesToVehicle = sql`vehicle.application_id = rule.application_id and vehicle.deleted_at is null
  and not exists (select from application where application.id = rule.application_id and moving_since is not null)
  and (rule.all_vehicles or exists (select from alarm_rule_vehicle as one
    where one.rule_id = rule.id and one.vehicle_id = vehicle.id) or exists (select from vehicle_group_member as one
    where one.vehicle_id = vehicle.id and one.group_id = any (rule.group_ids)))`;

/** Builds SQL for the rules of a kind as `rule`. "offset 0" prevents evaluating the groups once for each vehicle. */
const rulesOf = (kind: AlarmKind) => sql`(select alarm_rule.*, array(select groups_below(array(
      select group_id from alarm_rule_group where rule_id = alarm_rule.id))) as group_ids
    from alarm_rule where kind = ${kind} and deleted_at is null offset 0) as rule`;

async function idsOf(db: Database, statement: RawBuilder<{ id: string }>): Promise<string[]> {
  const { rows } = await statement.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Records a check, and begins to watch again after an outage of the platform: what it could not receive is no silence.
 * @param isBehind whether uploads that were received are waiting to be stored
 */
export async function keepWatch(db: Database, isBehind: boolean): Promise<void> {
  await sql`insert into alarm_watch (since, checked_at) values (now(), now())
    on conflict (single) do update set checked_at = now(),
      since = case when ${isBehind}::boolean or alarm_watch.checked_at > now()
          or alarm_watch.checked_at < now() - make_interval(secs => ${maxPauseSeconds})
        then now() else alarm_watch.since end`.execute(db);
}

/** Returns the milliseconds since the last check; infinity before the first. */
export async function alarmCheckAgeMs(db: Database): Promise<number> {
  const { rows } = await sql<{ age: number }>`
    select extract(epoch from now() - checked_at)::double precision * 1000 as age from alarm_watch`.execute(db);
  return rows[0]?.age ?? Number.POSITIVE_INFINITY;
}

/**
 * Raises an alarm for each linked vehicle without contact for the minutes of its rule, counted from the last receipt, from the
 * start of the link or rule, or from the last outage of the platform. The first link of a device starts in the past, so the
 * last `device.linked` event counts, too, or the creation of the vehicle. The next alarm of a rule and vehicle is raised no
 * earlier than the last one ended, such as when the vehicle was archived.
 * @returns the ids of the alarms
 */
export function raiseSilent(db: Database): Promise<string[]> {
  return idsOf(
    db,
    sql`with silent as materialized (
        select rule.application_id, rule.id as rule_id, rule.kind, vehicle.id as vehicle_id, vehicle.created_at, minutes,
          quiet_since
        from ${rulesOf('silent')} join vehicle on ${appliesToVehicle} and vehicle.archived_at is null
        join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
        left join vehicle_latest as latest on latest.vehicle_id = vehicle.id
        cross join alarm_watch
        cross join lateral (select (rule.parameters ->> 'afterMinutes')::double precision as minutes,
          greatest(latest.received_at, rule.active_from, alarm_watch.since, nullif(lower(device_link.period), '-infinity'))
            as quiet_since) as given
        where quiet_since + minutes * interval '1 minute' <= now()
          and not exists (select from alarm where alarm.rule_id = rule.id and alarm.vehicle_id = vehicle.id
            and alarm.cleared_at is null))
      insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, value)
      select application_id, rule_id, vehicle_id, kind, greatest(due.at, (select max(cleared_at) from alarm
        where alarm.rule_id = silent.rule_id and alarm.vehicle_id = silent.vehicle_id)), minutes
      from silent cross join lateral (select greatest(quiet_since, created_at, (select max(stored_at) from event
          where event.vehicle_id = silent.vehicle_id and type = 'device.linked')) + minutes * interval '1 minute' as at) as due
      where due.at <= now() order by vehicle_id on conflict do nothing returning id`,
  );
}

/** SQL on the alarm `open` and `vehicle_latest`: true if an upload was received after the minutes of the alarm began. */
const hasNewContact = sql`vehicle_latest.received_at > open.raised_at - open.value * interval '1 minute'`;

/** Clears alarms of silence: at the next contact, or now if the vehicle is archived or has no device. @returns their ids */
export function clearSilent(db: Database): Promise<string[]> {
  return idsOf(
    db,
    sql`update alarm set cleared_at = greatest(alarm.raised_at, latest.contact_at, case
        when latest.contact_at is null then now() end)
      from (select vehicle.id, case when ${hasNewContact} then vehicle_latest.received_at end as contact_at,
          open.id as alarm_id
        from alarm as open join vehicle on vehicle.id = open.vehicle_id
        left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
        where open.kind = 'silent' and open.cleared_at is null and (${hasNewContact}
          or vehicle.archived_at is not null or not exists (select from device_link
            where device_link.vehicle_id = vehicle.id and device_link.period @> now()))) as latest
      where alarm.id = latest.alarm_id and alarm.cleared_at is null returning alarm.id`,
  );
}

/**
 * Clears crash and jamming alarms after an hour of device time without any flag in `alarms`: Traccar and many devices never
 * report the end. Locks the latest states as ingest does; otherwise ingest could store another crash in between that raises
 * no alarm. @returns their ids
 */
export function clearExpired(db: Database): Promise<string[]> {
  return idsOf(
    db,
    sql`update alarm set cleared_at = ended.at
      from (select open.id, greatest(open.raised_at, latest.alarms_time + interval '1 hour') as at
        from alarm as open join vehicle_latest as latest on latest.vehicle_id = open.vehicle_id
        where open.kind in ('crash', 'jamming') and open.cleared_at is null
          and latest.time >= latest.alarms_time + interval '1 hour'
        order by open.vehicle_id for no key update of latest) as ended
      where alarm.id = ended.id and alarm.cleared_at is null returning alarm.id`,
  );
}

/**
 * Writes an event for each linked vehicle that has become silent, once for each silence, by the rule of the live stream. As for
 * alarms, an outage of the platform is no silence.
 */
export async function recordSilences(db: Database): Promise<void> {
  await sql`insert into recorded_silence (vehicle_id, contact_at, device_id)
    select vehicle.id, vehicle_latest.received_at, device_link.device_id
    from vehicle_latest join vehicle on vehicle.id = vehicle_latest.vehicle_id
    join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
    cross join alarm_watch
    left join recorded_silence as known on known.vehicle_id = vehicle.id
    where vehicle_latest.received_at < now() - interval '10 minutes'
      and known.contact_at is distinct from vehicle_latest.received_at
      and vehicle.deleted_at is null and vehicle.archived_at is null and not ${sql.raw(privacyIsOn)}
      and now() >= greatest(vehicle_latest.received_at, alarm_watch.since, nullif(lower(device_link.period), '-infinity'))
        + ${maxPause}
    on conflict (vehicle_id) do update set contact_at = excluded.contact_at, device_id = excluded.device_id`.execute(
    db,
  );
}

/**
 * Writes an event for each linked device whose session began or ended since the last check.
 * @param present the devices with a session
 */
export async function recordConnections(db: Database, present: readonly string[]): Promise<void> {
  await sql`with present as (select device_id from unnest(${[...present]}::text[]) as device_id),
      ended as (delete from recorded_connection as known
        where not exists (select from present where present.device_id = known.device_id))
    insert into recorded_connection (device_id)
    select device.id from present join device on device.id = present.device_id
    where not exists (select from recorded_connection as known where known.device_id = device.id)
    order by device.id on conflict do nothing`.execute(db);
}

/** Writes time-driven events: of bookings, authorizations, trips ended by silence, and escalations. */
export async function recordDueEvents(db: Database): Promise<void> {
  await sql`select record_due_events(), record_booking_times(), record_escalations()`.execute(db);
}

/** Commands that ended longer ago raise no alarm. */
const commandDays = 1;

/** Raises an alarm for each command that ended without an answer of the device. @returns their ids */
export function raiseUnanswered(db: Database): Promise<string[]> {
  return idsOf(
    db,
    sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, command_id)
      select rule.application_id, rule.id, vehicle.id, rule.kind, command.ended_at, command.id
      from ${rulesOf('unanswered-command')} join command on command.application_id = rule.application_id
        and command.state in ('unknown', 'expired')
        and command.ended_at >= greatest(rule.active_from, now() - make_interval(days => ${commandDays}))
      join vehicle on vehicle.id = command.vehicle_id and ${appliesToVehicle}
      where not exists (select from alarm where alarm.rule_id = rule.id and alarm.command_id = command.id)
      order by command.position on conflict do nothing returning id`,
  );
}

/** Clears them once the device answers that command, late, or another one. @returns their ids */
export function clearUnanswered(db: Database): Promise<string[]> {
  return idsOf(
    db,
    sql`update alarm set cleared_at = greatest(alarm.raised_at, answered.at)
      from (select open.id, min(command.ended_at) as at from alarm as open
        join command on command.vehicle_id = open.vehicle_id and command.state in ('acknowledged', 'refused')
          and command.ended_at >= open.raised_at
        where open.kind = 'unanswered-command' and open.cleared_at is null group by open.id) as answered
      where alarm.id = answered.id and alarm.cleared_at is null returning alarm.id`,
  );
}

/** Reads the latest state of the whole fleet. */
const silencesEveryMs = 60_000;
/** Received uploads that wait longer are behind: their devices are not silent. */
const behindMs = 5000;

interface WatchOptions {
  readonly changes: Pick<ChangeAnnouncer, 'announce'>;
  /** Age of the oldest upload that is not stored. */
  oldestUploadMs(): Promise<number>;
}

/** Checks for silent devices, unanswered commands, sessions and what ended by time from the queue: one check at a time for the whole platform. */
export async function scheduleAlarms(
  db: Kysely<Tables>,
  host: ServiceHost,
  { changes, oldestUploadMs }: WatchOptions,
): Promise<void> {
  const { config, limits, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('alarms', connection);
  host.onStop('alarms queue', () => queue.close());
  const schedule = { queue, id: 'alarms', everyMs: limits.alarmCheckIntervalMs, data: {} };
  host.onStop('schedule of alarms', await keepSchedule(schedule));
  const redis = connectRedis(config.REDIS_URL, logger);
  host.onStop('alarms sessions', () => redis.disconnect());
  let silencesDueAt = 0;
  const check = async (): Promise<void> => {
    // First, so that /health shows its failure: checks that fail are not recorded.
    await recordDueEvents(db);
    await keepWatch(db, (await oldestUploadMs()) > behindMs);
    for (const step of [clearSilent, raiseSilent, clearExpired, clearUnanswered, raiseUnanswered]) {
      await changes.announce({ alarmIds: await step(db) });
    }
    if (performance.now() >= silencesDueAt) {
      await recordSilences(db);
      silencesDueAt = performance.now() + silencesEveryMs;
    }
    await recordConnections(db, [...(await findPresent(redis, config.QUEUE_PREFIX))]);
  };
  const worker = openWorker({
    ...connection,
    name: 'alarms',
    concurrency: 1,
    // A failed check would be retried concurrently with the next one.
    process: () =>
      check().catch((error: unknown) =>
        logger.error(describeDatabaseError(error), 'check for alarms failed; retrying'),
      ),
    onFailure: (error) => logger.debug({ err: error }, 'alarms worker failed'),
  });
  host.onStop('alarms worker', () => worker.close());
}

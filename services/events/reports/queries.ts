import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { sql } from 'kysely';
import { type ChangedSchedule, maxListedReports, type NewSchedule, type Schedule, type SentReport } from './schemas.ts';

const maxSchedules = 100;

const scheduleJson = sql<Schedule>`json_strip_nulls(json_build_object('id', id, 'kind', kind, 'format', format, 'every', every,
  'timeZone', time_zone, 'hour', hour, 'language', language, 'recipients', recipients, 'group', group_id,
  'createdAt', ${isoTime('created_at')}, 'nextDueAt', ${isoTime('next_due_at')}))`;

/** Creates a schedule. @throws Failure TOO_MANY, NOT_FOUND for a group of another application */
export async function createSchedule(db: Database, applicationId: number, given: NewSchedule): Promise<Schedule> {
  const { kind, format, every, hour, language, recipients, group = null, timeZone = null } = given;
  if (group !== null && !isUuid(group)) throw new Failure('NOT_FOUND', 'no such group');
  await sql`select from application where id = ${applicationId} for no key update`.execute(db);
  const insertion = sql<{ schedule: Schedule }>`
    insert into report_schedule (application_id, kind, format, every, time_zone, hour, language, recipients, group_id, next_due_at)
    select id, ${kind}, ${format}, ${every}, zone, ${hour}::smallint, ${language}, ${[...recipients]}::text[], ${group}::uuid,
      report_due_at(${every}, zone, ${hour}::integer, now())
    from application cross join lateral (select coalesce(${timeZone}::text, time_zone) as zone) as own
    where id = ${applicationId} and (${group}::uuid is null or exists (select from vehicle_group
        where vehicle_group.id = ${group}::uuid and vehicle_group.application_id = application.id))
      and (select count(*) from report_schedule where application_id = application.id) < ${maxSchedules}
    returning ${scheduleJson} as schedule`;
  // The group may be deleted after the check.
  const isGone = { report_schedule_group: ['NOT_FOUND', 'no such group'] } as const;
  const { rows } = await failOnConstraint(isGone, () => insertion.execute(db));
  if (rows[0] !== undefined) return rows[0].schedule;
  const { rows: counted } = await sql<{ count: number }>`select count(*) as count from report_schedule
    where application_id = ${applicationId}`.execute(db);
  if ((counted[0]?.count ?? 0) >= maxSchedules) throw new Failure('TOO_MANY');
  throw new Failure('NOT_FOUND', 'no such group');
}

/** Changes a schedule, except kind and group; an unchanged time keeps the due time. @throws Failure NOT_FOUND */
export async function updateSchedule(db: Database, id: string, given: ChangedSchedule): Promise<Schedule> {
  const { format, every, hour, language, recipients, timeZone = null } = given;
  const { rows } = await sql<{ schedule: Schedule }>`
    update report_schedule set format = ${format}, every = ${every}, time_zone = zone, hour = ${hour}::smallint,
      language = ${language}, recipients = ${[...recipients]}::text[],
      next_due_at = case when (every, time_zone, hour) = (${every}, zone, ${hour}::smallint) then next_due_at
        else report_due_at(${every}, zone, ${hour}::integer, now()) end
    from (select application.id as owner, coalesce(${timeZone}::text, time_zone) as zone from application) as own
    where id = ${id}::uuid and owner = application_id returning ${scheduleJson} as schedule`.execute(db);
  if (rows[0] === undefined) throw new Failure('NOT_FOUND', 'no such schedule');
  return rows[0].schedule;
}

export async function listSchedules(db: Database, applicationId: number): Promise<Schedule[]> {
  const { rows } = await sql<{ schedule: Schedule }>`select ${scheduleJson} as schedule from report_schedule
    where application_id = ${applicationId} order by created_at, id`.execute(db);
  return rows.map(({ schedule }) => schedule);
}

/** Finds the application of a schedule. @throws Failure NOT_FOUND */
export async function findOwner(db: Database, id: string): Promise<number> {
  const { rows } = await sql<{ owner: number }>`select application_id as owner from report_schedule
    where id = any(${[id].filter(isUuid)}::uuid[])`.execute(db);
  if (rows[0] === undefined) throw new Failure('NOT_FOUND', 'no such schedule');
  return rows[0].owner;
}

/** Deletes a schedule and its list of sent reports. */
export async function deleteSchedule(db: Database, id: string): Promise<void> {
  await sql`delete from report_schedule where id = ${id}::uuid`.execute(db);
}

/** Lists the last 100 reports of a schedule, the newest first. */
export async function listSentReports(db: Database, id: string): Promise<SentReport[]> {
  const changes = sql`(select coalesce(json_agg(json_build_object('vehicleId', vehicle.id::text, 'plate', vehicle.plate,
      'column', change.key, 'sent', change.value -> 0, 'now', change.value -> 1) order by vehicle.plate, change.key), '[]')
    from sent_report_vehicle as one join vehicle on vehicle.id = one.vehicle_id and vehicle.deleted_at is null
    cross join lateral jsonb_each(one.changes) as change
    where one.schedule_id = sent_report.schedule_id and one.due_at = sent_report.due_at)`;
  const { rows } = await sql<{
    report: SentReport;
  }>`select json_strip_nulls(json_build_object('dueAt', ${isoTime('due_at')},
      'from', ${isoTime('from_at')}, 'until', ${isoTime('until_at')}, 'state', state, 'attempts', attempts,
      'accepted', accepted, 'sentAt', ${isoTime('sent_at')}, 'lastError', last_error,
      'outdatedAt', ${isoTime('outdated_at')}, 'changes', ${changes})) as report
    from sent_report where schedule_id = ${id}::uuid order by due_at desc limit ${sql.lit(maxListedReports)}`.execute(
    db,
  );
  return rows.map(({ report }) => report);
}

import { withinGroup } from '@odograph/contracts/caller';
import { isoTime } from '@odograph/database/iso-time';
import type { Tables } from '@odograph/database/tables';
import type { ReportKind } from '@odograph/reports/columns';
import type { ReportFileFormat } from '@odograph/reports/file';
import type { VehicleTotals } from '@odograph/reports/report';
import { isReported, type ReportScope, startOfDay } from '@odograph/reports/scope';
import { type Kysely, sql } from 'kysely';

/** Lease of a report that is being sent. */
const leaseMinutes = 10;
/** With the back-off between attempts, about a day. */
const maxAttempts = 30;
/** How long and how often a sent report is checked for late data. */
const watchDays = 31;
const checkMinutes = 60;

/** A report of a schedule at one of its due times. */
export interface ScheduledReport {
  readonly scheduleId: string;
  /** ISO 8601 with microseconds. */
  readonly dueAt: string;
  readonly applicationId: number;
  readonly kind: ReportKind;
  readonly format: ReportFileFormat;
  readonly language: string;
  readonly recipients: readonly string[];
  readonly accepted: readonly string[];
  readonly scope: ReportScope;
}

interface ReportRow extends Omit<ScheduledReport, 'scope'> {
  readonly from_us: string;
  readonly until_us: string;
  readonly time_zone: string;
  readonly group_id: string | null;
}

const columns = sql`sent_report.schedule_id as "scheduleId", ${isoTime('sent_report.due_at', 'microseconds')} as "dueAt",
  sent_report.application_id as "applicationId", report_schedule.kind, report_schedule.format, report_schedule.language,
  report_schedule.recipients, sent_report.accepted, report_schedule.time_zone, report_schedule.group_id,
  (extract(epoch from from_at) * 1000000)::bigint::text as from_us, (extract(epoch from until_at) * 1000000)::bigint::text as until_us`;

function toReport({ from_us, until_us, time_zone: timeZone, group_id: group, ...report }: ReportRow): ScheduledReport {
  const viewer = withinGroup({ applicationIds: [report.applicationId] }, group ?? undefined);
  const scope = { viewer, from: BigInt(from_us), until: BigInt(until_us), timeZone };
  return { ...report, scope };
}

/** Inserts due reports, one for each elapsed due time, and advances the schedules. */
export async function planReports(db: Kysely<Tables>, now: Date): Promise<void> {
  const [until, zone] = [sql`date_trunc(every, next_due_at at time zone time_zone)`, sql`time_zone`];
  await sql`with due as (select report_schedule.* from report_schedule
      join application on application.id = application_id and application.deleted_at is null and moving_since is null
      where next_due_at <= ${now} limit 100 for update of report_schedule skip locked),
    planned as (insert into sent_report (application_id, schedule_id, due_at, from_at, until_at, next_attempt_at)
      select application_id, id, next_due_at,
        ${startOfDay(sql`(${until} - ('1 ' || every)::interval)`, zone)}, ${startOfDay(until, zone)}, ${now}
      from due on conflict do nothing)
    update report_schedule set next_due_at = report_due_at(due.every, due.time_zone, due.hour, due.next_due_at)
    from due where report_schedule.id = due.id`.execute(db);
}

/** Leases the next report to send. After ten minutes without an outcome, another process may lease it. */
export async function leaseReport(db: Kysely<Tables>, now: Date): Promise<ScheduledReport | undefined> {
  const { rows } = await sql<ReportRow>`with next as (select schedule_id, due_at from sent_report
      join application on application.id = application_id and application.deleted_at is null and moving_since is null
      where state = 'due' and next_attempt_at <= ${now} order by next_attempt_at limit 1
      for update of sent_report skip locked)
    update sent_report set attempts = attempts + 1, next_attempt_at = ${now}::timestamptz + make_interval(mins => ${leaseMinutes})
    from next join report_schedule on report_schedule.id = next.schedule_id
    where sent_report.schedule_id = next.schedule_id and sent_report.due_at = next.due_at returning ${columns}`.execute(
    db,
  );
  return rows[0] && toReport(rows[0]);
}

const matchesReport = ({ scheduleId, dueAt }: ScheduledReport) =>
  sql<boolean>`schedule_id = ${scheduleId}::uuid and due_at = ${dueAt}::timestamptz`;

/** Stores the totals of every vehicle of a report, for later comparison; called before the first message is sent. */
export async function storeTotals(db: Kysely<Tables>, report: ScheduledReport, totals: VehicleTotals): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`delete from sent_report_vehicle where ${matchesReport(report)}`.execute(trx);
    await sql`insert into sent_report_vehicle (application_id, schedule_id, due_at, vehicle_id, totals)
      select ${report.applicationId}::integer, ${report.scheduleId}::uuid, ${report.dueAt}::timestamptz, vehicle.id,
        coalesce(totals, '{}')
      from vehicle left join ${totalsTable(totals)} on given.vehicle_id = vehicle.id where ${isReported(report.scope)}`.execute(
      trx,
    );
  });
}

const totalsTable = (totals: VehicleTotals) => sql`unnest(${[...totals.keys()]}::integer[],
  ${[...totals.values()].map((one) => JSON.stringify(one))}::jsonb[]) as given (vehicle_id, totals)`;

/** Records that the mail server accepted the message to a recipient, and renews the lease. */
export async function markAccepted(db: Kysely<Tables>, report: ScheduledReport, to: string, now: Date): Promise<void> {
  await sql`update sent_report set accepted = accepted || ${to}::text, sent_at = coalesce(sent_at, ${now}), last_error = null,
    next_attempt_at = ${now}::timestamptz + make_interval(mins => ${leaseMinutes}) where ${matchesReport(report)}`.execute(
    db,
  );
}

export async function markSent(db: Kysely<Tables>, report: ScheduledReport, now: Date): Promise<void> {
  await sql`update sent_report set state = 'sent', checked_at = ${now} where ${matchesReport(report)}`.execute(db);
}

/** Records a failed attempt. Retries back off from 1 to 60 minutes, and end after 30 attempts or a permanent failure. */
export async function markFailed(
  db: Kysely<Tables>,
  report: ScheduledReport,
  failure: { readonly message: string; readonly isFinal: boolean; readonly now: Date },
): Promise<void> {
  const { message, isFinal, now } = failure;
  await sql`update sent_report set last_error = ${message},
    next_attempt_at = ${now}::timestamptz + make_interval(mins => least(60, 2 ^ least(attempts - 1, 6))::integer),
    state = case when ${isFinal}::boolean or attempts >= ${maxAttempts} then 'failed' else 'due' end
    where ${matchesReport(report)}`.execute(db);
}

/** Claims a sent report to check for late data: each one hourly, for 31 days. */
export async function claimSentReport(db: Kysely<Tables>, now: Date): Promise<ScheduledReport | undefined> {
  const { rows } = await sql<ReportRow>`with next as (select schedule_id, due_at from sent_report
      where state = 'sent' and due_at > ${now}::timestamptz - make_interval(days => ${watchDays})
        and checked_at <= ${now}::timestamptz - make_interval(mins => ${checkMinutes})
      order by checked_at limit 1 for update skip locked)
    update sent_report set checked_at = ${now} from next join report_schedule on report_schedule.id = next.schedule_id
    where sent_report.schedule_id = next.schedule_id and sent_report.due_at = next.due_at returning ${columns}`.execute(
    db,
  );
  return rows[0] && toReport(rows[0]);
}

/** Lists the vehicles that a sent report covered; its group may have changed since. */
export async function listVehicles(db: Kysely<Tables>, report: ScheduledReport): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select vehicle_id as id from sent_report_vehicle
    where ${matchesReport(report)}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Compares current totals with those that were sent, and marks the report as outdated if they differ. */
export async function compareTotals(
  db: Kysely<Tables>,
  report: ScheduledReport,
  totals: VehicleTotals,
  now: Date,
): Promise<void> {
  await sql`with compared as (select sent.vehicle_id, (
        select jsonb_object_agg(key, jsonb_build_array(old, new)) from (
          select key, coalesce((sent.totals ->> key)::float8, 0) as old, coalesce((given.totals ->> key)::float8, 0) as new
          from jsonb_object_keys(sent.totals || coalesce(given.totals, '{}')) as key) as pair
        where old <> new) as changes
      from sent_report_vehicle as sent join vehicle on vehicle.id = sent.vehicle_id and vehicle.deleted_at is null
      left join ${totalsTable(totals)} on given.vehicle_id = sent.vehicle_id where ${matchesReport(report)}),
    stored as (update sent_report_vehicle as sent set changes = compared.changes from compared
      where ${matchesReport(report)} and sent.vehicle_id = compared.vehicle_id and sent.changes is distinct from compared.changes)
    update sent_report set outdated_at = coalesce(outdated_at, ${now})
    where ${matchesReport(report)} and exists (select from compared where changes is not null)`.execute(db);
}

import { type Caller, type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { type AuditOrigin, auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import { requireTimeZone } from '@odograph/database/time-zone';
import type { RoutePlugin } from '@odograph/http/authentication';
import { AppId, answers, Succeeded } from '@odograph/http/schemas';
import { readTexts } from '@odograph/reports/texts';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import * as queries from './queries.ts';
import * as schemas from './schemas.ts';

interface ScheduleRoutes {
  readonly db: Kysely<Tables>;
  /** Whether a mail server is configured. */
  readonly hasMail: boolean;
}

const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
const Schedules = Type.Object({ schedules: Type.Array(schemas.Schedule) }, { title: 'ReportSchedules' });
const SentReports = Type.Object({ reports: Type.Array(schemas.SentReport) }, { title: 'SentReports' });
/** Schedules send application data to third parties, so operators need the same right as for API keys. */
const config = { right: ['administrator', 'application'] as const };
const route = { tags: ['reports'] };
const summaries = {
  create: 'Send a report by e-mail each week or month',
  list: 'List the schedules of the application',
  change: 'Change a schedule, except its kind and group',
  delete: 'Delete a schedule and the list of its sent reports',
  sent: 'List the last 100 reports of a schedule, and the totals that late data has changed since',
};

/** @throws Failure INVALID_PARAMETER for an unknown language or time zone, or without a mail server */
async function requireDeliverable(
  { hasMail, db }: ScheduleRoutes,
  { timeZone, language }: schemas.ChangedSchedule,
): Promise<void> {
  if (!hasMail) throw invalidParameter('recipients', 'require the setting SMTP_URL');
  if (timeZone !== undefined) await requireTimeZone(db, 'timeZone', timeZone);
  readTexts(language);
}

async function create(options: ScheduleRoutes, origin: AuditOrigin, given: schemas.NewSchedule) {
  await requireDeliverable(options, given);
  const { db } = options;
  return db.transaction().execute(async (trx) => {
    const schedule = await queries.createSchedule(trx, origin.chain, given);
    const details = { kind: given.kind, every: given.every, recipients: given.recipients.length };
    await auditChange(trx, origin, 'report-schedule.create', `report-schedule:${schedule.id}`, details);
    return schedule;
  });
}

async function change(options: ScheduleRoutes, origin: AuditOrigin, id: string, given: schemas.ChangedSchedule) {
  await requireDeliverable(options, given);
  return options.db.transaction().execute(async (trx) => {
    const schedule = await queries.updateSchedule(trx, id, given);
    const details = { every: given.every, recipients: given.recipients.length };
    await auditChange(trx, origin, 'report-schedule.change', `report-schedule:${id}`, details);
    return schedule;
  });
}

async function remove({ db }: ScheduleRoutes, origin: AuditOrigin, id: string) {
  await db.transaction().execute(async (trx) => {
    await queries.deleteSchedule(trx, id);
    await auditChange(trx, origin, 'report-schedule.delete', `report-schedule:${id}`);
  });
  return { deleted: true };
}

/** Registers the routes of report schedules for applications. */
export function scheduleRoutes(options: ScheduleRoutes): RoutePlugin {
  const { db } = options;
  const path = '/v1/x/report-schedules';
  const requireOwn = async ({ applicationId }: Caller, id: string) => {
    if ((await queries.findOwner(db, id)) !== applicationId) throw new Failure('NOT_FOUND', 'no such schedule');
  };
  return (http) => {
    http.addHook('preValidation', async ({ caller: { userId } }) => {
      if (userId !== undefined)
        throw new Failure('UNAUTHORIZED', 'a schedule belongs to an application, not to a user');
    });
    const response = answers(schemas.Schedule, 'UNAUTHORIZED', 'NOT_FOUND', 'TOO_MANY');
    http.post(
      path,
      { config, schema: { ...route, summary: summaries.create, body: schemas.NewSchedule, response } },
      (request) => create(options, originOf(request), request.body),
    );
    http.get(
      path,
      { schema: { ...route, summary: summaries.list, response: answers(Schedules, 'UNAUTHORIZED') } },
      async ({ caller }) => ({ schedules: await queries.listSchedules(db, caller.applicationId) }),
    );
    const ofOne = { ...route, params: schemas.SchedulePath };
    const changed = answers(schemas.Schedule, 'UNAUTHORIZED', 'NOT_FOUND');
    http.put(
      `${path}/:id`,
      { config, schema: { ...ofOne, summary: summaries.change, body: schemas.ChangedSchedule, response: changed } },
      async (request) => {
        await requireOwn(request.caller, request.params.id);
        return change(options, originOf(request), request.params.id, request.body);
      },
    );
    http.delete(
      `${path}/:id`,
      {
        config,
        schema: { ...ofOne, summary: summaries.delete, response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND') },
      },
      async (request) => {
        await requireOwn(request.caller, request.params.id);
        return remove(options, originOf(request), request.params.id);
      },
    );
    http.get(
      `${path}/:id/reports`,
      { schema: { ...ofOne, summary: summaries.sent, response: answers(SentReports, 'UNAUTHORIZED', 'NOT_FOUND') } },
      async ({ caller, params: { id } }) => {
        await requireOwn(caller, id);
        return { reports: await queries.listSentReports(db, id) };
      },
    );
  };
}

/** Registers the same routes for operators, as the CLI uses them. */
export function operatorScheduleRoutes(options: ScheduleRoutes): RoutePlugin {
  const { db } = options;
  const path = '/v1/x/admin/report-schedules';
  const findOwner = async (operator: Operator, id: string) => {
    const owner = await queries.findOwner(db, id);
    if (!seesApplication(operator, owner)) throw new Failure('NOT_FOUND', 'no such schedule');
    return owner;
  };
  return (http) => {
    const response = answers(schemas.Schedule, 'UNKNOWN_APPLICATION', 'NOT_FOUND', 'TOO_MANY');
    http.post(
      path,
      { schema: { summary: summaries.create, body: schemas.NewScheduleOf, response } },
      async (request) => {
        const { appId, ...given } = request.body;
        const applicationId = await findApplicationId(db, appId, request.operator.applicationIds);
        return create(options, operatorOrigin(request, applicationId), given);
      },
    );
    const querystring = Type.Object({ appId: AppId });
    http.get(
      path,
      { schema: { summary: summaries.list, querystring, response: answers(Schedules, 'UNKNOWN_APPLICATION') } },
      async ({ operator, query: { appId } }) => ({
        schedules: await queries.listSchedules(db, await findApplicationId(db, appId, operator.applicationIds)),
      }),
    );
    const params = schemas.SchedulePath;
    http.delete(
      `${path}/:id`,
      { schema: { summary: summaries.delete, params, response: answers(Deleted, 'NOT_FOUND') } },
      async (request) => {
        const owner = await findOwner(request.operator, request.params.id);
        return remove(options, operatorOrigin(request, owner), request.params.id);
      },
    );
    http.get(
      `${path}/:id/reports`,
      { schema: { summary: summaries.sent, params, response: answers(SentReports, 'NOT_FOUND') } },
      async ({ operator, params: { id } }) => {
        await findOwner(operator, id);
        return { reports: await queries.listSentReports(db, id) };
      },
    );
  };
}

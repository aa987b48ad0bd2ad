import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { requireTimeZone } from '@odograph/database/time-zone';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, text, word } from '@odograph/http/schemas';
import { ExpectedVersion, requireVersion, Version, versionOf } from '@odograph/http/versions';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Config } from '@odograph/runtime/config';
import { createSecret, hashSecret, prefixOfCell } from '@odograph/runtime/secrets';
import { type Kysely, type Selectable, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { changeLinks } from '../devices/links.ts';
import { deleteVehicle } from '../vehicles/queries.ts';
import { endSessions } from './tokens.ts';
import { endAccess } from './users.ts';

const Application = Type.Object(
  { appId: AppId, name: Type.String({ examples: ['Car sharing'] }), createdAt: moment('when it was created') },
  { title: 'Application' },
);
const ApplicationKey = Type.Object(
  { appId: AppId, appKey: Type.String({ examples: ['bXktc2VjcmV0LWtleQ'] }) },
  { title: 'ApplicationKey' },
);
const ApplicationPath = Type.Object({ appId: AppId });
const maxOverlapHours = 30 * 24;
/** Deletions per transaction; ingest waits for one transaction at most. */
const vehiclesPerTransaction = 50;
const View = word(['dynamic', 'fleet', 'combined']);
const Tariff = Type.Number({ minimum: 0, maximum: 1e9 });
const deviceRate = (unit: string, maximum: number) =>
  Type.Integer({
    minimum: 0,
    maximum,
    description: `${unit} that each device of the application may upload, from its next connection on; 0: the setting of the platform`,
  });
const settings = {
  view: View,
  timeZone: Type.String({ examples: ['Europe/Paris'] }),
  tariffPerKm: Tariff,
  tariffPerMinute: Tariff,
  deviceUploadsPerSecond: deviceRate('publications per second', 1e6),
  deviceBytesPerSecond: deviceRate('bytes per second', 1e9),
};
/** A rate of 0 is the setting of the platform. */
type ApplicationSettings = Type.Static<Type.TObject<typeof settings>>;
const Settings = Type.Object({ ...settings, version: Version }, { title: 'ApplicationSettings' });
const SettingsChange = Type.Object({
  ...Type.Partial(Type.Object({ ...settings, timeZone: text(1, 64, { examples: ['Europe/Paris'] }) })).properties,
  version: ExpectedVersion,
});

/** The operator's routes for applications. */
export const applications: FleetRoutes = {
  operator: [addApplicationRoutes, addSettingsRoutes, addCredentialRoutes, addDeletion],
};

function addApplicationRoutes(http: Http, { db, config }: Fleet): void {
  const createSchema = {
    summary: 'Create an application; its appKey is shown only once',
    body: Type.Object({ name: text(1, 256, { examples: ['Car sharing'] }) }),
    response: answers(ApplicationKey),
  };
  http.post('/v1/x/admin/applications', { schema: createSchema }, async ({ body, ip, operator }) =>
    db.transaction().execute(async (trx) => {
      const created = await createApplication(trx, config, body.name);
      const subject = `application:${created.appId}`;
      await auditChange(trx, operatorOrigin({ ip, operator }), 'application.create', subject);
      return created;
    }),
  );

  const listSchema = {
    summary: 'List the applications',
    response: answers(Type.Object({ applications: Type.Array(Application) })),
  };
  http.get('/v1/x/admin/applications', { schema: listSchema }, async ({ operator }) => ({
    applications: await listApplications(db, operator.applicationIds),
  }));
}

function addSettingsRoutes(http: Http, { db }: Fleet): void {
  const showSchema = {
    summary: 'Show the settings of an application',
    params: ApplicationPath,
    response: answers(Settings, 'UNKNOWN_APPLICATION'),
  };
  http.get('/v1/x/admin/applications/:appId', { schema: showSchema }, async ({ params: { appId }, operator }) => {
    const settings = await readSettings(db, await findApplicationId(db, appId, operator.applicationIds));
    return { ...settings, version: versionOf(settings) };
  });
  const changeOptions = {
    preValidation: leaveOutEmpty(...Object.keys(Settings.properties)),
    schema: {
      summary: 'Change settings of an application; answers all of them',
      params: ApplicationPath,
      body: SettingsChange,
      response: answers(Settings, 'UNKNOWN_APPLICATION', 'CHANGED_MEANWHILE'),
    },
  };
  http.put(
    '/v1/x/admin/applications/:appId',
    changeOptions,
    async ({ params: { appId }, body: { version, ...change }, ip, operator }) => {
      if (change.timeZone !== undefined) await requireTimeZone(db, 'timeZone', change.timeZone);
      return db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        requireVersion(version, await readSettings(trx, applicationId, sql`for no key update`));
        const settings = await changeSettings(trx, applicationId, change);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'application.settings', `application:${appId}`, change);
        return { ...settings, version: versionOf(settings) };
      });
    },
  );
}

function addCredentialRoutes(http: Http, { db }: Fleet): void {
  const keySchema = {
    summary: 'Replace the appKey of an application, shown only once; the old one stays valid for some hours',
    params: ApplicationPath,
    body: Type.Object({
      overlapHours: Type.Integer({
        minimum: 0,
        maximum: maxOverlapHours,
        default: 24,
        description: 'how long the old appKey stays valid; 0 ends it at once',
      }),
    }),
    response: answers(ApplicationKey, 'UNKNOWN_APPLICATION'),
  };
  http.post(
    '/v1/x/admin/applications/:appId/key',
    { schema: keySchema },
    async ({ params: { appId }, body: { overlapHours }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const appKey = await rotateKey(trx, applicationId, overlapHours);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'application.key', `application:${appId}`, { overlapHours });
        return { appId, appKey };
      }),
  );

  const sessionsSchema = {
    summary: 'End all sessions of an application and its users',
    params: ApplicationPath,
    response: answers(Type.Object({ ended: Type.Integer() }), 'UNKNOWN_APPLICATION'),
  };
  http.delete(
    '/v1/x/admin/applications/:appId/sessions',
    { schema: sessionsSchema },
    async ({ params: { appId }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const ended = await endSessions(trx, { applicationId });
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'application.sessions.end', `application:${appId}`, { ended });
        return { ended };
      }),
  );
}

/** Deletes the vehicles of an application in transactions of their own, each of which excludes ingest. */
async function deleteVehicles(db: Kysely<Tables>, changes: ChangeAnnouncer, applicationId: number): Promise<void> {
  for (let vehicleIds = [0]; vehicleIds.length > 0; await changes.announce({ vehicleIds })) {
    vehicleIds = await changeLinks(db, async (trx) => {
      // In the transaction that excludes others: the same request may be in flight twice.
      const vehicles = await trx
        .selectFrom('vehicle')
        .select('id')
        .where('application_id', '=', applicationId)
        .where('deleted_at', 'is', null)
        .orderBy('id')
        .limit(vehiclesPerTransaction)
        .execute();
      for (const { id } of vehicles) await deleteVehicle(trx, { applicationId }, String(id));
      return vehicles.map(({ id }) => id);
    });
  }
}

function addDeletion(http: Http, { db, changes }: Fleet): void {
  const deleteSchema = {
    summary: 'Delete an application with its users and vehicles, whose data is purged; its devices have no owner then',
    description: 'Sessions end at once. Idempotent: a request that was interrupted can be repeated.',
    params: ApplicationPath,
    response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION'),
  };
  http.delete(
    '/v1/x/admin/applications/:appId',
    { schema: deleteSchema },
    async ({ params: { appId }, ip, operator }) => {
      const applicationId = await findAnyApplicationId(db, operator, appId);
      await db.transaction().execute(async (trx) => {
        await deleteAccounts(trx, applicationId);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'application.delete', `application:${appId}`);
      });
      await deleteVehicles(db, changes, applicationId);
      // Devices without an owner: their links have ended, and the operator can release them.
      await db
        .updateTable('device')
        .set({ application_id: null })
        .where('application_id', '=', applicationId)
        .execute();
      return {};
    },
  );
}

/** Creates an application. @returns its credentials; only a hash of the appKey is stored */
async function createApplication(
  db: Database,
  { CELL }: Pick<Config, 'CELL'>,
  name: string,
): Promise<{ appId: string; appKey: string }> {
  const appId = `${prefixOfCell(CELL, '-')}app-${createSecret().slice(0, 16)}`;
  const appKey = createSecret();
  await db
    .insertInto('application')
    .values({ app_id: appId, app_key_sha256: hashSecret(appKey), name })
    .execute();
  return { appId, appKey };
}

/** Lists applications in the order of their creation: those with these ids, or all. */
async function listApplications(
  db: Database,
  ids: readonly number[] | undefined,
): Promise<Type.Static<typeof Application>[]> {
  const rows = await db
    .selectFrom('application')
    .select(['app_id', 'name', 'created_at'])
    .where('deleted_at', 'is', null)
    .$if(ids !== undefined, (query) => query.where(sql<boolean>`id = any (${ids ?? []}::integer[])`))
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ appId: row.app_id, name: row.name, createdAt: row.created_at.toISOString() }));
}

type SettingsRow = Pick<Selectable<Tables['application']>, 'view'> & {
  time_zone: string;
  tariff_per_km: number;
  tariff_per_minute: number;
  device_uploads_per_second: number | null;
  device_bytes_per_second: number | null;
};
const settingsColumns = sql`view, time_zone, tariff_per_km, tariff_per_minute, device_uploads_per_second,
  device_bytes_per_second`;

/** The new value of a rate: the old one without a change, null for 0. */
function changedRate(column: string, rate: number | undefined) {
  return rate === undefined ? sql.ref(column) : sql`nullif(${rate}::integer, 0)`;
}

/** Changes the given settings of an application that readSettings has locked. @returns all of its settings */
async function changeSettings(
  db: Database,
  applicationId: number,
  { view, timeZone, tariffPerKm, tariffPerMinute, ...rates }: Partial<ApplicationSettings>,
): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`update application set
      view = case when ${view ?? null}::text is null then view else nullif(${view ?? null}::text, 'combined') end,
      time_zone = coalesce(${timeZone ?? null}::text, time_zone),
      tariff_per_km = coalesce(${tariffPerKm ?? null}::double precision, tariff_per_km),
      tariff_per_minute = coalesce(${tariffPerMinute ?? null}::double precision, tariff_per_minute),
      device_uploads_per_second = ${changedRate('device_uploads_per_second', rates.deviceUploadsPerSecond)},
      device_bytes_per_second = ${changedRate('device_bytes_per_second', rates.deviceBytesPerSecond)}
    where id = ${applicationId}
    returning ${settingsColumns}`.execute(db);
  return toSettings(rows[0]);
}

/** Reads the settings of an application. @param lock keeps them unchanged until the transaction ends */
async function readSettings(db: Database, applicationId: number, lock = sql``): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`select ${settingsColumns} from application
    where id = ${applicationId} and deleted_at is null ${lock}`.execute(db);
  return toSettings(rows[0]);
}

/** @throws Failure UNKNOWN_APPLICATION without a row */
function toSettings(row: SettingsRow | undefined): ApplicationSettings {
  if (!row) throw new Failure('UNKNOWN_APPLICATION');
  return {
    view: row.view ?? 'combined',
    timeZone: row.time_zone,
    tariffPerKm: row.tariff_per_km,
    tariffPerMinute: row.tariff_per_minute,
    deviceUploadsPerSecond: row.device_uploads_per_second ?? 0,
    deviceBytesPerSecond: row.device_bytes_per_second ?? 0,
  };
}

/**
 * Replaces the appKey of an application. @returns the new appKey; only a hash of it is stored
 * @param overlapHours how long the old appKey stays valid; 0 ends it at once
 */
async function rotateKey(db: Database, applicationId: number, overlapHours: number): Promise<string> {
  const appKey = createSecret();
  const overlap = overlapHours > 0;
  await db
    .updateTable('application')
    .set({
      app_key_sha256: hashSecret(appKey),
      previous_app_key_sha256: overlap ? sql<Buffer>`app_key_sha256` : null,
      previous_app_key_until: overlap ? sql<Date>`now() + make_interval(hours => ${overlapHours})` : null,
    })
    .where('id', '=', applicationId)
    .execute();
  return appKey;
}

/** Finds the database id of an application that an operator sees, also of a deleted one. @throws Failure UNKNOWN_APPLICATION */
async function findAnyApplicationId(db: Database, operator: Operator, appId: string): Promise<number> {
  const row = await db.selectFrom('application').select('id').where('app_id', '=', appId).executeTakeFirst();
  if (!row || !seesApplication(operator, row.id)) throw new Failure('UNKNOWN_APPLICATION');
  return row.id;
}

/** Deletes the accounts of an application: it and its users cannot sign in again, and their sessions end. */
async function deleteAccounts(db: Database, applicationId: number): Promise<void> {
  await db
    .updateTable('application')
    .set({ deleted_at: sql<Date>`coalesce(deleted_at, now())` })
    .where('id', '=', applicationId)
    .execute();
  const users = await db
    .updateTable('user_account')
    .set({ deleted_at: sql<Date>`now()` })
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .returning('id')
    .execute();
  await db.deleteFrom('api_key').where('application_id', '=', applicationId).execute();
  await sql`delete from place_address where application_id = ${applicationId}`.execute(db);
  await endSessions(db, { applicationId });
  for (const { id } of users) await endAccess(db, applicationId, id);
}

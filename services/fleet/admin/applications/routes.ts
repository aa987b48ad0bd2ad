import type { OperatorRequest } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, text, word } from '@odograph/http/schemas';
import { ExpectedVersion, requireVersion, Version, versionOf } from '@odograph/http/versions';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { endSessions } from '../../accounts/queries.ts';
import { changeLinks } from '../../devices/queries.ts';
import { deleteVehicle } from '../../vehicles/queries.ts';
import {
  changeSettings,
  createApplication,
  deleteAccounts,
  disownDevices,
  findAnyApplicationId,
  findVehicleIds,
  listApplications,
  lockSettings,
  readSettings,
  rotateKey,
} from './queries.ts';

const Application = Type.Object(
  { appId: AppId, name: Type.String({ examples: ['Car sharing'] }), createdAt: moment('when it was created') },
  { title: 'Application' },
);
const ApplicationKey = Type.Object(
  { appId: AppId, appKey: Type.String({ examples: ['bXktc2VjcmV0LWtleQ'] }) },
  { title: 'ApplicationKey' },
);
const ApplicationPath = Type.Object({ appId: AppId });
const maximumOverlapHours = 30 * 24;
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
const Settings = Type.Object({ ...settings, version: Version }, { title: 'ApplicationSettings' });
const SettingsChange = Type.Object({
  ...Type.Partial(Type.Object({ ...settings, timeZone: text(1, 64, { examples: ['Europe/Paris'] }) })).properties,
  version: ExpectedVersion,
});

/** Whether a name is in the IANA time zone database. */
function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== undefined;
  } catch {
    return false;
  }
}

/** The operator's routes for applications. */
export function operatorApplicationRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/admin/applications',
      {
        schema: {
          summary: 'Create an application; its appKey is shown only once',
          body: Type.Object({ name: text(1, 256, { examples: ['Car sharing'] }) }),
          response: answers(ApplicationKey),
        },
      },
      async ({ body, ip, operator }) =>
        db.transaction().execute(async (trx) => {
          const created = await createApplication(trx, body.name);
          const subject = `application:${created.appId}`;
          const origin = operatorOrigin({ ip, operator });
          await appendAudit(trx, { ...origin, action: 'application.create', subject, outcome: 'done' });
          return created;
        }),
    );

    http.get(
      '/v1/x/admin/applications',
      {
        schema: {
          summary: 'List the applications',
          response: answers(Type.Object({ applications: Type.Array(Application) })),
        },
      },
      async ({ operator }) => ({ applications: await listApplications(db, operator.applicationIds) }),
    );

    addSettingsRoutes(http, db);
    addCredentialRoutes(http, db);
    addDeletion(http, db, changes);
  };
}

function addSettingsRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/applications/:appId',
    {
      schema: {
        summary: 'Show the settings of an application',
        params: ApplicationPath,
        response: answers(Settings, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params: { appId }, operator }) => {
      const settings = await readSettings(db, await findApplicationId(db, appId, operator.applicationIds));
      return { ...settings, version: versionOf(settings) };
    },
  );
  http.put(
    '/v1/x/admin/applications/:appId',
    {
      preValidation: leaveOutEmpty(...Object.keys(Settings.properties)),
      schema: {
        summary: 'Change settings of an application; answers all of them',
        params: ApplicationPath,
        body: SettingsChange,
        response: answers(Settings, 'UNKNOWN_APPLICATION', 'CHANGED_MEANWHILE'),
      },
    },
    async ({ params: { appId }, body: { version, ...change }, ip, operator }) => {
      if (change.timeZone !== undefined && !isTimeZone(change.timeZone)) {
        throw invalidParameter('timeZone', 'must be a name of the IANA time zone database');
      }
      return db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        requireVersion(version, await lockSettings(trx, applicationId));
        const settings = await changeSettings(trx, appId, change);
        await appendAudit(trx, {
          ...operatorOrigin({ ip, operator }, applicationId),
          action: 'application.settings',
          subject: `application:${appId}`,
          details: change,
          outcome: 'done',
        });
        return { ...settings, version: versionOf(settings) };
      });
    },
  );
}

function addCredentialRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/applications/:appId/key',
    {
      schema: {
        summary: 'Replace the appKey of an application, shown only once; the old one stays valid for some hours',
        params: ApplicationPath,
        body: Type.Object({
          overlapHours: Type.Integer({
            minimum: 0,
            maximum: maximumOverlapHours,
            default: 24,
            description: 'how long the old appKey stays valid; 0 ends it at once',
          }),
        }),
        response: answers(ApplicationKey, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params: { appId }, body: { overlapHours }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const appKey = await rotateKey(trx, applicationId, overlapHours);
        await record(trx, { ip, operator, applicationId, appId, action: 'application.key', details: { overlapHours } });
        return { appId, appKey };
      }),
  );

  http.delete(
    '/v1/x/admin/applications/:appId/sessions',
    {
      schema: {
        summary: 'End all sessions of an application and its users',
        params: ApplicationPath,
        response: answers(Type.Object({ ended: Type.Integer() }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params: { appId }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const ended = await endSessions(trx, { applicationId });
        await record(trx, {
          ip,
          operator,
          applicationId,
          appId,
          action: 'application.sessions.end',
          details: { ended },
        });
        return { ended };
      }),
  );
}

/** Deletes the vehicles of an application in transactions of their own, each of which excludes ingest. */
async function deleteVehicles(db: Kysely<Tables>, changes: ChangeAnnouncer, applicationId: number): Promise<void> {
  for (let deleted = ['']; deleted.length > 0; ) {
    deleted = await changeLinks(db, async (trx) => {
      // In the transaction that excludes others: the same request may be on its way twice.
      const ids = await findVehicleIds(trx, applicationId, vehiclesPerTransaction);
      for (const id of ids) await deleteVehicle(trx, { applicationId }, id);
      return ids;
    });
    await changes.announce({ vehicleIds: deleted.map(Number) });
  }
}

function addDeletion(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer): void {
  http.delete(
    '/v1/x/admin/applications/:appId',
    {
      schema: {
        summary:
          'Delete an application with its users and vehicles, whose data is purged; its devices have no owner then',
        description: 'Sessions end at once. Idempotent: a request that was interrupted can be repeated.',
        params: ApplicationPath,
        response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params: { appId }, ip, operator }) => {
      const applicationId = await findAnyApplicationId(db, operator, appId);
      await db.transaction().execute(async (trx) => {
        await deleteAccounts(trx, applicationId);
        await record(trx, { ip, operator, applicationId, appId, action: 'application.delete' });
      });
      await deleteVehicles(db, changes, applicationId);
      await disownDevices(db, applicationId);
      return {};
    },
  );
}

interface RecordedChange extends OperatorRequest {
  readonly applicationId: number;
  readonly appId: string;
  readonly action: string;
  readonly details?: Readonly<Record<string, number>>;
}

/** Records a change of an application in its audit. */
async function record(
  trx: Database,
  { applicationId, appId, action, details = {}, ...request }: RecordedChange,
): Promise<void> {
  const subject = `application:${appId}`;
  await appendAudit(trx, { ...operatorOrigin(request, applicationId), action, subject, details, outcome: 'done' });
}

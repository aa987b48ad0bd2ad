import { invalidParameter } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId } from '@odograph/http/operator-routes';
import { answers, text } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeSettings, createApplication, listApplications } from './queries.ts';

const Application = Type.Object({ appId: Type.String(), name: Type.String(), createdAt: Type.String() });
const View = Type.Enum(['dynamic', 'fleet', 'combined']);
const Tariff = Type.Number({ minimum: 0, maximum: 1e9 });
const Settings = Type.Object({ view: View, timeZone: Type.String(), tariffPerKm: Tariff, tariffPerMinute: Tariff });
const SettingsChange = Type.Partial(Type.Object({ ...Settings.properties, timeZone: text(1, 64) }));

/** Whether a name is in the IANA time zone database. */
function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== undefined;
  } catch {
    return false;
  }
}

/** The operator's routes for applications. */
export function operatorApplicationRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/admin/applications',
      {
        schema: {
          summary: 'Create an application; its appKey is shown only once',
          body: Type.Object({ name: text(1, 256) }),
          response: answers(Type.Object({ appId: Type.String(), appKey: Type.String() })),
        },
      },
      async ({ body, ip }) =>
        db.transaction().execute(async (trx) => {
          const created = await createApplication(trx, body.name);
          const subject = `application:${created.appId}`;
          await appendAudit(trx, { ...operatorOrigin({ ip }), action: 'application.create', subject, outcome: 'done' });
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
      async () => ({ applications: await listApplications(db) }),
    );

    addSettingsRoute(http, db);
  };
}

function addSettingsRoute(http: Http, db: Kysely<Tables>): void {
  http.put(
    '/v1/x/admin/applications/:appId',
    {
      schema: {
        summary: 'Change the view, the time zone or the tariff of an application; answers all three',
        params: Type.Object({ appId: AppId }),
        body: SettingsChange,
        response: answers(Settings, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params: { appId }, body: { view, timeZone, tariffPerKm, tariffPerMinute }, ip }) => {
      if (timeZone !== undefined && !isTimeZone(timeZone)) {
        throw invalidParameter('timeZone', 'must be a name of the IANA time zone database');
      }
      const change = {
        ...(view !== undefined && { view }),
        ...(timeZone !== undefined && { timeZone }),
        ...(tariffPerKm !== undefined && { tariffPerKm }),
        ...(tariffPerMinute !== undefined && { tariffPerMinute }),
      };
      return db.transaction().execute(async (trx) => {
        const settings = await changeSettings(trx, appId, change);
        await appendAudit(trx, {
          ...operatorOrigin({ ip }, await findApplicationId(trx, appId)),
          action: 'application.settings',
          subject: `application:${appId}`,
          details: change,
          outcome: 'done',
        });
        return settings;
      });
    },
  );
}

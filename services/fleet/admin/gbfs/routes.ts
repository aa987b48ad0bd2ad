import { GbfsSettings } from '@odograph/contracts/gbfs';
import { findApplicationId } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, answers, EmptyAnswer, moment } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { deleteSettings, readSettings, requireOwn, storeSettings } from './queries.ts';
import { discoveryUrl, requireConsistent } from './rules.ts';

const ApplicationPath = Type.Object({ appId: AppId });
const DiscoveryUrl = Type.String({
  description: 'address of the discovery file, for the public',
  examples: ['https://telematics.example/v1/x/gbfs/example_paris/gbfs.json'],
});
const path = '/v1/x/admin/gbfs/:appId';

/** The operator's routes for what applications publish as GBFS 3.0. */
export function operatorGbfsRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    addPublication(http, db);
    addReading(http, db);
    addEnd(http, db);
  };
}

function addPublication(http: Http, db: Kysely<Tables>): void {
  http.put(
    path,
    {
      schema: {
        summary: 'Publish the vehicles and stations of an application as GBFS 3.0, to everyone',
        params: ApplicationPath,
        body: Type.Object({ appId: AppId, ...GbfsSettings.properties }, { additionalProperties: false }),
        response: answers(
          Type.Object({ discoveryUrl: DiscoveryUrl }, { title: 'GbfsPublication' }),
          ...(['UNKNOWN_APPLICATION', 'ALREADY_EXISTS'] as const),
        ),
      },
    },
    async ({ body: { appId, ...settings }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        requireConsistent(settings);
        await requireOwn(trx, applicationId, settings);
        await storeSettings(trx, applicationId, settings);
        const subject = `gbfs:${settings.system.system_id}`;
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await appendAudit(trx, { ...origin, action: 'gbfs.publish', subject, outcome: 'done' });
        return { discoveryUrl: discoveryUrl(settings) };
      }),
  );
}

function addReading(http: Http, db: Kysely<Tables>): void {
  http.get(
    path,
    {
      schema: {
        summary: 'Show what an application publishes as GBFS 3.0',
        params: ApplicationPath,
        response: answers(
          Type.Object(
            { discoveryUrl: DiscoveryUrl, updatedAt: moment('the last change'), settings: GbfsSettings },
            { title: 'GbfsPublicationSettings' },
          ),
          ...(['UNKNOWN_APPLICATION', 'NOT_FOUND'] as const),
        ),
      },
    },
    async ({ params: { appId }, operator }) => {
      const applicationId = await findApplicationId(db, appId, operator.applicationIds);
      const { settings, updatedAt } = await readSettings(db, applicationId);
      return { discoveryUrl: discoveryUrl(settings), updatedAt: updatedAt.toISOString(), settings };
    },
  );
}

function addEnd(http: Http, db: Kysely<Tables>): void {
  http.delete(
    path,
    {
      schema: {
        summary: 'Stop publishing an application as GBFS; its feeds answer NOT_FOUND from then on',
        params: ApplicationPath,
        response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION', 'NOT_FOUND'),
      },
    },
    async ({ params: { appId }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const subject = `gbfs:${await deleteSettings(trx, applicationId)}`;
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await appendAudit(trx, { ...origin, action: 'gbfs.end', subject, outcome: 'done' });
      });
      return {};
    },
  );
}

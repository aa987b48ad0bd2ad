import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { adminRoute } from '@odograph/http/operator-routes';
import { answers, text } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { createApplication, listApplications } from './queries.ts';

const Application = Type.Object({ appId: Type.String(), name: Type.String(), createdAt: Type.String() });

/** The operator's routes for applications. */
export function addApplicationRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/applications',
    {
      schema: {
        ...adminRoute,
        summary: 'Create an application; its key is shown only now',
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
        ...adminRoute,
        summary: 'List the applications',
        response: answers(Type.Object({ applications: Type.Array(Application) })),
      },
    },
    async () => ({ applications: await listApplications(db) }),
  );
}

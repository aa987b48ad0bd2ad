import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { text } from '../../schemas.ts';
import { adminRoute } from '../schemas.ts';
import { createApplication, listApplications } from './queries.ts';

const Application = Type.Object({ appId: Type.String(), name: Type.String(), createdAt: Type.String() });

/** The operator's routes for applications. */
export function addApplicationRoutes(http: Http, db: Database): void {
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
    async ({ body }) => createApplication(db, body.name),
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

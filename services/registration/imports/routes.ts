import { findApplicationId } from '@odograph/database/applications';
import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { AppId, adminRoute } from '@odograph/http/operator-routes';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { findImport, forgetImport, type ImportIdentity, importBatch } from './queries.ts';

const maximumRows = 1000;
const largestInteger = 2_147_483_647;
const FileSha256 = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the file' });
const OptionalAppId = Type.Optional(
  Type.Unsafe<string>({ ...AppId, description: 'the application that alone sees the records; all do without it' }),
);
const Row = Type.Object({
  line: Type.Integer({ minimum: 1, maximum: largestInteger }),
  record: Type.Optional(Type.Unknown({ description: 'a record, its values also as text' })),
  fault: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'why the row could not be read' })),
});
const Fault = Type.Object({
  line: Type.Integer(),
  field: Type.String({ description: 'empty for the whole row' }),
  message: Type.String(),
});
const State = Type.Object({
  position: Type.Integer({ description: 'rows that are done' }),
  changed: Type.Integer(),
  unchanged: Type.Integer(),
  bad: Type.Integer(),
  finished: Type.Boolean(),
  faults: Type.Array(Fault),
});
const FilePath = Type.Object({ file_sha256: FileSha256 });
const ImportQuery = Type.Object({
  appId: OptionalAppId,
  faults: Type.Integer({ minimum: 0, maximum: 10_000, default: 1000, description: 'so many faults at most' }),
});

/** The operator's routes for importing files of records in parts. */
export function addImportRoutes(http: Http, db: Kysely<Tables>): void {
  const identify = async (fileSha256: string, appId: string | undefined): Promise<ImportIdentity> => ({
    fileSha256,
    applicationId: appId === undefined ? null : await findApplicationId(db, appId),
  });

  http.post(
    '/v1/x/admin/registrations',
    {
      schema: {
        ...adminRoute,
        summary: 'Import a part of a file of records; a part that was imported before changes nothing',
        body: Type.Object({
          fileSha256: FileSha256,
          appId: OptionalAppId,
          position: Type.Integer({ minimum: 0, maximum: largestInteger, description: 'rows before this part' }),
          rows: Type.Array(Row, { maxItems: maximumRows }),
          last: Type.Boolean({ default: false, description: 'the file ends with this part' }),
        }),
        response: answers(Type.Object({ position: Type.Integer() }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ body: { fileSha256, appId, position, rows, last }, ip }) => {
      const identity = await identify(fileSha256, appId);
      const done = await importBatch(db, identity, { position, rows, isLast: last });
      if (last) {
        await appendAudit(db, {
          ...operatorOrigin({ ip }, identity.applicationId ?? undefined),
          action: 'registration.import',
          subject: `file:${fileSha256}`,
          details: { rows: done },
          outcome: 'done',
        });
      }
      return { position: done };
    },
  );

  addProgressRoutes(http, db, identify);
}

function addProgressRoutes(
  http: Http,
  db: Kysely<Tables>,
  identify: (fileSha256: string, appId: string | undefined) => Promise<ImportIdentity>,
): void {
  http.get(
    '/v1/x/admin/registration-imports/:file_sha256',
    {
      schema: {
        ...adminRoute,
        summary: 'Show how far the import of a file is, and its bad rows',
        params: FilePath,
        querystring: ImportQuery,
        response: answers(State, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params, query }) => findImport(db, await identify(params.file_sha256, query.appId), query.faults),
  );

  http.delete(
    '/v1/x/admin/registration-imports/:file_sha256',
    {
      schema: {
        ...adminRoute,
        summary: 'Forget how far the import of a file is, so that it begins anew; its records stay',
        params: FilePath,
        querystring: Type.Object({ appId: OptionalAppId }),
        response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params, query, ip }) => {
      const identity = await identify(params.file_sha256, query.appId);
      await forgetImport(db, identity);
      await appendAudit(db, {
        ...operatorOrigin({ ip }, identity.applicationId ?? undefined),
        action: 'registration.forget',
        subject: `file:${params.file_sha256}`,
        outcome: 'done',
      });
      return {};
    },
  );
}

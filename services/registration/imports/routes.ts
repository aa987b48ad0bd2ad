import type { Operator } from '@odograph/contracts/caller';
import { findScope } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, answers, EmptyAnswer } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { findImport, type ImportIdentity, importPart, resetImport } from './queries.ts';

const maxRows = 1000;
const maxInteger = 2_147_483_647;
const FileSha256 = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the file',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
});
const OptionalAppId = Type.Optional(
  Type.Unsafe<string>({ ...AppId, description: 'application that sees the records; without it, all do' }),
);
const Row = Type.Object({
  line: Type.Integer({ minimum: 1, maximum: maxInteger }),
  record: Type.Optional(
    Type.Unknown({
      description: 'record; its values may be text',
      examples: [{ certificate: { plate: 'AB-123-CD' } }],
    }),
  ),
  fault: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'reason why the row could not be parsed',
      examples: ['unbalanced quotes'],
    }),
  ),
});
const Fault = Type.Object(
  {
    line: Type.Integer(),
    field: Type.String({ description: 'name of the field, empty for the whole row', examples: ['certificate.seats'] }),
    message: Type.String({ examples: ['must be a number'] }),
  },
  { title: 'ImportFault' },
);
const State = Type.Object(
  {
    position: Type.Integer({ description: 'rows done' }),
    changed: Type.Integer(),
    unchanged: Type.Integer(),
    bad: Type.Integer(),
    finished: Type.Boolean(),
    faults: Type.Array(Fault),
  },
  { title: 'ImportState' },
);
const FilePath = Type.Object({ file_sha256: FileSha256 });
const ImportQuery = Type.Object({
  appId: OptionalAppId,
  faults: Type.Integer({ minimum: 0, maximum: 10_000, default: 1000, description: 'maximum number of faults' }),
});

/** Operator routes that import files of records in parts. */
export function importRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    addImportRoute(http, db);
    addProgressRoute(http, db);
    addResetRoute(http, db);
  };
}

async function identify(
  db: Kysely<Tables>,
  operator: Operator,
  { fileSha256, appId }: { fileSha256: string; appId?: string | undefined },
): Promise<ImportIdentity> {
  return { fileSha256, applicationId: await findScope(db, operator, appId) };
}

function addImportRoute(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/registrations',
    {
      schema: {
        summary: 'Import a part of a file of records; repeating a part changes nothing',
        body: Type.Object({
          fileSha256: FileSha256,
          appId: OptionalAppId,
          position: Type.Integer({
            minimum: 0,
            maximum: maxInteger,
            description: 'number of rows before this part',
          }),
          rows: Type.Array(Row, { maxItems: maxRows }),
          last: Type.Boolean({ default: false, description: 'true when the file ends with this part' }),
        }),
        response: answers(Type.Object({ position: Type.Integer() }), 'UNKNOWN_APPLICATION'),
      },
    },
    async (request) => {
      const { fileSha256, appId, position, rows, last } = request.body;
      const identity = await identify(db, request.operator, { fileSha256, appId });
      const done = await importPart(db, identity, { position, rows, isLast: last });
      if (last) {
        const origin = operatorOrigin(request, identity.applicationId);
        await auditChange(db, origin, 'registration.import', `file:${fileSha256}`, { rows: done });
      }
      return { position: done };
    },
  );
}

function addProgressRoute(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/registration-imports/:file_sha256',
    {
      schema: {
        summary: 'Show the progress of an import and its bad rows',
        params: FilePath,
        querystring: ImportQuery,
        response: answers(State, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params, query, operator }) => {
      const identity = await identify(db, operator, { fileSha256: params.file_sha256, ...query });
      return findImport(db, identity, query.faults);
    },
  );
}

function addResetRoute(http: Http, db: Kysely<Tables>): void {
  http.delete(
    '/v1/x/admin/registration-imports/:file_sha256',
    {
      schema: {
        summary: 'Reset an import to the first row of its file; imported records stay',
        params: FilePath,
        querystring: Type.Object({ appId: OptionalAppId }),
        response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION'),
      },
    },
    async (request) => {
      const { file_sha256: fileSha256 } = request.params;
      const identity = await identify(db, request.operator, { fileSha256, ...request.query });
      await resetImport(db, identity);
      const origin = operatorOrigin(request, identity.applicationId);
      await auditChange(db, origin, 'registration.forget', `file:${fileSha256}`);
      return {};
    },
  );
}

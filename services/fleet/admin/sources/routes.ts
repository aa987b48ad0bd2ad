import type { OperatorRequest } from '@odograph/contracts/caller';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { findApplicationId, findListed } from '@odograph/database/accounts';
import { type AuditEntry, appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId } from '@odograph/http/operator-routes';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer, moment, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { createSource, deleteSource, listSources, lockSource, rotateSecret } from './queries.ts';

const maximumOverlapHours = 30 * 24;
const SourceId = Type.String({ examples: ['1b4e28ba-2fa1-41d2-883f-0016d3cca427'] });
const SourcePath = Type.Object({ id: SourceId });
const Format = word(sourceFormatNames, { description: 'which other system or app it is' });
const SourceSecret = Type.Object(
  { sourceId: SourceId, secret: Type.String({ examples: ['c2VjcmV0LW9mLXRoZS1zb3VyY2U'] }) },
  { title: 'SourceSecret' },
);
const count = (description: string) => Type.Integer({ description, examples: [7] });
const ListedSource = Type.Object(
  {
    sourceId: SourceId,
    appId: AppId,
    format: Format,
    createDevices: Type.Boolean(),
    createdAt: moment('when it was created'),
    lastSeenAt: Type.Union([moment('when it was last authenticated'), Type.Null()]),
    messages: count('messages that were accepted'),
    devices: count('devices of the application that it has sent messages of'),
    unknownMessages: count('messages of other devices, which went to quarantine'),
    refusedRequests: count('requests that were not accepted'),
  },
  { title: 'ListedSource' },
);

/** The operator's routes for sources: other systems that forward what their devices said. */
export function operatorSourceRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    addCreation(http, db);
    addList(http, db);
    addChanges(http, db);
  };
}

function addCreation(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/sources',
    {
      schema: {
        summary:
          'Create a source, which may send messages of devices of one application; its secret is shown only once',
        body: Type.Object({
          appId: AppId,
          format: Type.Unsafe<SourceFormatName>(Format),
          createDevices: Type.Boolean({
            default: false,
            description:
              'devices that do not exist are created, of the model named after the format; else their messages go to quarantine',
          }),
        }),
        response: answers(SourceSecret, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ body: { appId, format, createDevices }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const source = await createSource(trx, { applicationId, format, createDevices });
        const details = { format, createDevices };
        await record(trx, { ip, operator }, { applicationId, id: source.sourceId, action: 'source.create', details });
        return source;
      }),
  );
}

function addList(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/sources',
    {
      preValidation: leaveOutEmpty('appId'),
      schema: {
        summary: 'List the sources of one application or of all, with when each was last seen and what it has sent',
        querystring: Type.Object({ appId: Type.Optional(AppId) }),
        response: answers(Type.Object({ sources: Type.Array(ListedSource) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query: { appId }, operator }) => ({
      sources: await listSources(db, await findListed(db, operator, appId)),
    }),
  );
}

function addChanges(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/sources/:id/secret',
    {
      schema: {
        summary: 'Replace the secret of a source, shown only once; the old one stays valid for some hours',
        params: SourcePath,
        body: Type.Object({
          overlapHours: Type.Integer({
            minimum: 0,
            maximum: maximumOverlapHours,
            default: 24,
            description: 'how long the old secret stays valid, at most until the new one is used; 0 ends it at once',
          }),
        }),
        response: answers(SourceSecret, 'NOT_FOUND'),
      },
    },
    async ({ params: { id }, body: { overlapHours }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const applicationId = await lockSource(trx, operator, id);
        const secret = await rotateSecret(trx, id, overlapHours);
        const details = { overlapHours };
        await record(trx, { ip, operator }, { applicationId, id, action: 'source.secret', details });
        return secret;
      }),
  );
  http.delete(
    '/v1/x/admin/sources/:id',
    {
      schema: {
        summary: 'Delete a source: its secrets are invalid at once; what it has sent stays',
        params: SourcePath,
        response: answers(EmptyAnswer, 'NOT_FOUND'),
      },
    },
    async ({ params: { id }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const applicationId = await lockSource(trx, operator, id);
        await deleteSource(trx, id);
        await record(trx, { ip, operator }, { applicationId, id, action: 'source.delete' });
      });
      return {};
    },
  );
}

interface SourceChange {
  readonly applicationId: number;
  readonly id: string;
  readonly action: string;
  readonly details?: NonNullable<AuditEntry['details']>;
}

/** Records a change of a source in the audit of its application; run it last in the transaction. */
async function record(
  trx: Database,
  request: OperatorRequest,
  { applicationId, id, action, details = {} }: SourceChange,
): Promise<void> {
  const subject = `source:${id}`;
  await appendAudit(trx, { ...operatorOrigin(request, applicationId), action, subject, details, outcome: 'done' });
}

import type { OperatorRequest } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { findApplicationId, findListed } from '@odograph/database/accounts';
import { type AuditEntry, appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, word } from '@odograph/http/schemas';
import type { Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import {
  createSource,
  deleteSource,
  listSources,
  lockSource,
  resealCommandTokens,
  rotateSecret,
  setCommandToken,
} from './queries.ts';

const maximumOverlapHours = 30 * 24;
const SourceId = Type.String({ examples: ['1b4e28ba-2fa1-41d2-883f-0016d3cca427'] });
const SourcePath = Type.Object({ id: SourceId });
const Format = word(sourceFormatNames, { description: 'which other system or app it is' });
const SourceSecret = Type.Object(
  { sourceId: SourceId, secret: Type.String({ examples: ['c2VjcmV0LW9mLXRoZS1zb3VyY2U'] }) },
  { title: 'SourceSecret' },
);
const CommandToken = Type.String({
  pattern: '^[!-~]{16,256}$',
  description: 'token of flespi by which commands are sent; it is stored sealed and never shown',
  examples: ['dGhpcyBpcyBubyB0b2tlbiBvZiBmbGVzcGk'],
});
const count = (description: string) => Type.Integer({ description, examples: [7] });
const ListedSource = Type.Object(
  {
    sourceId: SourceId,
    appId: AppId,
    format: Format,
    createDevices: Type.Boolean(),
    takesCommands: Type.Boolean({ description: 'it has a token by which commands are sent to it' }),
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
export function operatorSourceRoutes(db: Kysely<Tables>, sealer: Sealer): RoutePlugin {
  return (http) => {
    addCreation(http, db, sealer);
    addList(http, db);
    addChanges(http, db);
    addCommandTokens(http, db, sealer);
    addReseal(http, db, sealer);
  };
}

/** @throws Failure INVALID_PARAMETER for a format whose system takes no commands */
function requireCommands(format: SourceFormatName, field: string): void {
  if (format !== 'flespi') throw invalidParameter(field, 'is for sources of the format flespi');
}

function addCreation(http: Http, db: Kysely<Tables>, sealer: Sealer): void {
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
              'devices that do not exist are created as `{appId}:{identifier}`, of the model named after the format; else their messages go to quarantine',
          }),
          commandToken: Type.Optional(CommandToken),
        }),
        response: answers(SourceSecret, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ body: { appId, format, createDevices, commandToken }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        if (commandToken !== undefined) requireCommands(format, 'commandToken');
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const source = await createSource(trx, sealer, { applicationId, format, createDevices, commandToken });
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
        const { applicationId } = await lockSource(trx, operator, id);
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
        const { applicationId } = await lockSource(trx, operator, id);
        await deleteSource(trx, id);
        await record(trx, { ip, operator }, { applicationId, id, action: 'source.delete' });
      });
      return {};
    },
  );
}

/** The tokens by which the gateway sends commands to other systems: stored sealed, and never shown. */
function addCommandTokens(http: Http, db: Kysely<Tables>, sealer: Sealer): void {
  const change = (request: OperatorRequest & { params: { id: string } }, token: string | undefined) =>
    db.transaction().execute(async (trx) => {
      const { id } = request.params;
      const { applicationId, format } = await lockSource(trx, request.operator, id);
      if (token !== undefined) requireCommands(format, 'token');
      await setCommandToken(trx, sealer, id, token);
      const action = token === undefined ? 'source.command-token.remove' : 'source.command-token.set';
      await record(trx, request, { applicationId, id, action });
    });

  http.put(
    '/v1/x/admin/sources/:id/command-token',
    {
      schema: {
        summary: 'Set or replace the token by which commands are sent to a source of the format flespi',
        params: SourcePath,
        body: Type.Object({ token: CommandToken }),
        response: answers(EmptyAnswer, 'NOT_FOUND'),
      },
    },
    async (request) => {
      await change(request, request.body.token);
      return {};
    },
  );
  http.delete(
    '/v1/x/admin/sources/:id/command-token',
    {
      schema: {
        summary: 'Remove the token of a source: its devices take no commands any more',
        params: SourcePath,
        response: answers(EmptyAnswer, 'NOT_FOUND'),
      },
    },
    async (request) => {
      await change(request, undefined);
      return {};
    },
  );
}

function addReseal(http: Http, db: Kysely<Tables>, sealer: Sealer): void {
  http.post(
    '/v1/x/admin/sources/reseal',
    {
      schema: {
        summary: 'Seal the command tokens of all sources under the first of ENCRYPTION_KEYS',
        response: answers(
          Type.Object(
            { resealed: Type.Integer(), unreadable: Type.Integer(), total: Type.Integer() },
            { title: 'Resealed' },
          ),
        ),
      },
    },
    async ({ ip, operator }) => {
      const counted = await resealCommandTokens(db, sealer);
      await appendAudit(db, {
        ...operatorOrigin({ ip, operator }),
        ...{ action: 'source.reseal', subject: 'sources', details: { ...counted }, outcome: 'done' },
      });
      return counted;
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

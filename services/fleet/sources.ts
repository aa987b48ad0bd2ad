import { randomUUID } from 'node:crypto';
import type { Operator, OperatorRequest } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { isUuid } from '@odograph/contracts/text-patterns';
import { findApplicationId, findListed } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Resealed } from '@odograph/database/sealed-values';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, word } from '@odograph/http/schemas';
import { type Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from './common/fleet.ts';

const maxOverlapHours = 30 * 24;
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
export const sources: FleetRoutes = { operator: [addCreation, addList, addChanges, addCommandTokens, addReseal] };

/** @throws Failure INVALID_PARAMETER for a format whose system takes no commands */
function requireCommands(format: SourceFormatName, field: string): void {
  if (format !== 'flespi') throw invalidParameter(field, 'is for sources of the format flespi');
}

function addCreation(http: Http, { db, sealer }: Fleet): void {
  const createSchema = {
    summary: 'Create a source, which may send messages of devices of one application; its secret is shown only once',
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
  };
  http.post(
    '/v1/x/admin/sources',
    { schema: createSchema },
    async ({ body: { appId, format, createDevices, commandToken }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        if (commandToken !== undefined) requireCommands(format, 'commandToken');
        const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
        const source = await createSource(trx, sealer, { applicationId, format, createDevices, commandToken });
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'source.create', `source:${source.sourceId}`, { format, createDevices });
        return source;
      }),
  );
}

function addList(http: Http, { db }: Fleet): void {
  const listOptions = {
    preValidation: leaveOutEmpty('appId'),
    schema: {
      summary: 'List the sources of one application or of all, with when each was last seen and what it has sent',
      querystring: Type.Object({ appId: Type.Optional(AppId) }),
      response: answers(Type.Object({ sources: Type.Array(ListedSource) }), 'UNKNOWN_APPLICATION'),
    },
  };
  http.get('/v1/x/admin/sources', listOptions, async ({ query: { appId }, operator }) => ({
    sources: await listSources(db, await findListed(db, operator, appId)),
  }));
}

function addChanges(http: Http, { db }: Fleet): void {
  const secretSchema = {
    summary: 'Replace the secret of a source, shown only once; the old one stays valid for some hours',
    params: SourcePath,
    body: Type.Object({
      overlapHours: Type.Integer({
        minimum: 0,
        maximum: maxOverlapHours,
        default: 24,
        description: 'how long the old secret stays valid, at most until the new one is used; 0 ends it at once',
      }),
    }),
    response: answers(SourceSecret, 'NOT_FOUND'),
  };
  http.post(
    '/v1/x/admin/sources/:id/secret',
    { schema: secretSchema },
    async ({ params: { id }, body: { overlapHours }, ip, operator }) =>
      db.transaction().execute(async (trx) => {
        const { applicationId } = await lockSource(trx, operator, id);
        const secret = await rotateSecret(trx, id, overlapHours);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await auditChange(trx, origin, 'source.secret', `source:${id}`, { overlapHours });
        return secret;
      }),
  );
  const deleteSchema = {
    summary: 'Delete a source: its secrets are invalid at once; what it has sent stays',
    params: SourcePath,
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.delete('/v1/x/admin/sources/:id', { schema: deleteSchema }, async ({ params: { id }, ip, operator }) => {
    await db.transaction().execute(async (trx) => {
      const { applicationId } = await lockSource(trx, operator, id);
      await deleteSource(trx, id);
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'source.delete', `source:${id}`);
    });
    return {};
  });
}

/** The tokens by which the gateway sends commands to other systems: stored sealed, and never shown. */
function addCommandTokens(http: Http, { db, sealer }: Fleet): void {
  const change = (request: OperatorRequest & { params: { id: string } }, token: string | undefined) =>
    db.transaction().execute(async (trx) => {
      const { id } = request.params;
      const { applicationId, format } = await lockSource(trx, request.operator, id);
      if (token !== undefined) requireCommands(format, 'token');
      await trx
        .updateTable('source')
        .set(commandTokenColumns(sealer, id, token))
        .where('id', '=', id)
        .execute();
      const action = token === undefined ? 'source.command-token.remove' : 'source.command-token.set';
      await auditChange(trx, operatorOrigin(request, applicationId), action, `source:${id}`);
    });

  const setTokenSchema = {
    summary: 'Set or replace the token by which commands are sent to a source of the format flespi',
    params: SourcePath,
    body: Type.Object({ token: CommandToken }),
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.put('/v1/x/admin/sources/:id/command-token', { schema: setTokenSchema }, async (request) => {
    await change(request, request.body.token);
    return {};
  });
  const removeTokenSchema = {
    summary: 'Remove the token of a source: its devices take no commands any more',
    params: SourcePath,
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.delete('/v1/x/admin/sources/:id/command-token', { schema: removeTokenSchema }, async (request) => {
    await change(request, undefined);
    return {};
  });
}

function addReseal(http: Http, { db, sealer }: Fleet): void {
  const resealSchema = {
    summary: 'Seal the command tokens of all sources under the first of ENCRYPTION_KEYS',
    response: answers(
      Type.Object(
        { resealed: Type.Integer(), unreadable: Type.Integer(), total: Type.Integer() },
        { title: 'Resealed' },
      ),
    ),
  };
  http.post('/v1/x/admin/sources/reseal', { schema: resealSchema }, async ({ ip, operator }) => {
    const counted = await resealCommandTokens(db, sealer);
    await auditChange(db, operatorOrigin({ ip, operator }), 'source.reseal', 'sources', { ...counted });
    return counted;
  });
}
interface NewSource {
  readonly applicationId: number;
  readonly format: SourceFormatName;
  readonly createDevices: boolean;
  /** The token by which commands are sent to the other system. */
  readonly commandToken: string | undefined;
}

/** The columns of a command token, sealed; of none when undefined. */
function commandTokenColumns(sealer: Sealer, sourceId: string, token: string | undefined) {
  const sealed = token === undefined ? null : sealer.seal(Buffer.from(token), sourceTokenContext(sourceId));
  return { sealed_command_token: sealed, takes_commands: sealed !== null };
}

/** Creates a source. */
export async function createSource(
  db: Database,
  sealer: Sealer,
  source: NewSource,
): Promise<Type.Static<typeof SourceSecret>> {
  const secret = createSecret();
  const id = randomUUID();
  await db
    .insertInto('source')
    .values({
      id,
      ...commandTokenColumns(sealer, id, source.commandToken),
      application_id: source.applicationId,
      format: source.format,
      create_devices: source.createDevices,
      secret_sha256: hashSecret(secret),
    })
    .execute();
  return { sourceId: id, secret };
}

/** Lists sources with counts that are a few seconds old, by the time of their creation: those of some applications, or all. */
async function listSources(
  db: Database,
  among: readonly number[] | undefined,
): Promise<Type.Static<typeof ListedSource>[]> {
  const rows = await db
    .selectFrom('source')
    .innerJoin('application', 'application.id', 'source.application_id')
    .select(['source.id', 'app_id', 'format', 'create_devices', 'takes_commands'])
    .select(['source.created_at', 'last_seen_at'])
    .select(['messages', 'unknown_messages', 'refused_requests'])
    .select(sql<number>`(select count(*)::integer from source_device where source_id = source.id)`.as('devices'))
    .where('source.deleted_at', 'is', null)
    .where('application.deleted_at', 'is', null)
    .$if(among !== undefined, (query) =>
      query.where(sql<boolean>`source.application_id = any (${[...(among ?? [])]}::integer[])`),
    )
    .orderBy('source.created_at')
    .orderBy('source.id')
    .execute();
  return rows.map((row) => ({
    ...{ sourceId: row.id, appId: row.app_id, format: row.format, createDevices: row.create_devices },
    takesCommands: row.takes_commands,
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.last_seen_at?.toISOString() ?? null,
    ...{ messages: row.messages, devices: row.devices },
    ...{ unknownMessages: row.unknown_messages, refusedRequests: row.refused_requests },
  }));
}

/** Locks a source for a change in this transaction. @throws Failure NOT_FOUND */
async function lockSource(db: Database, { applicationIds }: Operator, id: string) {
  if (!isUuid(id)) throw new Failure('NOT_FOUND', 'no such source');
  const source = await db
    .selectFrom('source')
    .select(['application_id as applicationId', 'format'])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (!source || applicationIds?.includes(source.applicationId) === false) {
    throw new Failure('NOT_FOUND', 'no such source');
  }
  return source;
}

/**
 * Replaces the secret of a source. @returns the new secret
 * @param overlapHours how long the old secret stays valid, at most until the first use of the new one; 0 ends it at once
 */
async function rotateSecret(db: Database, id: string, overlapHours: number): Promise<Type.Static<typeof SourceSecret>> {
  const secret = createSecret();
  const previous =
    overlapHours === 0
      ? { previous_secret_sha256: null, previous_secret_until: null }
      : {
          previous_secret_sha256: sql<Buffer>`secret_sha256`,
          previous_secret_until: sql<Date>`now() + make_interval(hours => ${overlapHours})`,
        };
  await db
    .updateTable('source')
    .set({ secret_sha256: hashSecret(secret), ...previous })
    .where('id', '=', id)
    .execute();
  return { sourceId: id, secret };
}

/** Seals every command token under the newest of ENCRYPTION_KEYS. */
async function resealCommandTokens(db: Database, sealer: Sealer): Promise<Resealed> {
  const counts = { resealed: 0, unreadable: 0, total: 0 };
  const rows = await db.selectFrom('source').select(['id', 'sealed_command_token as sealed']).execute();
  for (const { id, sealed } of rows) {
    if (sealed === null) continue;
    counts.total += 1;
    if (!sealer.canOpen(sealed)) counts.unreadable += 1;
    else if (!sealer.isCurrent(sealed)) {
      const context = sourceTokenContext(id);
      const { numUpdatedRows } = await db
        .updateTable('source')
        .set({ sealed_command_token: sealer.seal(sealer.open(sealed, context), context) })
        .where('id', '=', id)
        // A token replaced concurrently is sealed under the newest key already.
        .where('sealed_command_token', '=', sealed)
        .executeTakeFirst();
      counts.resealed += Number(numUpdatedRows);
    }
  }
  return counts;
}

/** Deletes a source: its secrets are invalid at once. What it has sent stays. */
async function deleteSource(db: Database, id: string): Promise<void> {
  await db
    .updateTable('source')
    .set({
      deleted_at: sql<Date>`now()`,
      previous_secret_sha256: null,
      previous_secret_until: null,
      sealed_command_token: null,
      takes_commands: false,
    })
    .where('id', '=', id)
    .execute();
}

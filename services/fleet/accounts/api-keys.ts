import {
  type ApiKeyScope,
  apiKeyScopes,
  type Caller,
  type Operator,
  seesApplication,
} from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { findApplicationId } from '@odograph/database/accounts';
import { type AuditOrigin, auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Http } from '@odograph/http/http';
import { AppId, answers, EmptyAnswer, moment, text, timestamp, word } from '@odograph/http/schemas';
import { ApiKeyUses } from '@odograph/runtime/api-key-uses';
import { parseNetworks } from '@odograph/runtime/network-address';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

const maxKeys = 100;
const tags = ['api keys'];
const KeyPath = Type.Object({ id: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000008'] }) });
const fields = {
  name: text(1, 64, {
    description: 'unique in the application, ignoring case; appears in the audit',
    examples: ['export'],
  }),
  scopes: Type.Array(word(apiKeyScopes), {
    minItems: 1,
    maxItems: apiKeyScopes.length,
    description:
      'read: requests that only read; write: changes; commands: remote actions, and the tokens and keys that open ' +
      'vehicles; admin: webhooks, notifications, report schedules and groups, and the operator routes, limited to the ' +
      'application',
  }),
  networks: Type.Array(text(1, 64, { examples: ['192.0.2.0/24'] }), {
    maxItems: 32,
    description: 'networks in CIDR notation, or addresses, from which the key is accepted; empty: any',
  }),
};
const NewKey = Type.Object({
  name: fields.name,
  scopes: Type.Unsafe<ApiKeyScope[]>(fields.scopes),
  networks: Type.Unsafe<string[]>({ ...fields.networks, default: [] }),
  expiresAt: Type.Optional(timestamp('expiry; default: never')),
});
const OperatorsKey = Type.Object({ appId: AppId, ...NewKey.properties });
const ListedKey = Type.Object(
  {
    ...{ id: KeyPath.properties.id, ...fields },
    createdAt: moment('creation'),
    expiresAt: Type.Union([moment('expiry'), Type.Null()]),
    usedAt: Type.Union([moment('last use, to the minute, if known'), Type.Null()]),
  },
  { title: 'ApiKey' },
);
const CreatedKey = Type.Object(
  { id: KeyPath.properties.id, key: Type.String({ examples: ['app-7f3a.q83vEjRWeJCrze8SNFZ4kA'] }) },
  { title: 'CreatedApiKey' },
);
const KeyList = Type.Object({ apiKeys: Type.Array(ListedKey) }, { title: 'ApiKeys' });

/** Routes for the API keys of an application, for the application itself and for operators. */
export const apiKeys: FleetRoutes = { token: [addOwnRoutes], operator: [addOperatorRoutes] };

/** Rejects users and API keys: a key that could create keys would survive its revocation. @throws Failure UNAUTHORIZED */
function requireApplication({ userId, apiKey }: Caller): void {
  if (userId !== undefined) throw new Failure('UNAUTHORIZED', 'API keys belong to the application, not to a user');
  requireNoKey(apiKey);
}

/** The routes for operators set limits of the application. @throws Failure UNAUTHORIZED unless an operator gives the scope `admin` */
function requireGiver({ operatorName }: Caller, scopes: readonly ApiKeyScope[]): void {
  if (operatorName === undefined && scopes.includes('admin')) {
    throw new Failure('UNAUTHORIZED', 'only an operator can create an API key with the scope admin');
  }
}

function requireNoKey(apiKey: Caller['apiKey']): void {
  if (apiKey !== undefined) throw new Failure('UNAUTHORIZED', 'an API key cannot manage API keys');
}

function addOwnRoutes(http: Http, fleet: Fleet): void {
  const path = '/v1/x/api-keys';
  const config = { right: ['administrator', 'application'] as const };
  http.addHook('preValidation', async ({ caller }) => requireApplication(caller));
  const createSchema = {
    tags,
    summary: 'Create an API key of the application without the scope admin; it is shown only once',
    body: NewKey,
    response: answers(CreatedKey, 'UNAUTHORIZED', 'ALREADY_EXISTS', 'TOO_MANY'),
  };
  http.post(path, { config, schema: createSchema }, async (request) => {
    requireGiver(request.caller, request.body.scopes);
    return createKey(fleet, originOf(request), request.body);
  });
  const listSchema = {
    tags,
    summary: 'List the API keys of the application',
    response: answers(KeyList, 'UNAUTHORIZED'),
  };
  http.get(path, { schema: listSchema }, async ({ caller }) => ({
    apiKeys: await listKeys(fleet, caller.applicationId),
  }));
  const deleteSchema = {
    tags,
    summary: 'Delete an API key; it stops working at once',
    params: KeyPath,
    response: answers(EmptyAnswer, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.delete(`${path}/:id`, { config, schema: deleteSchema }, async (request) => {
    const { applicationId } = request.caller;
    await deleteKey(fleet, { applicationIds: [applicationId] }, request.params.id, () => originOf(request));
    return {};
  });
}

function addOperatorRoutes(http: Http, fleet: Fleet): void {
  const path = '/v1/x/admin/api-keys';
  http.addHook('preValidation', async ({ operator }) => requireNoKey(operator.apiKey));
  const createSchema = {
    summary: 'Create an API key of an application; it is shown only once',
    body: OperatorsKey,
    response: answers(CreatedKey, 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS', 'TOO_MANY'),
  };
  http.post(path, { schema: createSchema }, async ({ body: { appId, ...key }, ip, operator }) => {
    const applicationId = await findApplicationId(fleet.db, appId, operator.applicationIds);
    return createKey(fleet, operatorOrigin({ ip, operator }, applicationId), key);
  });
  const listSchema = {
    summary: 'List the API keys of an application',
    querystring: Type.Object({ appId: AppId }),
    response: answers(KeyList, 'UNKNOWN_APPLICATION'),
  };
  http.get(path, { schema: listSchema }, async ({ query: { appId }, operator }) => ({
    apiKeys: await listKeys(fleet, await findApplicationId(fleet.db, appId, operator.applicationIds)),
  }));
  const deleteSchema = {
    summary: 'Delete an API key; it stops working at once',
    params: KeyPath,
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.delete(`${path}/:id`, { schema: deleteSchema }, async ({ params: { id }, ip, operator }) => {
    await deleteKey(fleet, operator, id, (applicationId) => operatorOrigin({ ip, operator }, applicationId));
    return {};
  });
}

/** @throws Failure INVALID_PARAMETER */
function requireNetworks(networks: readonly string[]): void {
  const isNetwork = (one: string) => !one.includes(',') && parseNetworks(one) !== undefined;
  if (!networks.every(isNetwork)) throw invalidParameter('networks', 'must be networks, such as 192.0.2.0/24');
}

/** Parses the expiry of a new key. @returns null if it does not expire @throws Failure INVALID_PARAMETER */
function readExpiry(expiresAt: Timestamp | undefined): Date | null {
  if (expiresAt === undefined) return null;
  const date = new Date(Number(parseTimestamp('expiresAt', expiresAt) / 1000n));
  if (date.getTime() <= Date.now()) throw invalidParameter('expiresAt', 'is in the past');
  return date;
}

/** Locks an application, so that concurrent requests cannot exceed the limit. @returns its appId */
async function lockForCreation(db: Database, applicationId: number): Promise<string> {
  const application = await db
    .selectFrom('application')
    .select('app_id')
    .where('id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!application) throw new Failure('UNKNOWN_APPLICATION');
  const keys = await db.selectFrom('api_key').select('id').where('application_id', '=', applicationId).execute();
  if (keys.length >= maxKeys) throw new Failure('TOO_MANY', `an application has at most ${maxKeys} API keys`);
  return application.app_id;
}

const nameIsTaken = 'the application already has an API key with this name, ignoring case';

/** Creates an API key of the application `origin.chain`. @throws Failure ALREADY_EXISTS, TOO_MANY, INVALID_PARAMETER */
async function createKey(
  { db }: Fleet,
  origin: AuditOrigin,
  { name, scopes: given, networks, expiresAt }: Type.Static<typeof NewKey>,
): Promise<{ id: string; key: string }> {
  requireNetworks(networks);
  const expires_at = readExpiry(expiresAt);
  const scopes = apiKeyScopes.filter((scope) => given.includes(scope));
  return db.transaction().execute(async (trx) => {
    const appId = await lockForCreation(trx, origin.chain);
    const key = `${appId}.${createSecret()}`;
    const row = { application_id: origin.chain, key_sha256: hashSecret(key), name, scopes, networks, expires_at };
    const insertion = trx.insertInto('api_key').values(row).returning('id');
    const { id } = await failOnConstraint({ api_key_name: ['ALREADY_EXISTS', nameIsTaken] }, () =>
      insertion.executeTakeFirstOrThrow(),
    );
    const details = {
      scopes: scopes.join(' '),
      networks: networks.join(' '),
      expiresAt: expires_at?.toISOString() ?? null,
    };
    await auditChange(trx, origin, 'api-key.create', `api-key:${name}`, details);
    return { id, key };
  });
}

/** Lists the API keys of an application by name. */
async function listKeys({ db, redis, config }: Fleet, applicationId: number): Promise<Type.Static<typeof ListedKey>[]> {
  const rows = await db
    .selectFrom('api_key')
    .select(['id', 'name', 'scopes', 'networks', 'created_at', 'expires_at'])
    .where('application_id', '=', applicationId)
    .orderBy(sql`lower(name)`)
    .execute();
  const uses = await new ApiKeyUses(redis, config.QUEUE_PREFIX).read(rows.map(({ id }) => id));
  return rows.map(({ created_at, expires_at, ...row }, index) => ({
    ...row,
    createdAt: created_at.toISOString(),
    expiresAt: expires_at?.toISOString() ?? null,
    usedAt: uses[index]?.toISOString() ?? null,
  }));
}

/** Deletes an API key that is visible to the operator. @throws Failure NOT_FOUND */
async function deleteKey(
  { db, redis, config }: Fleet,
  operator: Pick<Operator, 'applicationIds'>,
  id: string,
  originIn: (applicationId: number) => AuditOrigin,
): Promise<void> {
  if (!isUuid(id)) throw new Failure('NOT_FOUND');
  await db.transaction().execute(async (trx) => {
    const row = await findKey(trx, id);
    if (!row || !seesApplication(operator, row.applicationId)) throw new Failure('NOT_FOUND');
    await trx.deleteFrom('api_key').where('id', '=', id).execute();
    await auditChange(trx, originIn(row.applicationId), 'api-key.delete', `api-key:${row.name}`);
  });
  // Redis holds only the time of last use, so the key is deleted even if this fails.
  await new ApiKeyUses(redis, config.QUEUE_PREFIX).forget(id).catch(() => undefined);
}

const findKey = (db: Database, id: string) =>
  db
    .selectFrom('api_key')
    .select(['application_id as applicationId', 'name'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();

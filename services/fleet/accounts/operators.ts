import { type OperatorRequest, type OperatorRole, operatorRoles } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId, signInHasExpired } from '@odograph/database/accounts';
import { type AuditEntry, auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, word } from '@odograph/http/schemas';
import { ExpectedVersion, requireVersion, Version, versionOf } from '@odograph/http/versions';
import { createSecret } from '@odograph/runtime/secrets';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { hashPassword } from './passwords.ts';
import { removeFactorsOf } from './second-factors.ts';

const passwordLength = 20;
const namePattern = '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$';
/** Tests whether a name is a valid operator name. */
export const isOperatorName = (name: string): boolean => new RegExp(namePattern).test(name);
const Name = Type.String({
  pattern: namePattern,
  description: '1 to 64 of A-Z a-z 0-9 . _ @ -, to sign in with',
  examples: ['alex'],
});
const NamePath = Type.Object({ name: Type.String({ examples: ['alex'] }) });
const role = {
  ...word(operatorRoles),
  description:
    'viewer: reads; operator: also vehicles, devices, requests, quarantine and registration data; administrator: everything',
};
const Role = Type.Unsafe<OperatorRole>(role);
const AppIds = Type.Array(AppId, {
  maxItems: 1000,
  description: 'applications that the operator is limited to; without one, the operator sees all',
});
const ListedOperator = Type.Object(
  {
    name: Name,
    role: Role,
    appIds: AppIds,
    mustChangePassword: Type.Boolean(),
    hasSecondFactor: Type.Boolean({ description: 'an authenticator or a passkey' }),
    version: Version,
    createdAt: moment('when it was created'),
    usedAt: Type.Union([moment('when a session that has not ended was last in use'), Type.Null()]),
  },
  { title: 'ListedOperator' },
);
const NewPassword = Type.Object(
  { name: Name, password: Type.String({ examples: ['q83vEjRWeJCrze8SNFZ4'] }) },
  { title: 'OperatorPassword' },
);

/** A password that no one needs to remember for long. */
const createPassword = (): string => createSecret().slice(0, passwordLength);

/** Finds the applications of a limit. @throws Failure UNKNOWN_APPLICATION */
async function findLimit(db: Database, appIds: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const appId of appIds) ids.push(await findApplicationId(db, appId));
  return ids;
}

async function record(
  trx: Database,
  request: OperatorRequest,
  { name, action, details = {} }: { name: string; action: string; details?: NonNullable<AuditEntry['details']> },
): Promise<void> {
  await auditChange(trx, operatorOrigin(request), action, `operator:${name}`, details);
}

/** Routes for the operators themselves. */
export const operators: FleetRoutes = { operator: [addList, addCreation, addChange, addEnds] };

function addList(http: Http, { db }: Fleet): void {
  const listSchema = {
    summary: 'List the operators',
    response: answers(Type.Object({ operators: Type.Array(ListedOperator) })),
  };
  http.get('/v1/x/admin/operators', { schema: listSchema }, async () => ({
    operators: await listOperators(db),
  }));
}

function addCreation(http: Http, { db }: Fleet): void {
  const createSchema = {
    summary: 'Create an operator; its password is shown only once',
    body: Type.Object({
      name: Name,
      role: Role,
      appIds: Type.Unsafe<string[]>({ ...AppIds, default: [] }),
      mustChangePassword: Type.Boolean({ default: false }),
    }),
    response: answers(NewPassword, 'UNKNOWN_APPLICATION', 'ALREADY_EXISTS'),
  };
  http.post('/v1/x/admin/operators', { schema: createSchema }, async (request) => {
    const { name, appIds, ...rest } = request.body;
    const password = createPassword();
    const account = { name, ...rest, passwordHash: await hashPassword(password) };
    await db.transaction().execute(async (trx) => {
      const limit = await findLimit(trx, appIds);
      await limitOperator(trx, await createOperator(trx, account), limit);
      const details = { role: rest.role, appIds: appIds.join(' ') };
      await record(trx, request, { name, action: 'operator.create', details });
    });
    return { name, password };
  });
}

function addChange(http: Http, { db }: Fleet): void {
  const changeOptions = {
    preValidation: leaveOutEmpty('role'),
    schema: {
      summary: 'Change the role or the applications of an operator; its sessions have the new ones at once',
      description: 'The last administrator without a limit to applications keeps role and applications.',
      params: NamePath,
      body: Type.Object({ role: Type.Optional(Role), appIds: Type.Optional(AppIds), version: ExpectedVersion }),
      response: answers(
        ListedOperator,
        'UNKNOWN_USER',
        'UNKNOWN_APPLICATION',
        'LAST_ADMINISTRATOR',
        'CHANGED_MEANWHILE',
      ),
    },
  };
  http.put('/v1/x/admin/operators/:name', changeOptions, async (request) => {
    const { role, appIds, version } = request.body;
    return db.transaction().execute(async (trx) => {
      const operator = await lockOperator(trx, request.params.name);
      const { id, name } = operator;
      const [current] = await listOperators(trx, id);
      requireVersion(version, { role: current?.role, appIds: current?.appIds });
      if (role !== undefined) await trx.updateTable('operator').set({ role }).where('id', '=', id).execute();
      if (appIds !== undefined) await limitOperator(trx, id, await findLimit(trx, appIds));
      await requireAdministrator(trx, operator);
      const details = { ...(role && { role }), ...(appIds && { appIds: appIds.join(' ') }) };
      const [changed] = await listOperators(trx, id);
      await record(trx, request, { name, action: 'operator.change', details });
      if (!changed) throw new Error('the locked operator is gone');
      return changed;
    });
  });
}

/** Adds the routes that end an operator's sessions: password and second factor reset, sign-out and deletion. */
function addEnds(http: Http, { db }: Fleet): void {
  const change = async (
    request: OperatorRequest & { params: { name: string } },
    action: string,
    set: { deleted_at?: RawBuilder<Date>; password_hash?: string; must_change_password?: boolean } = {},
    endsFactor = set.deleted_at !== undefined,
  ): Promise<string> =>
    db.transaction().execute(async (trx) => {
      const operator = await lockOperator(trx, request.params.name);
      if (Object.keys(set).length > 0) {
        await trx.updateTable('operator').set(set).where('id', '=', operator.id).execute();
      }
      await trx.deleteFrom('sign_in').where('operator_id', '=', operator.id).execute();
      if (endsFactor) await removeFactorsOf(trx, operator.id);
      await requireAdministrator(trx, operator);
      await record(trx, request, { name: operator.name, action });
      return operator.name;
    });

  const passwordSchema = {
    summary: 'Replace the password of an operator, shown only once; its sessions end, and it must choose another one',
    params: NamePath,
    response: answers(NewPassword, 'UNKNOWN_USER', 'UNAUTHORIZED'),
  };
  http.post('/v1/x/admin/operators/:name/password', { schema: passwordSchema }, async (request) => {
    await requirePassword(db, request.params.name);
    const password = createPassword();
    const replacement = { password_hash: await hashPassword(password), must_change_password: true };
    const name = await change(request, 'operator.reset', replacement);
    return { name, password };
  });
  const sessionsSchema = {
    summary: 'End all sessions of an operator',
    params: NamePath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER'),
  };
  http.delete('/v1/x/admin/operators/:name/sessions', { schema: sessionsSchema }, async (request) => {
    await change(request, 'operator.sessions.end');
    return {};
  });
  const factorSchema = {
    summary: 'Remove the authenticator and the passkeys of an operator; its sessions end',
    params: NamePath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER'),
  };
  http.delete('/v1/x/admin/operators/:name/second-factor', { schema: factorSchema }, async (request) => {
    await change(request, 'operator.second-factor.reset', {}, true);
    return {};
  });
  const deleteSchema = {
    summary: 'Delete an operator; its sessions end',
    params: NamePath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER', 'LAST_ADMINISTRATOR'),
  };
  http.delete('/v1/x/admin/operators/:name', { schema: deleteSchema }, async (request) => {
    await change(request, 'operator.delete', { deleted_at: sql<Date>`now()`, password_hash: '' });
    return {};
  });
}

/** Creates an operator. @returns its id. @throws Failure ALREADY_EXISTS if the name is taken, ignoring case */
export async function createOperator(
  db: Database,
  operator: { name: string; role: OperatorRole; passwordHash: string; mustChangePassword: boolean },
): Promise<string> {
  const taken = 'there is an operator of this name already, in upper or lower case';
  const { name, role, passwordHash: password_hash, mustChangePassword: must_change_password } = operator;
  const insertion = db.insertInto('operator').values({ name, role, password_hash, must_change_password });
  const { id } = await failOnConstraint({ operator_name: ['ALREADY_EXISTS', taken] }, () =>
    insertion.returning('id').executeTakeFirstOrThrow(),
  );
  return id;
}

/** Limits an operator to applications; to none of them, which is no limit, if the list is empty. */
export async function limitOperator(db: Database, id: string, applicationIds: readonly number[]): Promise<void> {
  await db.deleteFrom('operator_application').where('operator_id', '=', id).execute();
  await sql`insert into operator_application (operator_id, application_id)
    select distinct ${id}::uuid, one from unnest(${[...applicationIds]}::integer[]) as one`.execute(db);
}

/** Rejects operators of the identity provider: a password would survive removal there. @throws Failure UNAUTHORIZED */
async function requirePassword(db: Database, name: string): Promise<void> {
  const operator = await db
    .selectFrom('operator')
    .select('oidc_subject')
    .where(sql`lower(name)`, '=', sql`lower(${name})`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (operator?.oidc_subject == null) return;
  throw new Failure('UNAUTHORIZED', 'the operator signs in at the identity provider, and has no password');
}

/** Tests in SQL that an operator administers the platform: an administrator without a limit to applications. */
const administersPlatform = sql<boolean>`deleted_at is null and role = 'administrator'
  and not exists (select from operator_application where operator_id = operator.id)`;

/**
 * Locks an operator for a change in this transaction, and all administrators: changes that run at once must not leave none.
 * @throws Failure UNKNOWN_USER
 */
async function lockOperator(db: Database, name: string) {
  const isNamed = sql<boolean>`lower(name) = lower(${name})`;
  await db
    .selectFrom('operator')
    .select('id')
    .where('deleted_at', 'is', null)
    .where((where) => where.or([isNamed, where('role', '=', 'administrator')]))
    .orderBy('id')
    .forUpdate()
    .execute();
  // A statement of its own sees what the transactions that it waited for have written.
  const operator = await db
    .selectFrom('operator')
    .select(['id', 'name', administersPlatform.as('administersPlatform')])
    .where(isNamed)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!operator) throw new Failure('UNKNOWN_USER', 'no such operator');
  return operator;
}

/**
 * Requires that the change of a locked operator, which is written, has not ended the administration of the platform.
 * @throws Failure LAST_ADMINISTRATOR
 */
async function requireAdministrator(db: Database, changed: { administersPlatform: boolean }): Promise<void> {
  if (!changed.administersPlatform) return;
  const remaining = await db.selectFrom('operator').select('id').where(administersPlatform).limit(1).execute();
  if (remaining.length > 0) return;
  throw new Failure(
    'LAST_ADMINISTRATOR',
    'this is the last administrator of the platform: make another operator an administrator first',
  );
}

/** Lists the operators by name, or only the one with this id. */
async function listOperators(db: Database, id?: string): Promise<Type.Static<typeof ListedOperator>[]> {
  const rows = await db
    .selectFrom('operator')
    .select(['name', 'role', 'must_change_password', 'created_at'])
    .select([
      sql<string[]>`array(select app_id from operator_application
        join application on application.id = application_id where operator_id = operator.id order by application.id)`.as(
        'app_ids',
      ),
      sql<Date | null>`(select max(used_at) from sign_in
        where operator_id = operator.id and not ${signInHasExpired})`.as('used_at'),
      sql<boolean>`exists (select from second_factor where operator_id = operator.id and confirmed_at is not null)
        or exists (select from passkey where operator_id = operator.id)`.as('has_second_factor'),
    ])
    .where('deleted_at', 'is', null)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy(sql`lower(name)`)
    .execute();
  return rows.map((row) => ({
    ...{ name: row.name, role: row.role, appIds: row.app_ids, mustChangePassword: row.must_change_password },
    hasSecondFactor: row.has_second_factor,
    createdAt: row.created_at.toISOString(),
    usedAt: row.used_at?.toISOString() ?? null,
    version: versionOf({ role: row.role, appIds: row.app_ids }),
  }));
}

import {
  mustAddSecondFactor,
  operatorRoles,
  type SignedIn,
  type SignInMethod,
  signInMethods,
} from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { signInHasExpired } from '@odograph/database/accounts';
import { auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { AppId, answers, EmptyAnswer, moment, Password, word } from '@odograph/http/schemas';
import { clearSessionToken, readSessionToken, setSessionToken } from '@odograph/http/session-cookie';
import type { Config } from '@odograph/runtime/config';
import { createToken, hashSecret } from '@odograph/runtime/secrets';
import type { FastifyRequest } from 'fastify';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { hashPassword, NewPassword, passwordMatches, requirePasswordLength } from './passwords.ts';
import { changePassword, endSessions, findPasswordHash } from './tokens.ts';

const state = {
  mustChangePassword: Type.Boolean(),
  hasPassword: Type.Boolean({ description: 'false for operators who sign in through the identity provider' }),
  hasSecondFactor: Type.Boolean({ description: 'signing in requires a password and a code' }),
};
const timeZone = Type.String({ description: 'IANA time zone of the application', examples: ['Europe/Paris'] });
const SignedInOperator = Type.Object(
  {
    kind: word(['operator']),
    name: Type.String({ examples: ['alex'] }),
    role: word(operatorRoles),
    limited: Type.Boolean({ description: 'whether the operator sees only these applications' }),
    applications: Type.Array(Type.Object({ appId: AppId, name: Type.String({ examples: ['Car sharing'] }), timeZone })),
    ...state,
    mustAddSecondFactor: Type.Boolean({
      description: 'the role requires a second factor; until it is added, all other requests are refused',
    }),
  },
  { title: 'SignedInOperator' },
);
const SignedInUser = Type.Object(
  {
    kind: word(['user']),
    username: Type.String({ examples: ['alex'] }),
    userId: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000006'] }),
    appId: AppId,
    applicationName: Type.String({ examples: ['Car sharing'] }),
    timeZone,
    ...state,
  },
  { title: 'SignedInUser' },
);
export const SignedInPerson = Type.Union([SignedInOperator, SignedInUser], { title: 'SignedInPerson' });
type Person = Type.Static<typeof SignedInPerson>;
const SessionPath = Type.Object({ id: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000009'] }) });
const ListedSession = Type.Object(
  {
    id: SessionPath.properties.id,
    createdAt: moment('when it began'),
    usedAt: moment('when it was last used, to 10 minutes'),
    method: word(signInMethods),
    address: Type.String({ description: 'network address of the sign-in', examples: ['192.0.2.17'] }),
    browser: Type.String({ description: 'User-Agent of the sign-in', examples: ['Mozilla/5.0 Firefox/140.0'] }),
    isCurrent: Type.Boolean({ description: 'the session of this request' }),
  },
  { title: 'BrowserSession' },
);

/** The hash of the token of the session that a request belongs to. */
export const sessionOf = (request: FastifyRequest): Buffer => hashSecret(readSessionToken(request) ?? '');

/** Routes for the browser sessions and the password of a person. */
export const sessions: FleetRoutes = { session: [addSessionRoutes, addSessionList, addPasswordRoute] };

function addSessionRoutes(http: Http, { db, config }: Fleet): void {
  const showSchema = {
    tags: ['sessions'],
    summary: 'Show who is signed in, and keep the session alive',
    response: answers(SignedInPerson),
  };
  http.get('/v1/x/session', { schema: showSchema }, async (request) => describePerson(db, sessionOf(request), config));
  const signOutSchema = { tags: ['sessions'], summary: 'Sign out', response: answers(EmptyAnswer) };
  http.delete('/v1/x/session', { schema: signOutSchema }, async (request, reply) => {
    await signOut(db, sessionOf(request));
    clearSessionToken(request, reply);
    return {};
  });
  const signOutEverywhereSchema = {
    tags: ['sessions'],
    summary: 'Sign out everywhere: all sessions of the person end, with the access tokens of a user',
    response: answers(EmptyAnswer),
  };
  http.delete('/v1/x/sessions', { schema: signOutEverywhereSchema }, async (request, reply) => {
    await signOutEverywhere(db, request.signedIn);
    clearSessionToken(request, reply);
    return {};
  });
}

function addSessionList(http: Http, { db }: Fleet): void {
  const listSchema = {
    tags: ['sessions'],
    summary: 'List the browser sessions of the person, latest first',
    response: answers(Type.Object({ sessions: Type.Array(ListedSession) })),
  };
  http.get('/v1/x/sessions', { schema: listSchema }, async (request) => ({
    sessions: await listSessions(db, request.signedIn, sessionOf(request)),
  }));
  const endSchema = {
    tags: ['sessions'],
    summary: 'End a browser session of the person',
    params: SessionPath,
    response: answers(EmptyAnswer, 'NOT_FOUND'),
  };
  http.delete('/v1/x/sessions/:id', { schema: endSchema }, async ({ signedIn, params: { id } }) => {
    const isEnded = isUuid(id) && (await endSignIns(db, sql`${ofPerson(signedIn)} and sign_in.id = ${id}`)) > 0;
    if (!isEnded) throw new Failure('NOT_FOUND', 'no such session');
    return {};
  });
}

/** Verifies the current password and stores the new one. @returns whether the current one was still the same */
async function replacePassword(
  { db, loginLimit }: Fleet,
  request: FastifyRequest,
  { currentPassword, newPassword }: { readonly currentPassword: string; readonly newPassword: string },
): Promise<boolean> {
  const { signedIn, ip: address } = request;
  const tokenSha256 = sessionOf(request);
  const verify = async (account: string, passwordHash: string | undefined): Promise<void> =>
    loginLimit.attempt({ account: ['password', account], address }, async () => {
      if (!(await passwordMatches(currentPassword, passwordHash))) throw new Failure('INVALID_OLD_PASSWORD');
    });
  if ('operator' in signedIn) {
    const operator = await selectOperators(db)
      .where('id', '=', signedIn.operator.id ?? '')
      .executeTakeFirst();
    if (!operator) throw new Failure('INVALID_TOKEN');
    await verify(operator.id, operator.passwordHash);
    const newHash = await hashPassword(newPassword);
    return db.transaction().execute(async (trx) => {
      if (!(await changeOperatorPassword(trx, operator, { newHash, tokenSha256 }))) return false;
      const actor = `operator:${operator.name}`;
      await auditChange(trx, { chain: operatorChain, actor, address }, 'operator.password', actor);
      return true;
    });
  }
  const { applicationId, userId } = signedIn.caller;
  const oldHash = await findPasswordHash(db, userId);
  await verify(userId, oldHash);
  const newHash = await hashPassword(newPassword);
  return db.transaction().execute(async (trx) => {
    if (!(await changePassword(trx, { userId, oldHash: oldHash ?? '', newHash, tokenSha256 }))) return false;
    const actor = `user:${userId}`;
    await auditChange(trx, { chain: applicationId, actor, address }, 'user.password', actor);
    return true;
  });
}

function addPasswordRoute(http: Http, fleet: Fleet): void {
  const passwordSchema = {
    tags: ['sessions'],
    summary: 'Change the password of the person who is signed in; other sessions of the person end',
    body: Type.Object({ currentPassword: Password, newPassword: NewPassword }),
    response: answers(EmptyAnswer, 'INVALID_OLD_PASSWORD', 'INVALID_PASSWORD_LENGTH'),
  };
  http.post('/v1/x/session/password', { schema: passwordSchema }, async (request, reply) => {
    requirePasswordLength(request.body.newPassword);
    if (!(await replacePassword(fleet, request, request.body))) throw new Failure('INVALID_OLD_PASSWORD');
    setSessionToken(request, reply, await replaceToken(fleet.db, sessionOf(request), createToken(fleet.config)));
    return {};
  });
}

export const selectOperators = (db: Database) =>
  db.selectFrom('operator').select(['id', 'name', 'password_hash as passwordHash']).where('deleted_at', 'is', null);

/** Ends the browser session with this token, if there is one. */
export async function signOut(db: Database, tokenSha256: Buffer): Promise<void> {
  await endSignIns(db, sql`token_sha256 = ${tokenSha256}`);
}

/** Builds SQL on `sign_in` that is true for the sessions of the signed-in person. */
function ofPerson(signedIn: SignedIn): RawBuilder<boolean> {
  if ('operator' in signedIn) return sql`sign_in.operator_id = ${signedIn.operator.id}`;
  const { userId } = signedIn.caller;
  return sql`sign_in.session_id in (select id from session where user_id = ${userId} and revoked_at is null)`;
}

async function listSessions(db: Database, signedIn: SignedIn, tokenSha256: Buffer) {
  const rows = await db
    .selectFrom('sign_in')
    .select(['id', 'created_at', 'used_at', 'method', 'address', 'browser'])
    .select(sql<boolean>`token_sha256 = ${tokenSha256}`.as('isCurrent'))
    .where(ofPerson(signedIn))
    .where(sql<boolean>`not ${signInHasExpired}`)
    .orderBy('created_at', 'desc')
    .execute();
  return rows.map(({ created_at, used_at, ...row }) => ({
    ...row,
    createdAt: created_at.toISOString(),
    usedAt: used_at.toISOString(),
  }));
}

/** Ends browser sessions. @param which SQL condition on `sign_in` @returns the number of ended sessions */
export async function endSignIns(db: Database, which: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ ended: number }>`
    with ended as (delete from sign_in where ${which} returning session_id),
      revoked as (update session set revoked_at = now() from ended where session.id = ended.session_id)
    select count(*)::integer as ended from ended`.execute(db);
  return rows[0]?.ended ?? 0;
}

/** Ends the other browser sessions after a change of second factors. @param method of the remaining session, if it changes */
export async function endOtherSessions(
  db: Database,
  signedIn: SignedIn,
  { tokenSha256, method }: { tokenSha256: Buffer; method: SignInMethod | undefined },
): Promise<void> {
  await endSignIns(db, sql`${ofPerson(signedIn)} and token_sha256 <> ${tokenSha256}`);
  if (method === undefined) return;
  await db.updateTable('sign_in').set({ method }).where('token_sha256', '=', tokenSha256).execute();
}

/** Ends all sessions of a person: those of an operator in browsers; those of a user with their access tokens. */
async function signOutEverywhere(db: Database, signedIn: SignedIn): Promise<void> {
  if ('caller' in signedIn) {
    await endSessions(db, signedIn.caller);
    return;
  }
  await db
    .deleteFrom('sign_in')
    .where('operator_id', '=', signedIn.operator.id ?? null)
    .execute();
}

/** Gives a browser session another token, so that a copy of the former one is worthless. @returns the new token */
async function replaceToken(db: Database, tokenSha256: Buffer, token: string): Promise<string> {
  await db
    .updateTable('sign_in')
    .set({ token_sha256: hashSecret(token) })
    .where('token_sha256', '=', tokenSha256)
    .execute();
  return token;
}

/**
 * Replaces the password of an operator and ends the other sessions of the operator; run it in a transaction.
 * @param tokenSha256 hash of the token of the session that stays
 * @returns false if the password has changed since it was checked
 */
async function changeOperatorPassword(
  db: Database,
  { id, passwordHash }: { id: string; passwordHash: string },
  { newHash, tokenSha256 }: { newHash: string; tokenSha256: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operator')
    .set({ password_hash: newHash, must_change_password: false })
    .where('id', '=', id)
    .where('password_hash', '=', passwordHash)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await db.deleteFrom('sign_in').where('operator_id', '=', id).where('token_sha256', '!=', tokenSha256).execute();
  return true;
}

async function describeOperator(
  db: Database,
  id: string,
): Promise<Omit<Type.Static<typeof SignedInOperator>, 'mustAddSecondFactor'> | undefined> {
  const { rows } = await sql<Omit<Type.Static<typeof SignedInOperator>, 'kind' | 'mustAddSecondFactor'>>`
    with limits as (select application_id from operator_application where operator_id = ${id})
    select name, role, exists (select from limits) as limited, must_change_password as "mustChangePassword",
      oidc_subject is null as "hasPassword",
      exists (select from second_factor where operator_id = ${id} and confirmed_at is not null) as "hasSecondFactor",
      (select coalesce(json_agg(json_build_object('appId', app_id, 'name', application.name, 'timeZone', time_zone)
          order by application.id), '[]')
        from application where application.deleted_at is null
          and (not exists (select from limits) or application.id in (select application_id from limits))) as applications
    from operator where id = ${id} and deleted_at is null`.execute(db);
  return rows[0] && { kind: 'operator', ...rows[0] };
}

async function describeUser(db: Database, userId: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom('user_account')
    .innerJoin('application', 'application.id', 'user_account.application_id')
    .select(['username', 'user_account.id as userId', 'app_id as appId', 'application.name as applicationName'])
    .select(sql<string>`time_zone`.as('timeZone'))
    .select('must_change_password as mustChangePassword')
    .select(
      sql<boolean>`exists (select from second_factor where user_id = ${userId} and confirmed_at is not null)`.as(
        'hasSecondFactor',
      ),
    )
    .where('user_account.id', '=', userId)
    .where('user_account.deleted_at', 'is', null)
    .executeTakeFirst();
  return row && { kind: 'user', hasPassword: true, ...row };
}

/** Describes the person of a session and records that the session is in use. @throws Failure INVALID_TOKEN if it has ended */
export async function describePerson(
  db: Database,
  tokenSha256: Buffer,
  { SECOND_FACTOR_ROLE }: Pick<Config, 'SECOND_FACTOR_ROLE'>,
): Promise<Person> {
  const used = await db
    .updateTable('sign_in')
    .set({ used_at: sql<Date>`now()` })
    .where('token_sha256', '=', tokenSha256)
    .returning(({ selectFrom }) => [
      'operator_id as operatorId',
      'method',
      selectFrom('session').select('user_id').whereRef('session.id', '=', 'sign_in.session_id').as('userId'),
    ])
    .executeTakeFirst();
  if (!used) throw new Failure('INVALID_TOKEN');
  const { operatorId, userId, method } = used;
  const operator = operatorId === null ? undefined : await describeOperator(db, operatorId);
  if (operator) {
    return { ...operator, mustAddSecondFactor: mustAddSecondFactor(operator.role, method, SECOND_FACTOR_ROLE) };
  }
  const user = userId === null ? undefined : await describeUser(db, userId);
  if (!user) throw new Failure('INVALID_TOKEN');
  return user;
}

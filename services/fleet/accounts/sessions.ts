import { operatorRoles, type SignedIn, sessionDays } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, Password, text, word } from '@odograph/http/schemas';
import { clearSessionToken, readSessionToken, requireOwnOrigin, setSessionToken } from '@odograph/http/session-cookie';
import { createToken, hashSecret } from '@odograph/runtime/secrets';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { hashPassword, NewPassword, passwordMatches, requirePasswordLength } from './passwords.ts';
import {
  changePassword,
  endSessions,
  findPasswordHash,
  findUser,
  openUserSession,
  type UserAccount,
} from './tokens.ts';

const SignedInOperator = Type.Object(
  {
    kind: word(['operator']),
    name: Type.String({ examples: ['alex'] }),
    role: word(operatorRoles),
    limited: Type.Boolean({ description: 'whether the operator sees only these applications' }),
    applications: Type.Array(Type.Object({ appId: AppId, name: Type.String({ examples: ['Car sharing'] }) })),
    mustChangePassword: Type.Boolean(),
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
    mustChangePassword: Type.Boolean(),
  },
  { title: 'SignedInUser' },
);
const SignedInPerson = Type.Union([SignedInOperator, SignedInUser], { title: 'SignedInPerson' });
type Person = Type.Static<typeof SignedInPerson>;
const SignIn = Type.Object(
  {
    name: Type.Optional(text(1, 256, { description: 'operator', examples: ['alex'] })),
    appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'application of the user' })),
    username: Type.Optional(text(1, 256, { description: 'user of the application', examples: ['alex'] })),
    password: Password,
  },
  { documentedAs: { dependentRequired: { appId: ['username'], username: ['appId'] } } },
);

/** The hash of the token of the session that a request belongs to. */
const sessionOf = (request: FastifyRequest): Buffer => hashSecret(readSessionToken(request) ?? '');

/** Verifies the password of an account that may not exist, in the same time. @throws Failure INVALID_CREDENTIALS */
async function verifyAccount<Account extends { passwordHash: string }>(
  account: Account | undefined,
  password: string,
): Promise<Account> {
  if (!(await passwordMatches(password, account?.passwordHash)) || account === undefined) {
    throw new Failure('INVALID_CREDENTIALS');
  }
  return account;
}

type Credentials = Type.Static<typeof SignIn>;

/** Signs a browser in. @returns the token of its session. @throws Failure INVALID_CREDENTIALS, TOO_MANY_REQUESTS */
async function signIn(fleet: Fleet, { name, appId, username, password }: Credentials, address: string) {
  const { db, config, loginLimit } = fleet;
  if ((name === undefined) === (appId === undefined)) throw invalidParameter('name', 'or appId is required, not both');
  if (name !== undefined) {
    const operator = await loginLimit.attempt({ account: ['operator', name.toLowerCase()], address }, async () =>
      verifyAccount(
        await selectOperators(db).where(sql`lower(name)`, '=', sql`lower(${name})`).executeTakeFirst(),
        password,
      ),
    );
    return db.transaction().execute(async (trx) => {
      const token = await signInOperator(trx, operator, createToken(config));
      const actor = `operator:${operator.name}`;
      await auditChange(trx, { chain: operatorChain, actor, address }, 'operator.sign-in', actor);
      return token;
    });
  }
  if (appId === undefined || username === undefined) throw invalidParameter('username', 'is missing');
  const user = await loginLimit.attempt({ account: [appId, username.toLowerCase()], address }, async () =>
    verifyAccount(await findUserOf(db, appId, username), password),
  );
  return db.transaction().execute((trx) => signInUser(trx, user, createToken(config)));
}

/** The session of a browser and the password of the person; only the sign-in needs no session. */
export const sessions: FleetRoutes = { open: [addSignIn], session: [addSessionRoutes, addPasswordRoute] };

function addSignIn(http: Http, fleet: Fleet): void {
  const { db, addressLimit } = fleet;
  const signInOptions = {
    preValidation: leaveOutEmpty('name', 'appId', 'username'),
    schema: {
      tags: ['sessions'],
      security: [],
      summary: 'Sign in a browser as an operator or as a user of an application',
      description:
        'Sets the cookie odograph_session. A session ends after 12 hours without GET /v1/x/session, after 30 days in any case.',
      body: SignIn,
      exactlyOne: ['name', 'appId'],
      response: answers(SignedInPerson, 'INVALID_CREDENTIALS', 'UNAUTHORIZED'),
    },
  };
  http.post('/v1/x/session', signInOptions, async (request, reply) => {
    // A page of another site could sign a browser in to an account of its own.
    requireOwnOrigin(request);
    const { body, ip } = request;
    const token = await addressLimit.attempt({ account: [], address: ip }, () => signIn(fleet, body, ip));
    await signOut(db, sessionOf(request));
    setSessionToken(request, reply, token);
    return describePerson(db, hashSecret(token));
  });
}

function addSessionRoutes(http: Http, { db }: Fleet): void {
  const showSchema = {
    tags: ['sessions'],
    summary: 'Show who is signed in, and keep the session alive',
    response: answers(SignedInPerson),
  };
  http.get('/v1/x/session', { schema: showSchema }, async (request) => describePerson(db, sessionOf(request)));
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

const selectOperators = (db: Database) =>
  db.selectFrom('operator').select(['id', 'name', 'password_hash as passwordHash']).where('deleted_at', 'is', null);

/** Finds a user by the appId of the application and the name, ignoring case. */
async function findUserOf(db: Database, appId: string, username: string): Promise<UserAccount | undefined> {
  const application = await db
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return application && findUser(db, application.id, username);
}

/** When a browser session that begins now ends at the latest. */
const latestEnd = sql<Date>`now() + make_interval(days => ${sessionDays})`;

/**
 * Opens the browser session of an operator whose password matched `passwordHash`. @returns its token
 * @throws Failure INVALID_CREDENTIALS if the password has changed or the operator has been deleted since
 */
async function signInOperator(
  db: Database,
  { id, passwordHash }: { id: string; passwordHash: string },
  token: string,
): Promise<string> {
  // The row lock makes a concurrent password change wait, so that it sees this session and ends it.
  const { rows } = await sql`insert into sign_in (token_sha256, operator_id, expires_at)
    select ${hashSecret(token)}, id, ${latestEnd} from operator
    where id = ${id} and password_hash = ${passwordHash} and deleted_at is null for share
    returning operator_id`.execute(db);
  if (rows.length === 0) throw new Failure('INVALID_CREDENTIALS');
  return token;
}

/**
 * Opens the browser session of a user whose password matched. @returns its token
 * @throws Failure INVALID_CREDENTIALS if the password has changed or the user has been deleted since
 */
async function signInUser(db: Database, user: UserAccount, token: string): Promise<string> {
  const session_id = await openUserSession(db, user);
  await db
    .insertInto('sign_in')
    .values({ token_sha256: hashSecret(token), session_id, expires_at: latestEnd })
    .execute();
  return token;
}

/** Ends the browser session with this token, if there is one. */
async function signOut(db: Database, tokenSha256: Buffer): Promise<void> {
  const ended = await db
    .deleteFrom('sign_in')
    .where('token_sha256', '=', tokenSha256)
    .returning('session_id')
    .executeTakeFirst();
  if (ended?.session_id == null) return;
  await db.updateTable('session').set({ revoked_at: sql<Date>`now()` }).where('id', '=', ended.session_id).execute();
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

async function describeOperator(db: Database, id: string): Promise<Person | undefined> {
  const { rows } = await sql<Omit<Type.Static<typeof SignedInOperator>, 'kind'>>`
    with limits as (select application_id from operator_application where operator_id = ${id})
    select name, role, exists (select from limits) as limited, must_change_password as "mustChangePassword",
      (select coalesce(json_agg(json_build_object('appId', app_id, 'name', application.name) order by application.id), '[]')
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
    .select('must_change_password as mustChangePassword')
    .where('user_account.id', '=', userId)
    .where('user_account.deleted_at', 'is', null)
    .executeTakeFirst();
  return row && { kind: 'user', ...row };
}

/** Describes the person of a session and records that the session is in use. @throws Failure INVALID_TOKEN if it has ended */
async function describePerson(db: Database, tokenSha256: Buffer): Promise<Person> {
  const used = await db
    .updateTable('sign_in')
    .set({ used_at: sql<Date>`now()` })
    .where('token_sha256', '=', tokenSha256)
    .returning(({ selectFrom }) => [
      'operator_id as operatorId',
      selectFrom('session').select('user_id').whereRef('session.id', '=', 'sign_in.session_id').as('userId'),
    ])
    .executeTakeFirst();
  const { operatorId, userId } = used ?? {};
  const person =
    operatorId != null ? await describeOperator(db, operatorId) : userId != null && (await describeUser(db, userId));
  if (!person) throw new Failure('INVALID_TOKEN');
  return person;
}

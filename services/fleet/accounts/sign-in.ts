import type { SignInMethod } from '@odograph/contracts/caller';
import { sessionDays } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { auditChange, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, Password, text } from '@odograph/http/schemas';
import { requireOwnOrigin, setSessionToken } from '@odograph/http/session-cookie';
import { createToken, hashSecret } from '@odograph/runtime/secrets';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { passwordMatches } from './passwords.ts';
import { acceptCode, Code, hasFactor } from './second-factors.ts';
import { describePerson, SignedInPerson, selectOperators, sessionOf, signOut } from './sessions.ts';
import { findUser, openUserSession, type UserAccount } from './tokens.ts';

const SignIn = Type.Object(
  {
    name: Type.Optional(text(1, 256, { description: 'operator', examples: ['alex'] })),
    appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'application of the user' })),
    username: Type.Optional(text(1, 256, { description: 'user of the application', examples: ['alex'] })),
    password: Password,
    code: Type.Optional(Code),
  },
  { documentedAs: { dependentRequired: { appId: ['username'], username: ['appId'] } } },
);
type Credentials = Type.Static<typeof SignIn>;

/** Routes of the password sign-in of browsers. */
export const signIn: FleetRoutes = { open: [addSignIn] };

function addSignIn(http: Http, fleet: Fleet): void {
  const signInOptions = {
    preValidation: leaveOutEmpty('name', 'appId', 'username', 'code'),
    schema: {
      tags: ['sessions'],
      security: [],
      summary: 'Sign in a browser as an operator or as a user of an application',
      description:
        'Sets the cookie odograph_session. A session ends after 12 hours without GET /v1/x/session, after 30 days in any ' +
        'case. A person with an authenticator also needs `code`; without it, a correct password fails with ' +
        'SECOND_FACTOR_REQUIRED, with the reason PASSKEY for an operator who has only passkeys.',
      body: SignIn,
      exactlyOne: ['name', 'appId'],
      response: answers(SignedInPerson, 'INVALID_CREDENTIALS', 'SECOND_FACTOR_REQUIRED', 'UNAUTHORIZED'),
    },
  };
  http.post('/v1/x/session', signInOptions, async (request, reply) => {
    // Prevents login CSRF: another site could sign the browser in to the attacker's account.
    requireOwnOrigin(request);
    const { body, ip: address } = request;
    const account = await fleet.addressLimit.attempt({ account: [], address }, () =>
      authenticate(fleet, body, address),
    );
    const { id } = account;
    const owner = 'name' in account ? { operator_id: id } : { user_id: id };
    const method = await acceptCode(fleet, owner, body.code);
    // With the password alone, an attacker could add an authenticator in place of the passkey.
    if (method === 'password' && (await hasFactor(fleet.db, owner))) {
      throw new Failure('SECOND_FACTOR_REQUIRED', 'sign in with a passkey', { reason: 'PASSKEY' });
    }
    return openSession(fleet, request, reply, { account, method });
  });
}

export interface OperatorAccount {
  readonly id: string;
  readonly name: string;
  readonly passwordHash: string;
}

/** Verifies a password in the same time whether or not the account exists. @throws Failure INVALID_CREDENTIALS */
async function verifyAccount<Account extends { passwordHash: string }>(
  account: Account | undefined,
  password: string,
): Promise<Account> {
  if (!(await passwordMatches(password, account?.passwordHash)) || account === undefined) {
    throw new Failure('INVALID_CREDENTIALS');
  }
  return account;
}

/** Finds the account with this name and password. @throws Failure INVALID_CREDENTIALS, TOO_MANY_REQUESTS */
async function authenticate(
  { db, loginLimit }: Fleet,
  { name, appId, username, password }: Credentials,
  address: string,
): Promise<OperatorAccount | UserAccount> {
  if ((name === undefined) === (appId === undefined)) throw invalidParameter('name', 'or appId is required, not both');
  if (name !== undefined) {
    return loginLimit.attempt({ account: ['operator', name.toLowerCase()], address }, async () =>
      verifyAccount(
        await selectOperators(db).where(sql`lower(name)`, '=', sql`lower(${name})`).executeTakeFirst(),
        password,
      ),
    );
  }
  if (appId === undefined || username === undefined) throw invalidParameter('username', 'is missing');
  return loginLimit.attempt({ account: [appId, username.toLowerCase()], address }, async () =>
    verifyAccount(await findUserOf(db, appId, username), password),
  );
}

/** Finds a user by appId and by name, ignoring case. */
async function findUserOf(db: Database, appId: string, username: string): Promise<UserAccount | undefined> {
  const application = await db
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return application && findUser(db, application.id, username);
}

/** An authenticated account and the method of authentication. */
interface AuthenticatedAccount {
  readonly account: OperatorAccount | UserAccount;
  readonly method: SignInMethod;
  /** The session ID at the identity provider. */
  readonly oidcSid?: string | undefined;
}

const maxBrowserLength = 256;

/**
 * Opens a browser session and ends the previous session of the browser. @returns the signed-in person
 * @throws Failure INVALID_CREDENTIALS if the password was changed or the account deleted in the meantime
 */
export async function openSession(
  { db, config }: Fleet,
  request: FastifyRequest,
  reply: FastifyReply,
  { account, method, oidcSid }: AuthenticatedAccount,
) {
  const token = createToken(config);
  const { ip: address, headers } = request;
  const browser = headers['user-agent']?.slice(0, maxBrowserLength) ?? '';
  const expires_at = sql<Date>`now() + make_interval(days => ${sessionDays})`;
  const facts = { token_sha256: hashSecret(token), expires_at, method, address, browser, oidc_sid: oidcSid ?? null };
  await db.transaction().execute(async (trx) => {
    if (!('name' in account)) {
      const session_id = await openUserSession(trx, account);
      await trx
        .insertInto('sign_in')
        .values({ ...facts, session_id })
        .execute();
      return;
    }
    await lockOperator(trx, account);
    await trx
      .insertInto('sign_in')
      .values({ ...facts, operator_id: account.id })
      .execute();
    const actor = `operator:${account.name}`;
    await auditChange(trx, { chain: operatorChain, actor, address }, 'operator.sign-in', actor, { method });
  });
  await signOut(db, sessionOf(request));
  setSessionToken(request, reply, token);
  return describePerson(db, hashSecret(token), config);
}

/** Locks the operator, so that a concurrent password change ends the new session too. @throws Failure INVALID_CREDENTIALS */
async function lockOperator(db: Database, { id, passwordHash }: OperatorAccount): Promise<void> {
  const locked = await selectOperators(db)
    .where('id', '=', id)
    .where('password_hash', '=', passwordHash)
    .forShare()
    .executeTakeFirst();
  if (!locked) throw new Failure('INVALID_CREDENTIALS');
}

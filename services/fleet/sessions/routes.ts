import { operatorRoles } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { appendAudit, operatorChain } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, Password, text, word } from '@odograph/http/schemas';
import { clearSessionToken, readSessionToken, requireOwnOrigin, setSessionToken } from '@odograph/http/session-cookie';
import { hashSecret } from '@odograph/runtime/secrets';
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { LoginLimit } from '../accounts/login-limit.ts';
import { hashPassword, passwordMatches, requirePasswordLength } from '../accounts/passwords.ts';
import { changePassword, findPasswordHash } from '../accounts/queries.ts';
import { NewPassword } from '../accounts/routes.ts';
import {
  changeOperatorPassword,
  describePerson,
  findOperator,
  findOperatorById,
  findUserOf,
  replaceToken,
  signInOperator,
  signInUser,
  signOut,
  signOutEverywhere,
} from './queries.ts';

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
const SignIn = Type.Object(
  {
    name: Type.Optional(text(1, 256, { description: 'operator', examples: ['alex'] })),
    appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'application of the user' })),
    username: Type.Optional(text(1, 256, { description: 'user of the application', examples: ['alex'] })),
    password: Password,
  },
  { documentedAs: { dependentRequired: { appId: ['username'], username: ['appId'] } } },
);

/** What the routes of sessions work with. */
interface SessionOptions {
  readonly db: Kysely<Tables>;
  /** For each account and address. */
  readonly loginLimit: LoginLimit;
  /** For each address: without an appKey, anyone may have passwords verified, which takes a core for 20 ms. */
  readonly addressLimit: LoginLimit;
  /** SESSION_SECONDS, which no session outlives. */
  readonly sessionSeconds: number;
}

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
async function signIn(options: SessionOptions, { name, appId, username, password }: Credentials, address: string) {
  const { db, loginLimit, sessionSeconds } = options;
  if ((name === undefined) === (appId === undefined)) throw invalidParameter('name', 'or appId is required, not both');
  if (name !== undefined) {
    const operator = await loginLimit.attempt({ account: ['operator', name.toLowerCase()], address }, async () =>
      verifyAccount(await findOperator(db, name), password),
    );
    return db.transaction().execute(async (trx) => {
      const token = await signInOperator(trx, operator, sessionSeconds);
      const actor = `operator:${operator.name}`;
      const entry = { actor, address, action: 'operator.sign-in', subject: actor, outcome: 'done' };
      await appendAudit(trx, { chain: operatorChain, ...entry });
      return token;
    });
  }
  if (appId === undefined || username === undefined) throw invalidParameter('username', 'is missing');
  const user = await loginLimit.attempt({ account: [appId, username.toLowerCase()], address }, async () =>
    verifyAccount(await findUserOf(db, appId, username), password),
  );
  return db.transaction().execute((trx) => signInUser(trx, user, sessionSeconds));
}

/** POST /v1/x/session, which needs no session. */
export function signInRoutes(options: SessionOptions): RoutePlugin {
  const { db, addressLimit } = options;
  return (http) => {
    http.post(
      '/v1/x/session',
      {
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
      },
      async (request, reply) => {
        // A page of another site could sign a browser in to an account of its own.
        requireOwnOrigin(request);
        const { body, ip } = request;
        const token = await addressLimit.attempt({ account: [], address: ip }, () => signIn(options, body, ip));
        await signOut(db, sessionOf(request));
        setSessionToken(request, reply, token);
        return describePerson(db, hashSecret(token));
      },
    );
  };
}

/** The routes of the session of a browser, and of the password of the person. */
export function personRoutes(options: SessionOptions): RoutePlugin {
  const { db } = options;
  return (http) => {
    http.get(
      '/v1/x/session',
      {
        schema: {
          tags: ['sessions'],
          summary: 'Show who is signed in, and keep the session alive',
          response: answers(SignedInPerson),
        },
      },
      async (request) => describePerson(db, sessionOf(request)),
    );
    http.delete(
      '/v1/x/session',
      { schema: { tags: ['sessions'], summary: 'Sign out', response: answers(EmptyAnswer) } },
      async (request, reply) => {
        await signOut(db, sessionOf(request));
        clearSessionToken(request, reply);
        return {};
      },
    );
    http.delete(
      '/v1/x/sessions',
      {
        schema: {
          tags: ['sessions'],
          summary: 'Sign out everywhere: all sessions of the person end, with the access tokens of a user',
          response: answers(EmptyAnswer),
        },
      },
      async (request, reply) => {
        await signOutEverywhere(db, request.signedIn);
        clearSessionToken(request, reply);
        return {};
      },
    );
    addPasswordRoute(http, options);
  };
}

interface PasswordChange {
  readonly currentPassword: string;
  readonly newPassword: string;
}

/** Verifies the current password and stores the new one. @returns whether the current one was still the same */
async function replacePassword(
  { db, loginLimit }: SessionOptions,
  request: FastifyRequest,
  { currentPassword, newPassword }: PasswordChange,
): Promise<boolean> {
  const { signedIn, ip: address } = request;
  const tokenSha256 = sessionOf(request);
  const verify = async (account: string, passwordHash: string | undefined): Promise<void> =>
    loginLimit.attempt({ account: ['password', account], address }, async () => {
      if (!(await passwordMatches(currentPassword, passwordHash))) throw new Failure('INVALID_OLD_PASSWORD');
    });
  if ('operator' in signedIn) {
    const operator = await findOperatorById(db, signedIn.operator.id ?? '');
    await verify(operator.id, operator.passwordHash);
    const newHash = await hashPassword(newPassword);
    return db.transaction().execute(async (trx) => {
      if (!(await changeOperatorPassword(trx, operator, { newHash, tokenSha256 }))) return false;
      const actor = `operator:${operator.name}`;
      const entry = { actor, address, action: 'operator.password', subject: actor, outcome: 'done' };
      await appendAudit(trx, { chain: operatorChain, ...entry });
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
    const entry = { actor, address, action: 'user.password', subject: actor, outcome: 'done' };
    await appendAudit(trx, { chain: applicationId, ...entry });
    return true;
  });
}

function addPasswordRoute(http: Http, options: SessionOptions): void {
  http.post(
    '/v1/x/session/password',
    {
      schema: {
        tags: ['sessions'],
        summary: 'Change the password of the person who is signed in; other sessions of the person end',
        body: Type.Object({ currentPassword: Password, newPassword: NewPassword }),
        response: answers(EmptyAnswer, 'INVALID_OLD_PASSWORD', 'INVALID_PASSWORD_LENGTH'),
      },
    },
    async (request, reply) => {
      requirePasswordLength(request.body.newPassword);
      if (!(await replacePassword(options, request, request.body))) throw new Failure('INVALID_OLD_PASSWORD');
      setSessionToken(request, reply, await replaceToken(options.db, sessionOf(request)));
      return {};
    },
  );
}

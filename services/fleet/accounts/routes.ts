import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { answers, Password, text } from '@odograph/http/schemas';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { CountAttempt } from './login-limit.ts';
import { passwordMatches } from './passwords.ts';
import {
  findApplication,
  findUser,
  issueTokens,
  openApplicationSession,
  openUserSession,
  refreshSession,
  type TokenLifetimes,
  type UserAccount,
} from './queries.ts';

const Credentials = Type.Object({ appId: text(1, 256), appKey: text(1, 256) });
const Login = Type.Object({
  ...Credentials.properties,
  username: Type.Optional(text(1, 256)),
  password: Type.Optional(Password),
});
const Refresh = Type.Object({
  ...Credentials.properties,
  refresh_token: Type.Optional(text(1, 256)),
  refreshToken: Type.Optional(text(1, 256)),
});
const Tokens = Type.Object({
  token: Type.String(),
  until: Type.String({ format: 'date-time' }),
  refresh_token: Type.String(),
  refresh_until: Type.String({ format: 'date-time' }),
});
const LoginAnswer = Type.Object({ ...Tokens.properties, update_password: Type.Boolean() });

/** The id of the application whose credentials these are. @throws Failure INVALID_CREDENTIALS */
async function authenticateApplication(db: Database, appId: string, appKey: string): Promise<number> {
  const application = await findApplication(db, appId);
  const presented = hashSecret(appKey);
  if (!equalSecrets(presented, application?.keySha256 ?? hashSecret('')) || !application) {
    throw new Failure('INVALID_CREDENTIALS');
  }
  return application.id;
}

/** The user whose credentials these are, undefined in application mode. @throws Failure INVALID_CREDENTIALS */
async function authenticateUser(
  db: Database,
  applicationId: number,
  { username, password }: { username?: string; password?: string },
): Promise<UserAccount | undefined> {
  if (username === undefined || password === undefined) return undefined;
  const user = await findUser(db, applicationId, username);
  const matches = await passwordMatches(password, user?.passwordHash);
  if (!user || !matches) throw new Failure('INVALID_CREDENTIALS');
  return user;
}

/** POST /v1/login (interface specification, "Authentication"). */
export function addLoginRoute(
  http: Http,
  db: Kysely<Tables>,
  lifetimes: TokenLifetimes,
  countAttempt: CountAttempt,
): void {
  http.post(
    '/v1/login',
    {
      schema: {
        tags: ['authentication'],
        security: [],
        summary: 'Obtain an access token, of an application or of one of its users',
        body: Login,
        response: answers(LoginAnswer, 'INVALID_CREDENTIALS'),
      },
    },
    async ({ body, ip }) => {
      if (body.username !== undefined && body.password === undefined) throw invalidParameter('password', 'is missing');
      if (body.password !== undefined && body.username === undefined) throw invalidParameter('username', 'is missing');
      await countAttempt('login', body.appId, ip);
      const applicationId = await authenticateApplication(db, body.appId, body.appKey);
      // People's passwords can be guessed at from many addresses by whoever has the key of the application.
      if (body.username !== undefined) await countAttempt('user', String(applicationId), body.username.toLowerCase());
      const user = await authenticateUser(db, applicationId, body);
      const tokens = await db.transaction().execute(async (trx) => {
        const session = user ? await openUserSession(trx, user) : await openApplicationSession(trx, applicationId);
        return issueTokens(trx, session, lifetimes);
      });
      return { ...tokens, update_password: user?.mustChangePassword ?? false };
    },
  );
}

/** POST /v1/refreshToken (interface specification, "Authentication"). */
export function addRefreshRoute(http: Http, db: Kysely<Tables>, lifetimes: TokenLifetimes): void {
  http.post(
    '/v1/refreshToken',
    {
      schema: {
        tags: ['authentication'],
        security: [],
        summary: 'Exchange a refresh token for fresh tokens',
        body: Refresh,
        response: answers(Tokens, 'INVALID_CREDENTIALS'),
      },
    },
    async ({ body }) => {
      const refreshToken = body.refresh_token ?? body.refreshToken;
      if (refreshToken === undefined) throw invalidParameter('refresh_token', 'is missing');
      const applicationId = await authenticateApplication(db, body.appId, body.appKey);
      return refreshSession(db, applicationId, hashSecret(refreshToken), lifetimes);
    },
  );
}

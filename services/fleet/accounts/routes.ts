import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, Password, text } from '@odograph/http/schemas';
import { readSessionToken } from '@odograph/http/session-cookie';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { apiKeys } from './api-keys.ts';
import { applications } from './applications.ts';
import { groupGrants } from './group-grants.ts';
import { oidc } from './oidc.ts';
import { operators } from './operators.ts';
import { passkeys } from './passkeys.ts';
import { hashPassword, NewPassword, passwordMatches, requirePasswordLength } from './passwords.ts';
import { persons } from './persons.ts';
import { secondFactors } from './second-factors.ts';
import { sessions } from './sessions.ts';
import { signIn } from './sign-in.ts';
import {
  changePassword,
  findApplication,
  findPasswordHash,
  findUser,
  issueTokens,
  openApplicationSession,
  openUserSession,
  refreshSession,
  type UserAccount,
} from './tokens.ts';
import { users } from './users.ts';

/** Log-in with tokens (interface specification, "Authentication"). */
const login: FleetRoutes = { open: [addLoginRoute, addRefreshRoute], token: [addPasswordRoute] };
export const accountRoutes: readonly FleetRoutes[] = [
  ...[login, signIn, oidc, sessions, secondFactors, passkeys],
  ...[applications, apiKeys, users, groupGrants, operators, persons],
];

const secret = (description: string, example: string) =>
  text(1, 256, { description, examples: [example], writeOnly: true });
const Credentials = Type.Object({
  appId: AppId,
  appKey: secret('key of the application', 'bXktc2VjcmV0LWtleQ'),
});
const Login = Type.Object(
  {
    ...Credentials.properties,
    username: Type.Optional(
      text(1, 256, { description: 'user account; without one, the application', examples: ['alex'] }),
    ),
    password: Type.Optional(Password),
  },
  { documentedAs: { dependentRequired: { username: ['password'], password: ['username'] } } },
);
const Refresh = Type.Object({
  ...Credentials.properties,
  refresh_token: Type.Optional(secret('refresh token', 'cmVmcmVzaC10b2tlbg')),
  refreshToken: Type.Optional(secret('the same under its other name; either is required', 'cmVmcmVzaC10b2tlbg')),
});
const Tokens = Type.Object(
  {
    token: Type.String({ description: 'access token', examples: ['YWNjZXNzLXRva2Vu'] }),
    until: moment('when the access token expires'),
    refresh_token: Type.String({ description: 'refresh token, valid once', examples: ['cmVmcmVzaC10b2tlbg'] }),
    refresh_until: moment('when the refresh token expires'),
  },
  { title: 'Tokens' },
);
const LoginAnswer = Type.Object(
  { ...Tokens.properties, update_password: Type.Boolean({ description: 'the user must change the password' }) },
  { title: 'Login' },
);

/** Hash of an appKey that the schema refuses. */
const noKey = hashSecret('');

/** Authenticates an application. @returns its id. @throws Failure INVALID_CREDENTIALS */
async function authenticateApplication(db: Database, appId: string, appKey: string): Promise<number> {
  const application = await findApplication(db, appId);
  const presented = hashSecret(appKey);
  const [current, previous] = [application?.keySha256 ?? noKey, application?.previousKeySha256 ?? noKey];
  // Both comparisons always run, so that the duration discloses nothing.
  const matches = [equalSecrets(presented, current), equalSecrets(presented, previous)].includes(true);
  if (!application || !matches) throw new Failure('INVALID_CREDENTIALS');
  return application.id;
}

/** Authenticates a user of an application. @throws Failure INVALID_CREDENTIALS */
async function authenticateUser(
  db: Database,
  applicationId: number,
  username: string,
  password: string,
): Promise<UserAccount> {
  const user = await findUser(db, applicationId, username);
  const matches = await passwordMatches(password, user?.passwordHash);
  if (!user || !matches) throw new Failure('INVALID_CREDENTIALS');
  return user;
}

function addLoginRoute(http: Http, { db, config, loginLimit }: Fleet): void {
  const loginOptions = {
    preValidation: leaveOutEmpty('username', 'password'),
    schema: {
      tags: ['authentication'],
      security: [],
      summary: 'Sign in as an application or as one of its users',
      body: Login,
      response: answers(LoginAnswer, 'INVALID_CREDENTIALS'),
    },
  };
  http.post('/v1/login', loginOptions, async ({ body, ip }) => {
    if (body.username !== undefined && body.password === undefined) throw invalidParameter('password', 'is missing');
    if (body.password !== undefined && body.username === undefined) throw invalidParameter('username', 'is missing');
    const { appId, appKey, username, password } = body;
    const applicationId = await loginLimit.attempt({ account: [appId], address: ip }, () =>
      authenticateApplication(db, appId, appKey),
    );
    const user =
      username === undefined || password === undefined
        ? undefined
        : await loginLimit.attempt({ account: [appId, username.toLowerCase()], address: ip }, () =>
            authenticateUser(db, applicationId, username, password),
          );
    const tokens = await db.transaction().execute(async (trx) => {
      const session = user ? await openUserSession(trx, user) : await openApplicationSession(trx, applicationId);
      return issueTokens(trx, config, session);
    });
    return { ...tokens, update_password: user?.mustChangePassword ?? false };
  });
}

function addRefreshRoute(http: Http, { db, config }: Fleet): void {
  const refreshOptions = {
    preValidation: leaveOutEmpty('refresh_token', 'refreshToken'),
    schema: {
      tags: ['authentication'],
      security: [],
      summary: 'Exchange a refresh token for new tokens',
      body: Refresh,
      exactlyOne: ['refresh_token', 'refreshToken'],
      response: answers(Tokens, 'INVALID_CREDENTIALS', 'INVALID_TOKEN', 'TOKEN_EXPIRED'),
    },
  };
  http.post('/v1/refreshToken', refreshOptions, async ({ body }) => {
    const refreshToken = body.refresh_token ?? body.refreshToken;
    if (refreshToken === undefined) throw invalidParameter('refresh_token', 'is missing');
    const applicationId = await authenticateApplication(db, body.appId, body.appKey);
    return refreshSession(db, config, { applicationId, tokenSha256: hashSecret(refreshToken) });
  });
}

/** Verifies the password of a user. @returns its hash. @throws Failure INVALID_OLD_PASSWORD */
async function verifyOldPassword(db: Database, userId: string, password: string): Promise<string> {
  const hash = await findPasswordHash(db, userId);
  if (!(await passwordMatches(password, hash)) || hash === undefined) throw new Failure('INVALID_OLD_PASSWORD');
  return hash;
}

/** POST /v1/user/updatePassword, in user mode only. */
function addPasswordRoute(http: Http, { db, loginLimit }: Fleet): void {
  const passwordSchema = {
    tags: ['authentication'],
    summary: 'Change the password; other sessions of the user end',
    body: Type.Object({ oldPassword: Password, newPassword: NewPassword }),
    response: answers(EmptyAnswer, 'INVALID_OLD_PASSWORD', 'INVALID_PASSWORD_LENGTH', 'UNAUTHORIZED'),
  };
  http.post('/v1/user/updatePassword', { schema: passwordSchema }, async (request) => {
    const { body, headers } = request;
    const { userId } = request.caller;
    if (userId === undefined) throw new Failure('UNAUTHORIZED', 'an application has no password');
    requirePasswordLength(body.newPassword);
    const oldHash = await loginLimit.attempt({ account: ['password', userId], address: request.ip }, () =>
      verifyOldPassword(db, userId, body.oldPassword),
    );
    const newHash = await hashPassword(body.newPassword);
    const tokenSha256 = hashSecret(String(headers['x-service-token'] || readSessionToken(request)));
    const changed = await db.transaction().execute(async (trx) => {
      if (!(await changePassword(trx, { userId, oldHash, newHash, tokenSha256 }))) return false;
      const subject = `user:${userId}`;
      await auditChange(trx, originOf(request), 'user.password', subject);
      return true;
    });
    if (!changed) throw new Failure('INVALID_OLD_PASSWORD');
    return {};
  });
}

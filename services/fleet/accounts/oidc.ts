import { Failure } from '@odograph/contracts/failures';
import type { Http } from '@odograph/http/http';
import { answers } from '@odograph/http/schemas';
import { type OidcProvider, oidcProviders } from '@odograph/runtime/config';
import { messageOf } from '@odograph/runtime/message-of';
import { hashSecret } from '@odograph/runtime/secrets';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as openid from 'openid-client';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { admitIdentity, endIdentitySessions, type Identity } from './identities.ts';
import { openSession } from './sign-in.ts';

const basePath = '/v1/x/session/oidc';
/** The cookie that binds the callback to the browser that started the sign-in. */
const stateCookie = 'odograph_oidc';
const signInSeconds = 600;
/** Logout tokens are short-lived (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
const maxLogoutTokenSeconds = 300;
/** Tolerated clock skew of a provider, the same as for ID tokens. */
const clockToleranceSeconds = 30;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** The state of a sign-in in progress, stored in Redis. */
interface PendingSignIn {
  /** The provider: another one must not complete the sign-in (OAuth 2.0 Security, RFC 9700, 4.4). */
  readonly id: string;
  readonly verifier: string;
  readonly nonce: string;
  /** The console path to return to. */
  readonly next: string;
}

/** A configured identity provider. */
interface Provider extends OidcProvider {
  /** Path of its routes. */
  readonly path: string;
  readonly redirectUri: string;
  /** Fetches the provider's metadata once. @throws Failure OVERLOADED if the provider does not respond */
  discover(): Promise<openid.Configuration>;
}

/** Lists the configured providers with the path of each. */
const listProviders = ({ config }: Fleet) =>
  oidcProviders(config).map((one) => ({ ...one, path: one.id === 'provider' ? basePath : `${basePath}/${one.id}` }));

/** Opens a provider, which fetches its metadata on first use. */
function openProvider(
  { config: { PUBLIC_URL } }: Fleet,
  configured: ReturnType<typeof listProviders>[number],
): Provider {
  const { issuer, clientId, clientSecret: secret, path } = configured;
  const options = issuer.startsWith('http://') ? { execute: [openid.allowInsecureRequests] } : {};
  let found: Promise<openid.Configuration> | undefined;
  const discover = async () => {
    found ??= openid.discovery(new URL(issuer), clientId, secret, undefined, options);
    return found.catch((cause: unknown) => {
      found = undefined;
      throw new Failure('OVERLOADED', 'the identity provider does not respond', { retryAfterSeconds: 5 }, { cause });
    });
  };
  return { ...configured, redirectUri: new URL(`${path}/callback`, PUBLIC_URL).href, discover };
}

/** Routes of the OpenID Connect sign-in of operators. */
export const oidc: FleetRoutes = { open: [addMethods, addProviders] };

function addMethods(http: Http, fleet: Fleet): void {
  const Provider = Type.Object({
    id: Type.String({ examples: ['provider'] }),
    name: Type.String({ examples: ['Keycloak'] }),
    path: Type.String({ description: 'starts the sign-in', examples: [basePath] }),
  });
  const Methods = Type.Object({ providers: Type.Array(Provider) }, { title: 'SignInMethods' });
  const providers = listProviders(fleet).map(({ id, name, path }) => ({ id, name, path }));
  const methodsSchema = {
    tags: ['sessions'],
    security: [],
    summary: 'List the identity providers for operators',
    response: answers(Methods),
  };
  http.get('/v1/x/session/methods', { schema: methodsSchema }, async () => ({ providers }));
}

function addProviders(http: Http, fleet: Fleet): void {
  for (const configured of listProviders(fleet)) {
    const provider = openProvider(fleet, configured);
    addSignIn(http, fleet, provider);
    addLogout(http, fleet, provider);
  }
}

/** Restricts a redirect target to paths of the console, to prevent open redirects. */
export function toConsolePath(next: unknown): string {
  const base = 'http://console.invalid';
  if (typeof next !== 'string' || !next.startsWith('/') || !URL.canParse(next, base)) return '/map';
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith('//') ? pathname + search : '/map';
}

const pendingKey = ({ config }: Fleet, state: string): string =>
  `${config.QUEUE_PREFIX}:oidc-sign-in:${hashSecret(state).toString('base64url')}`;

function setState(reply: FastifyReply, { redirectUri }: Provider, state: string, maxAgeSeconds: number): void {
  const secure = redirectUri.startsWith('https:') ? '; Secure' : '';
  const attributes = `Path=${basePath}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
  reply.header('set-cookie', `${stateCookie}=${state}; ${attributes}`);
}

const readState = ({ headers }: FastifyRequest): string | undefined =>
  new RegExp(`(?:^|; )${stateCookie}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];

function addSignIn(http: Http, fleet: Fleet, provider: Provider): void {
  const { redis } = fleet;
  const { id, path, roles } = provider;
  // Providers add parameters of their own to the callback.
  const options = { attachValidation: true, schema: { hide: true } };

  http.get(path, options, async ({ query }, reply) => {
    const [state, verifier, nonce] = [openid.randomState(), openid.randomPKCECodeVerifier(), openid.randomNonce()];
    const pending: PendingSignIn = { id, verifier, nonce, next: toConsolePath(Object(query).next) };
    const address = openid.buildAuthorizationUrl(await provider.discover(), {
      ...{ redirect_uri: provider.redirectUri, scope: provider.scope, state, nonce },
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    await redis.set(pendingKey(fleet, state), JSON.stringify(pending), 'EX', signInSeconds);
    setState(reply, provider, state, signInSeconds);
    return reply.redirect(address.href, 303);
  });

  http.get(`${path}/callback`, options, async (request, reply) => {
    const state = readState(request) ?? '';
    const stored = await redis.getdel(pendingKey(fleet, state));
    try {
      if (stored === null) throw new Error('the sign-in was started in another browser, or has expired');
      const { next, ...checks } = JSON.parse(stored) as PendingSignIn;
      if (checks.id !== id) throw new Error('the sign-in was started at another provider');
      const identity = await findIdentity(provider, request, { ...checks, state });
      const account = await admitIdentity(fleet, identity, { roles, address: request.ip });
      await openSession(fleet, request, reply, { account, method: 'identity provider', oidcSid: account.sid });
      return await reply.redirect(next, 303);
    } catch (err) {
      // Log only the message: the details of the error may contain tokens.
      request.log.warn({ reason: messageOf(err) }, 'sign-in at the identity provider failed');
      return reply.redirect(`/sign-in?failed=${id}`, 303);
    }
  });
}

/** Exchanges the authorization code for the identity. @throws Error if the response is invalid */
async function findIdentity(
  { issuer, redirectUri, discover }: Provider,
  { url }: FastifyRequest,
  { verifier, nonce, state }: Omit<PendingSignIn, 'id' | 'next'> & { readonly state: string },
): Promise<Identity> {
  const address = new URL(redirectUri);
  address.search = new URL(url, redirectUri).search;
  const tokens = await openid.authorizationCodeGrant(await discover(), address, {
    ...{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true },
  });
  const claims = tokens.claims();
  if (claims === undefined) throw new Error('the identity provider sent no ID token');
  const { sub, sid, preferred_username, email, groups } = claims;
  return {
    subject: `${issuer} ${sub}`,
    name: [preferred_username, email].find((one) => typeof one === 'string') ?? sub,
    groups: Array.isArray(groups) ? groups.map(String) : [],
    ...(typeof sid === 'string' && { sid }),
  };
}

/** Adds the back-channel logout, by which the provider ends sessions. */
function addLogout(http: Http, { redis, config, db }: Fleet, provider: Provider): void {
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  const verify = async (token: string) => {
    const { jwks_uri } = (await provider.discover()).serverMetadata();
    keys ??= createRemoteJWKSet(new URL(jwks_uri ?? ''));
    const { payload } = await jwtVerify(token, keys, {
      ...{ issuer: provider.issuer, audience: provider.clientId, requiredClaims: ['jti', 'iat'] },
      ...{ maxTokenAge: maxLogoutTokenSeconds, clockTolerance: clockToleranceSeconds },
    });
    const { sub, sid, jti = '', nonce, events } = payload;
    if (!(logoutEvent in Object(events)) || nonce !== undefined) throw new Error('not a logout token');
    if (sub === undefined && typeof sid !== 'string') throw new Error('the logout token has neither sub nor sid');
    const key = `${config.QUEUE_PREFIX}:oidc-logout:${hashSecret(`${provider.issuer} ${jti}`).toString('base64url')}`;
    return {
      key,
      ...(typeof sid === 'string' && { sid }),
      ...(sub !== undefined && { subject: `${provider.issuer} ${sub}` }),
    };
  };
  void http.register(async (scope: Http) => {
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    scope.post(`${provider.path}/logout`, { attachValidation: true, schema: { hide: true } }, async (request) => {
      const token = String(Object(request.body).logout_token ?? '');
      const refuse = (err: unknown): never => {
        request.log.warn({ reason: messageOf(err) }, 'logout token rejected');
        throw new Failure('INVALID_PARAMETER', 'logout_token is not valid', { field: 'logout_token' });
      };
      const { key, ...ended } = await verify(token).catch(refuse);
      if ((await redis.exists(key)) === 1) refuse(new Error('the logout token was replayed'));
      await endIdentitySessions(db, provider.issuer, ended);
      // Last, so that the provider can retry a failed logout.
      await redis.set(key, '', 'EX', 2 * maxLogoutTokenSeconds);
      return {};
    });
  });
}

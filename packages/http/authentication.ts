import type { Caller } from '@odograph/contracts/caller';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import { networkOf } from '@odograph/runtime/network-address';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import { WindowCounter } from '@odograph/runtime/window-counter';
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { Http } from './http.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The application, and its user, that the access token of the request belongs to; only in token routes. */
    caller: Caller;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Adds the routes of one resource. */
export type RoutePlugin = (http: Http) => void | Promise<void>;

/** Resolves the SHA-256 of an access token to its application and user; throws INVALID_TOKEN or TOKEN_EXPIRED. */
export type Authenticate = (tokenSha256: Buffer) => Promise<Caller>;

/**
 * Registers routes that need an access token (interface specification, "Authentication"): authenticates once for all of
 * them and declares it in OpenAPI.
 */
export async function tokenRoutes(
  http: Http,
  authenticate: Authenticate,
  plugins: readonly RoutePlugin[],
): Promise<void> {
  await registerScope(http, requireToken(authenticate), { security: [{ serviceToken: [] }] }, plugins);
}

/** Registers routes that need the admin token: authenticates once for all of them and declares it in OpenAPI. */
export async function operatorRoutes(http: Http, adminToken: string, plugins: readonly RoutePlugin[]): Promise<void> {
  const schema = { tags: ['operators'], security: [{ adminToken: [] }] };
  await registerScope(http, requireAdmin(adminToken), schema, plugins);
}

async function registerScope(
  http: Http,
  authenticate: Hook,
  common: FastifySchema,
  plugins: readonly RoutePlugin[],
): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.addHook('onRequest', authenticate);
    scope.addHook('onRoute', (route) => {
      route.schema = { ...common, ...route.schema };
    });
    for (const plugin of plugins) await scope.register(async (inner: Http) => plugin(inner));
  });
}

/** An onRequest hook that lets only holders of an access token pass. */
export function requireToken(authenticate: Authenticate): Hook {
  return async (request) => {
    const token = request.headers['x-service-token'];
    if (typeof token !== 'string' || token === '') throw new Failure('MISSING_TOKEN');
    request.caller = await authenticate(hashSecret(token));
  };
}

/** The secret in `authorization`: a bearer token, or the password of the user `admin` (browsers). */
function presentedSecret(header: string | undefined): string | undefined {
  const [scheme, value] = header?.split(' ', 2) ?? [];
  if (value === undefined) return undefined;
  if (scheme?.toLowerCase() === 'bearer') return value;
  if (scheme?.toLowerCase() !== 'basic') return undefined;
  const [user, ...password] = Buffer.from(value, 'base64').toString('utf8').split(':');
  return user === 'admin' ? password.join(':') : undefined;
}

/**
 * Refuses cross-site request forgery: a browser adds the remembered password to requests that a page of another site
 * makes, so with basic authentication a change must come from our own origin.
 */
function refuseForeignPage({ method, headers, host }: FastifyRequest): void {
  const { origin, authorization } = headers;
  if (origin === undefined || method === 'GET' || method === 'HEAD') return;
  if (!authorization?.toLowerCase().startsWith('basic ')) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host) {
    throw new Failure('UNAUTHORIZED', 'the request comes from another site');
  }
}

const windowMs = 60_000;
const guessesPerWindow = 60;
const maximumAddresses = 10_000;

/** Asks browsers for the admin token. After 60 wrong ones in a minute an address is refused for the rest of it. */
export function requireAdmin(adminToken: string): Hook {
  const expected = adminTokensOf(adminToken).map(hashSecret);
  const isExpected = (sha256: Buffer) => expected.some((one) => equalSecrets(sha256, one));
  const guesses = new WindowCounter(windowMs, maximumAddresses);
  return async (request, reply) => {
    const secret = presentedSecret(request.headers.authorization);
    const network = networkOf(request.ip);
    const now = performance.now();
    if (secret !== undefined && guesses.read(network, now) >= guessesPerWindow) {
      throw tooManyRequests(guesses.remainingMs(network, now));
    }
    if (secret !== undefined && isExpected(hashSecret(secret))) return refuseForeignPage(request);
    reply.header('www-authenticate', 'Basic realm="odograph", charset="UTF-8"');
    if (secret === undefined) throw new Failure('MISSING_TOKEN', 'the admin token is missing');
    guesses.add(network, now);
    throw new Failure('INVALID_TOKEN', 'the admin token is wrong');
  };
}

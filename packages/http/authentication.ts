import type { ApiKey, Caller, Operator, SignedIn, Viewer } from '@odograph/contracts/caller';
import { applicationMoving, Failure, invalidParameter, tooManyRequests } from '@odograph/contracts/failures';
import type { KeptAnswers } from '@odograph/contracts/idempotency';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import { networkOf } from '@odograph/runtime/network-address';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import { WindowCounter } from '@odograph/runtime/window-counter';
import type { FastifyReply, FastifyRequest, FastifySchema, RouteOptions } from 'fastify';
import { isApiKey, requireScope } from './api-key-rights.ts';
import { answerFailure, opensPage } from './failure-answer.ts';
import type { Http } from './http.ts';
import { takeKeys } from './idempotency.ts';
import { documentInterface } from './openapi.ts';
import { requireRight, rightFor, rightOf } from './operator-rights.ts';
import { isRead, readSessionToken, requireOwnOrigin } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The application, and its user, that the request authenticates as; only in token routes. */
    caller: Caller;
    /** The person or program that the request authenticates as; only in viewer routes. */
    viewer: Viewer;
    /**
     * Authenticates the request again, for a long answer: the session may have ended, or see other applications. Only in
     * viewer routes. @throws Failure as at the start of the request
     */
    findViewer(): Promise<Viewer>;
    /** The person whose session the request belongs to; only in session routes. */
    signedIn: SignedIn;
    /** The operator who makes the request; only in operator routes. */
    operator: Operator;
    /** The API key that authenticates the request. */
    apiKey?: ApiKey;
  }
  interface FastifyContextConfig {
    /** Accepts the application as `appId` in the query, because a link cannot set headers. */
    isLinked?: true;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Adds the routes of one resource. */
export type RoutePlugin = (http: Http) => void | Promise<void>;

/** Finds accounts by the SHA-256 of their tokens; see accountsIn of packages/database. */
export interface Accounts {
  /** @throws Failure INVALID_TOKEN, TOKEN_EXPIRED */
  findCaller(tokenSha256: Buffer): Promise<Caller>;
  /** @param address network address of the client. @throws Failure INVALID_TOKEN, TOKEN_EXPIRED */
  findApiKey(keySha256: Buffer, address: string): Promise<Caller & { readonly apiKey: ApiKey }>;
  /** @throws Failure INVALID_TOKEN, TOKEN_EXPIRED */
  findSignedIn(tokenSha256: Buffer): Promise<SignedIn>;
  /** @param among the applications that may be named; all without it. @throws Failure UNKNOWN_APPLICATION */
  findApplicationId(appId: string, among?: readonly number[]): Promise<number>;
}

/** Authenticates routes for operators. */
export interface Guard {
  readonly accounts: Accounts;
  readonly adminToken: string;
  /** Lets POST routes for operators take idempotency keys. */
  readonly kept?: KeptAnswers;
}

/**
 * Registers routes that need an access token, an API key or a browser session (interface specification, "Authentication"):
 * authenticates once for all of them and declares it in OpenAPI.
 * @param kept lets POST routes take idempotency keys
 */
export async function tokenRoutes(
  http: Http,
  accounts: Accounts,
  plugins: readonly RoutePlugin[],
  kept?: KeptAnswers,
): Promise<void> {
  const authenticate: Hook = async (request) => {
    request.caller = await authenticateCaller(accounts, request);
    if (request.caller.isMoving && !isRead(request)) throw applicationMoving();
  };
  const schema = { security: [{ serviceToken: [] }, { session: [] }, { apiKey: [] }] };
  await registerScope(http, authenticate, schema, plugins, (route) => kept && takeKeys(route, kept));
}

/** Registers routes that need an operator's session, the admin token, or an API key with the scope `admin`. */
export async function operatorRoutes(http: Http, guard: Guard, plugins: readonly RoutePlugin[]): Promise<void> {
  const schema = { tags: ['operators'], security: [{ adminToken: [] }, { session: [] }, { apiKey: [] }] };
  await registerScope(http, requireOperator(guard), schema, plugins, (route) => {
    addRight(route);
    if (guard.kept) takeKeys(route, guard.kept);
  });
}

/**
 * Registers routes for everyone who may see vehicles: with an access token, an API key, a browser session or the admin
 * token. Their queries are scoped by `request.viewer`.
 */
export async function viewerRoutes(http: Http, guard: Guard, plugins: readonly RoutePlugin[]): Promise<void> {
  const schema = { security: [{ serviceToken: [] }, { session: [] }, { adminToken: [] }, { apiKey: [] }] };
  await registerScope(http, requireViewer(guard), schema, plugins);
}

/** Registers pages for operators without limits. A browser that is not signed in is sent to the sign-in. */
export const operatorPages = (http: Http, guard: Guard, plugins: readonly RoutePlugin[]): Promise<void> =>
  registerScope(http, orSignIn(requireOperator(guard)), { hide: true }, plugins, addRight);

/** Registers pages for everyone with a token or session. A browser that has none is sent to the sign-in. */
export const viewerPages = (http: Http, guard: Guard, plugins: readonly RoutePlugin[]): Promise<void> =>
  registerScope(http, orSignIn(requireViewer(guard)), { hide: true }, plugins);

/** Serves the reference of the interface to those whom viewerPages admits. */
export const referencePage = (http: Http, guard: Guard): Promise<void> =>
  documentInterface(http, orSignIn(requireViewer(guard)));

/** Registers routes that need a browser session. */
export async function sessionRoutes(http: Http, accounts: Accounts, plugins: readonly RoutePlugin[]): Promise<void> {
  const authenticate: Hook = async (request) => {
    const signedIn = await findSignedIn(accounts, request);
    if (signedIn === undefined) throw new Failure('MISSING_TOKEN', 'the browser has no session');
    request.signedIn = signedIn;
  };
  await registerScope(http, authenticate, { security: [{ session: [] }] }, plugins);
}

async function registerScope(
  http: Http,
  authenticate: Hook,
  common: FastifySchema,
  plugins: readonly RoutePlugin[],
  onRoute: (route: RouteOptions) => void = () => undefined,
): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.addHook('onRequest', authenticate);
    scope.addHook('onRoute', (route) => {
      route.schema = { ...common, ...route.schema };
      onRoute(route);
    });
    for (const plugin of plugins) await scope.register(named(plugin));
  });
}

/** Names a plugin. For a plugin without a name, Fastify compares it with every loaded module to find one. */
const named = (plugin: RoutePlugin) =>
  Object.assign(async (inner: Http) => plugin(inner), { [Symbol.for('fastify.display-name')]: 'routes' });

/** Finds the person whose session the request belongs to; undefined without a session cookie. */
async function findSignedIn(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | undefined> {
  const token = readSessionToken(request);
  if (token === undefined) return undefined;
  requireOwnOrigin(request);
  return accounts.findSignedIn(hashSecret(token));
}

/**
 * Finds the person as all routes but those of the session do.
 * @throws Failure PASSWORD_CHANGE_REQUIRED for an operator whose password someone else has chosen, SECOND_FACTOR_MISSING
 */
async function findAdmitted(accounts: Accounts, request: FastifyRequest): Promise<SignedIn | undefined> {
  const signedIn = await findSignedIn(accounts, request);
  if (signedIn === undefined || !('operator' in signedIn)) return signedIn;
  if (signedIn.mustChangePassword) {
    throw new Failure('PASSWORD_CHANGE_REQUIRED', 'change the password first: POST /v1/x/session/password');
  }
  if (signedIn.mustAddSecondFactor) {
    throw new Failure('SECOND_FACTOR_MISSING', 'add a second factor first, at /profile');
  }
  return signedIn;
}

/** Gives a route for operators the right that it needs. */
function addRight(route: RouteOptions): void {
  const [right] = [route.method].flat().map((method) => rightFor(method, route.url));
  route.config = { ...route.config, ...(right !== undefined && { right }) };
}

const accessTokenOf = ({ headers }: FastifyRequest): string => String(headers['x-service-token'] ?? '');

/** The credential that a viewer route authenticates: of several, the first one. */
export const credentialOf = (request: FastifyRequest): string | undefined =>
  accessTokenOf(request) || (bearerToken(request) ?? readSessionToken(request));

/**
 * Authenticates an API key in the header `x-service-token` or as a bearer token. @returns undefined without one
 * @throws Failure INVALID_TOKEN, TOKEN_EXPIRED; UNAUTHORIZED if the key lacks the scope of the route
 */
async function findKeyCaller(accounts: Accounts, request: FastifyRequest) {
  const key = accessTokenOf(request) || bearerToken(request);
  if (key === undefined || !isApiKey(key)) return undefined;
  const caller = await accounts.findApiKey(hashSecret(key), request.ip);
  request.apiKey = caller.apiKey;
  requireScope(caller.apiKey, request);
  return caller;
}

/** Authenticates an API key or an access token. @returns undefined without either */
async function findTokenCaller(accounts: Accounts, request: FastifyRequest): Promise<Caller | undefined> {
  const keyCaller = await findKeyCaller(accounts, request);
  const token = accessTokenOf(request);
  return keyCaller ?? (token === '' ? undefined : accounts.findCaller(hashSecret(token)));
}

/**
 * Returns the application that an operator acts for: from a header, or from the query of a linked path.
 * @throws Failure UNKNOWN_APPLICATION
 */
function namedApplication({ headers, query, routeOptions }: FastifyRequest): string {
  const { appId } = routeOptions.config.isLinked ? (query as { appId?: string }) : {};
  const name = String(headers['x-application'] ?? appId ?? '');
  // The query is not validated yet, and PostgreSQL rejects text with NUL.
  if (name.includes('\0')) throw new Failure('UNKNOWN_APPLICATION');
  return name;
}

/** @throws Failure MISSING_TOKEN, INVALID_TOKEN, TOKEN_EXPIRED, UNAUTHORIZED; UNKNOWN_APPLICATION for an operator */
async function authenticateCaller(accounts: Accounts, request: FastifyRequest): Promise<Caller> {
  const tokenCaller = await findTokenCaller(accounts, request);
  if (tokenCaller !== undefined) return tokenCaller;
  const signedIn = await findAdmitted(accounts, request);
  if (signedIn === undefined) throw new Failure('MISSING_TOKEN');
  if ('caller' in signedIn) return signedIn.caller;
  requireRight(signedIn.operator, rightOf(request));
  const { name, applicationIds } = signedIn.operator;
  const appId = namedApplication(request);
  if (appId === '') throw invalidParameter('X-Application', 'is missing: an operator names the application');
  const applicationId = await accounts.findApplicationId(appId, applicationIds);
  return { applicationId, ...(name !== undefined && { operatorName: name }) };
}

/**
 * Creates a function that finds the viewer of a request.
 * @returns a function that throws Failure MISSING_TOKEN, INVALID_TOKEN, TOKEN_EXPIRED, or UNKNOWN_APPLICATION for an
 * application in the header `x-application` that the person does not see
 */
function authenticateViewer({ accounts, adminToken }: Guard) {
  const isAdmin = checkAdminToken(adminToken);
  const findAll = async (request: FastifyRequest, reply: FastifyReply): Promise<Viewer> => {
    const tokenCaller = await findTokenCaller(accounts, request);
    if (tokenCaller !== undefined) return viewerOf(tokenCaller);
    if (isAdmin(request, reply)) return {};
    const signedIn = await findAdmitted(accounts, request);
    if (signedIn === undefined) throw new Failure('MISSING_TOKEN');
    if ('caller' in signedIn) return viewerOf(signedIn.caller);
    requireRight(signedIn.operator, rightOf(request));
    const { applicationIds } = signedIn.operator;
    return applicationIds === undefined ? {} : { applicationIds };
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Viewer> => {
    const viewer = await findAll(request, reply);
    const appId = namedApplication(request);
    if (appId === '') return viewer;
    return { ...viewer, applicationIds: [await accounts.findApplicationId(appId, viewer.applicationIds)] };
  };
}

function viewerOf({ applicationId, userId }: Caller): Viewer {
  return { applicationIds: [applicationId], ...(userId !== undefined && { userId }) };
}

function requireViewer(guard: Guard): Hook {
  const findViewer = authenticateViewer(guard);
  return async (request, reply) => {
    request.findViewer = () => findViewer(request, reply);
    request.viewer = await request.findViewer();
  };
}

/**
 * Redirects an unauthenticated page load to the sign-in page, which returns to `next`, and one that requires a password
 * change or a second factor to the profile. Other requests fail as usual.
 */
function orSignIn(authenticate: Hook): Hook {
  return async (request, reply) => {
    try {
      await authenticate(request, reply);
    } catch (error) {
      if (!opensPage(request) || !(error instanceof Failure)) throw error;
      if (['PASSWORD_CHANGE_REQUIRED', 'SECOND_FACTOR_MISSING'].includes(error.code))
        return reply.redirect('/profile', 303);
      if (error.status !== 401) {
        // Answered here: bull-board's own error handler would take the failure. Returning the reply ends the request.
        answerFailure(error, request, reply);
        return reply;
      }
      // The request line may hold a whole URL, with a host that is not ours.
      const { pathname, search } = new URL(request.url, 'http://localhost');
      return reply.redirect(`/sign-in?next=${encodeURIComponent(pathname + search)}`, 303);
    }
  };
}

/** Authenticates an API key as the administrator of its own application. */
async function findKeyOperator(accounts: Accounts, request: FastifyRequest): Promise<Operator | undefined> {
  const caller = await findKeyCaller(accounts, request);
  return caller && { role: 'administrator', applicationIds: [caller.applicationId], apiKey: caller.apiKey };
}

async function findSignedInOperator(accounts: Accounts, request: FastifyRequest): Promise<Operator | undefined> {
  const signedIn = await findAdmitted(accounts, request);
  if (signedIn === undefined) return undefined;
  if (!('operator' in signedIn)) throw new Failure('UNAUTHORIZED', 'requires an operator');
  return signedIn.operator;
}

/** Creates an onRequest hook that admits operators by session, admin token or API key. */
function requireOperator({ accounts, adminToken }: Guard): Hook {
  const isAdmin = checkAdminToken(adminToken);
  return async (request, reply) => {
    if (isAdmin(request, reply)) {
      request.operator = { role: 'administrator' };
      return;
    }
    const operator = (await findKeyOperator(accounts, request)) ?? (await findSignedInOperator(accounts, request));
    if (operator === undefined) throw missingAdminToken(reply);
    const { right } = request.routeOptions.config;
    if (right === undefined) throw new Error(`the route ${request.routeOptions.url} has no right`);
    requireRight(operator, right);
    request.operator = operator;
  };
}

/** An onRequest hook that lets only holders of the admin token pass. */
export function requireAdmin(adminToken: string): Hook {
  const isAdmin = checkAdminToken(adminToken);
  return async (request, reply) => {
    if (!isAdmin(request, reply)) throw missingAdminToken(reply);
  };
}

/** Names the failure of an admin token, and challenges for it (RFC 9110, 11.6.1). */
function challenge(reply: FastifyReply, code: 'MISSING_TOKEN' | 'INVALID_TOKEN', message: string): Failure {
  reply.header('www-authenticate', 'Bearer realm="odograph"');
  return new Failure(code, message);
}

const missingAdminToken = (reply: FastifyReply) => challenge(reply, 'MISSING_TOKEN', 'the admin token is missing');

function bearerToken({ headers }: FastifyRequest): string | undefined {
  const [scheme, token] = headers.authorization?.split(' ', 2) ?? [];
  return scheme?.toLowerCase() === 'bearer' ? token : undefined;
}

const windowMs = 60_000;
const guessesPerWindow = 60;
const maxAddresses = 10_000;

/**
 * Creates a check of the bearer token: true for the admin token, false without one. After 60 wrong ones in a minute an
 * address is refused for the rest of it.
 * @returns a function that throws Failure INVALID_TOKEN, TOO_MANY_REQUESTS
 */
function checkAdminToken(adminToken: string): (request: FastifyRequest, reply: FastifyReply) => boolean {
  const expected = adminTokensOf(adminToken).map(hashSecret);
  const guesses = new WindowCounter(windowMs, maxAddresses);
  return (request, reply) => {
    const secret = bearerToken(request);
    if (secret === undefined || isApiKey(secret)) return false;
    const network = networkOf(request.ip);
    const now = performance.now();
    if (guesses.read(network, now) >= guessesPerWindow) throw tooManyRequests(guesses.remainingMs(network, now));
    const sha256 = hashSecret(secret);
    if (expected.some((one) => equalSecrets(sha256, one))) return true;
    guesses.add(network, now);
    throw challenge(reply, 'INVALID_TOKEN', 'the admin token is wrong');
  };
}

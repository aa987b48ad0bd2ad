import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import { networkOf, WindowCounter } from '@odograph/runtime/window-counter';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { tooManyRequests } from './too-many-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set by requireToken. */
    caller: Caller;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * An onRequest hook that lets only holders of an access token pass (interface specification, "Authentication").
 * @param findCaller whom the hash of a token stands for; throws INVALID_TOKEN or TOKEN_EXPIRED
 */
export function requireToken(findCaller: (tokenSha256: Buffer) => Promise<Caller>): Hook {
  return async (request) => {
    const token = request.headers['x-service-token'];
    if (typeof token !== 'string' || token === '') throw new Failure('MISSING_TOKEN');
    request.caller = await findCaller(hashSecret(token));
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
 * A browser adds the password it remembers to whatever the page of another site makes it send (cross-site request
 * forgery), so with basic authentication a change must come from a page of ours.
 */
function refuseForeignPage({ method, headers, host }: FastifyRequest): void {
  const { origin, authorization } = headers;
  if (origin === undefined || method === 'GET' || method === 'HEAD') return;
  if (!authorization?.toLowerCase().startsWith('basic ')) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host) {
    throw new Failure('UNAUTHORIZED', 'the request comes from a page of another site');
  }
}

const windowMs = 60_000;
const guessesPerWindow = 60;
const maximumAddresses = 10_000;

/**
 * An onRequest hook that lets only the holder of the admin token pass; a browser is asked for it. An address that was
 * wrong 60 times in a minute is not listened to for the rest of it.
 */
export function requireAdmin(adminToken: string): Hook {
  const expected = hashSecret(adminToken);
  const guesses = new WindowCounter(windowMs, maximumAddresses);
  return async (request, reply) => {
    const secret = presentedSecret(request.headers.authorization);
    const network = networkOf(request.ip);
    const now = performance.now();
    if (secret !== undefined && guesses.read(network, now) >= guessesPerWindow) {
      throw tooManyRequests(guesses.remainingMs(network, now));
    }
    if (secret !== undefined && equalSecrets(hashSecret(secret), expected)) return refuseForeignPage(request);
    reply.header('www-authenticate', 'Basic realm="odograph", charset="UTF-8"');
    if (secret === undefined) throw new Failure('MISSING_TOKEN', 'the admin token is missing');
    guesses.add(network, now);
    throw new Failure('INVALID_TOKEN', 'the admin token is wrong');
  };
}

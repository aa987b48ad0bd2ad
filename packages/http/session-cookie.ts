import { sessionDays } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The cookie with the token of a browser session. */
export const sessionCookie = 'odograph_session';

/**
 * Reads the token of the browser session. A request with several such cookies has none: a page of a sibling domain may have
 * set one of them.
 */
export function readSessionToken({ headers }: FastifyRequest): string | undefined {
  const tokens = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const [name, value = ''] = pair.trim().split('=', 2);
    return name === sessionCookie && value !== '' ? [value] : [];
  });
  return tokens.length === 1 ? tokens[0] : undefined;
}

/** Whether the browser uses TLS: with this server, with a trusted proxy, or as it says itself. */
const isSecure = ({ protocol, headers }: FastifyRequest): boolean =>
  protocol === 'https' || headers.origin?.startsWith('https://') === true;

function setCookie(request: FastifyRequest, reply: FastifyReply, value: string, maxAgeSeconds: number): void {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure(request) ? '; Secure' : ''}`;
  reply.header('set-cookie', `${sessionCookie}=${value}; ${attributes}`);
}

/** Gives the browser the token of its session. */
export function setSessionToken(request: FastifyRequest, reply: FastifyReply, token: string): void {
  setCookie(request, reply, token, sessionDays * 86_400);
}

/** Has the browser forget the token of its session. */
export function clearSessionToken(request: FastifyRequest, reply: FastifyReply): void {
  setCookie(request, reply, '', 0);
}

/** Whether a request only reads. */
export const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/**
 * Refuses cross-site request forgery: a browser adds the cookie to requests that a page of another site makes, so a change
 * must come from a page of our own.
 * @throws Failure UNAUTHORIZED unless the request reads, or its Origin is our own host; a page over TLS only from TLS
 */
export function requireOwnOrigin(request: FastifyRequest): void {
  if (isRead(request)) return;
  const { protocol, host, headers } = request;
  const own = `${protocol}://${host}`;
  const { origin } = headers;
  if (origin !== undefined && URL.canParse(origin) && URL.canParse(own)) {
    const page = new URL(origin);
    // Behind a proxy that is not trusted, the page may be on TLS and this request not.
    const sameProtocol = page.protocol === `${protocol}:` || page.protocol === 'https:';
    if (sameProtocol && page.host === new URL(`${page.protocol}//${host}`).host) return;
  }
  throw new Failure('UNAUTHORIZED', 'the request comes from another site, or has no Origin');
}

import { applicationMoving, Failure, type FailureCode, invalidParameter } from '@odograph/contracts/failures';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Http } from './http.ts';
import { isOutage } from './outage.ts';
import { findNul } from './parameters.ts';
import { isRead } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the failure, once the request is answered with one. */
    failure?: FailureCode;
  }
  interface FastifyInstance {
    /** Page that replaces 403 and 404 answers in a browser; only in a process with the console. */
    failurePage: { readonly html: string; readonly policy: string } | undefined;
  }
}

/** Tells whether a browser navigates to an address, as opposed to a program that calls the interface. */
export const opensPage = ({ method, headers, url }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  headers.authorization === undefined &&
  headers.accept?.includes('text/html') === true &&
  !url.startsWith('/v1/');

/**
 * Answers every failure: an expected one with its code, a lost database as OVERLOADED, text with NUL as
 * INVALID_PARAMETER, any other as an opaque INTERNAL_ERROR. A browser that navigates to an unknown or forbidden address
 * gets a page.
 */
export function answerFailure(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void {
  // Work that is cut off by a disconnect fails in many ways, such as a cancelled query; no client waits for an answer.
  if (request.raw.socket.destroyed) {
    request.log.info({ err: error }, 'request failed after its client disconnected');
    reply.raw.destroy();
    return;
  }
  const failure = toFailure(error, request);
  if (failure.code === 'INTERNAL_ERROR') request.log.error({ err: error }, 'request failed');
  else if (failure.cause === error) request.log.warn({ err: error }, 'request failed: database unavailable');
  request.failure = failure.code;
  const { retryAfterSeconds, ...details } = failure.details;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
  if (reply.raw.headersSent) {
    reply.raw.destroy();
    return;
  }
  reply.code(failure.status);
  const { failurePage } = request.server;
  if (failurePage !== undefined && opensPage(request) && [403, 404].includes(failure.status)) {
    const { html, policy } = failurePage;
    reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).send(html);
    return;
  }
  reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify({ error: failure.code, message: failure.message, ...details }));
}

/**
 * Refuses unknown paths with NOT_FOUND, and known ones with another method with METHOD_NOT_ALLOWED and the header Allow. Call it
 * before routes are added.
 */
export function refuseUnknownPaths(http: Http): void {
  const routes: { form: RegExp; methods: readonly string[] }[] = [];
  const exact = new Map<string, string[]>();
  http.addHook('onRoute', ({ url, method }) => {
    const form = url.replaceAll(/[.+?^$()|[\]{}\\]/g, '\\$&').replaceAll(/:\w+/g, '[^/]+');
    routes.push({ form: new RegExp(`^${form.replaceAll('*', '.*')}/?$`), methods: [method].flat() });
    exact.set(url, [...(exact.get(url) ?? []), ...[method].flat()]);
  });
  const methodsOf = (path: string): Set<string> => {
    const methods = exact.get(path) ?? routes.filter(({ form }) => form.test(path)).flatMap((route) => route.methods);
    return new Set(methods);
  };
  const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? '';
  const refusal = (request: FastifyRequest, reply: FastifyReply): Failure => {
    const methods = methodsOf(pathOf(request));
    // A path of files has GET, and still not every file.
    if (methods.size === 0 || methods.has(request.method)) return new Failure('NOT_FOUND', 'no such path');
    const allowed = [...methods].join(', ');
    reply.header('allow', allowed);
    return new Failure('METHOD_NOT_ALLOWED', `the path has the methods ${allowed}`);
  };
  // Before the body is looked at, whose faults are of no interest here.
  http.addHook('onRequest', async (request, reply) => {
    // A path such as /v1/vehicle/lock has only its own methods, although it has the form of /v1/vehicle/{id}.
    const isOther = exact.get(pathOf(request))?.includes(request.method) === false;
    if (request.is404 || isOther) throw refusal(request, reply);
  });
  http.setNotFoundHandler((request, reply) => answerFailure(refusal(request, reply), request, reply));
}

/** SQLSTATEs of text with NUL, and of JSON with it. */
const nulStates = new Set<unknown>(['22021', '22P05']);

function toFailure(error: FastifyError | Error, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error;
  // refuse_while_moving of migrations/0012_cells.sql
  if ('code' in error && error.code === 'OD001') return applicationMoving();
  if (isOutage(error)) return outage(error, isRead(request));
  // If the request has no NUL, the platform produced the text, and the error is a defect.
  const nul = 'code' in error && nulStates.has(error.code) ? findNul(request) : undefined;
  if (nul !== undefined) return nul;
  if ('validation' in error && error.validation) return validationFailure(error);
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status === 415) return new Failure('UNSUPPORTED_MEDIA_TYPE', undefined, { field: 'content-type' });
  if (status === 429) return new Failure('TOO_MANY_REQUESTS');
  if (status !== undefined && status >= 400 && status < 500) {
    return new Failure('INVALID_PARAMETER', error.message, { field: faultyPart(error) });
  }
  return new Failure('INTERNAL_ERROR', undefined, {}, { cause: error });
}

const retryAfterSeconds = 5;

/** A write may have been committed although the connection was lost before the answer to COMMIT. */
function outage(cause: Error, isRead: boolean): Failure {
  if (isRead) return new Failure('OVERLOADED', undefined, { retryAfterSeconds }, { cause });
  const message = 'the database is unavailable; whether the request was carried out is unknown';
  return new Failure('OVERLOADED', message, { reason: 'OUTCOME_UNKNOWN', retryAfterSeconds }, { cause });
}

/** Names the field that the schema rejects, a header as it is usually written. */
function validationFailure({ validation, validationContext }: FastifyError): Failure {
  const { field, rule } = describeSchemaFaults(validation ?? []);
  const name = validationContext === 'headers' ? field.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) : field;
  return invalidParameter(name || (validationContext ?? 'body'), rule);
}

function faultyPart(error: FastifyError | Error): string {
  const code = 'code' in error ? error.code : '';
  return code.startsWith('FST_ERR_CTP') ? 'body' : 'url';
}

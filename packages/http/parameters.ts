import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Http } from './http.ts';

/** `Content-type: application/json` with an empty body is a valid request: its body is the empty object. */
export function acceptEmptyJson(http: Http): void {
  const parse = http.getDefaultJsonParser('error', 'error');
  http.removeContentTypeParser('application/json');
  http.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, {});
    else void parse(request, body as string, done);
  });
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parameters of POST, PUT and DELETE come in the JSON body, and the query string is accepted too: the body wins, and a
 * path parameter wins over both. What the schema of the body sees is all three together.
 */
export async function mergeParameters(this: FastifyInstance, request: FastifyRequest): Promise<void> {
  if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS') return;
  const body = request.body ?? {};
  if (!isPlainObject(body)) return;
  request.body = Object.assign({}, request.query, body, request.params);
}

import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Config } from '@odograph/runtime/config';
import { type Limits, limits as standardLimits } from '@odograph/runtime/limits';
import type { Logger } from '@odograph/runtime/logger';
import { currentTracer, type OpenSpan } from '@odograph/runtime/tracing';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { answerFailure, refuseUnknownPaths } from './failure-answer.ts';
import type { Http } from './http.ts';
import {
  answerUnreadable,
  checkRequests,
  limitConnections,
  refuseWhileClosing,
  refuseWhileOverloaded,
} from './limits.ts';
import { describeInterface } from './openapi.ts';
import type { JsonSchema } from './openapi-schema.ts';
import { answerPolicy, keepToTls } from './page-policy.ts';
import { acceptJson, mergeParameters, refuseExtremes, refuseUnknown } from './parameters.ts';

const maxBodyBytes = 1024 * 1024;
const maxHeaderSize = 16 * 1024;
const slowCheckIntervalMs = 1000;
const maxHeadersTimeoutMs = 10_000;

/** `documentedAs` shows in OpenAPI what a route accepts, where a failure code of its own is for what it does not. */
const validatorOptions = { useDefaults: true, addUsedSchema: false, keywords: ['documentedAs'] };

/** Only text is coerced: parameters of the path, the query and headers. The types in a JSON body are the client's. */
function validateTypes(http: Http): void {
  // An array in place of a single value is rejected instead of coerced.
  const ofText = addFormats.default(new Ajv({ ...validatorOptions, coerceTypes: true }));
  const ofBody = addFormats.default(new Ajv(validatorOptions));
  http.setValidatorCompiler<JsonSchema>(({ schema, httpPart }) =>
    (httpPart === 'body' ? ofBody : ofText).compile(schema),
  );
}

/** Creates the HTTP interface with everything that all routes share; the caller lets it listen and closes it. */
export async function createHttp(config: Config, logger: Logger, limits: Limits = standardLimits): Promise<Http> {
  const http = Fastify({
    loggerInstance: logger.child({ part: 'http' }, { serializers: { req: describeRequest } }) as FastifyBaseLogger,
    logController: new LogController({
      disableRequestLogging: !logger.isLevelEnabled('debug'),
      requestIdLogLabel: 'requestId',
    }),
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    trustProxy: trustedProxies(config.HTTP_TRUST_PROXY),
    bodyLimit: maxBodyBytes,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    // Bounds how long a slow request holds its connection, also one that never sends a byte.
    requestTimeout: limits.httpRequestTimeoutMs,
    http: {
      headersTimeout: Math.min(maxHeadersTimeoutMs, limits.httpRequestTimeoutMs),
      connectionsCheckingInterval: slowCheckIntervalMs,
      maxHeaderSize,
    },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      answerFailure(error, request, reply);
    },
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<TypeBoxTypeProvider>();

  http.decorate('failurePage', undefined);
  http.addHook('onRequest', nameRequest);
  traceRequests(http);
  validateTypes(http);
  refuseWhileClosing(http);
  checkRequests(http, config.HTTP_REQUESTS_PER_MINUTE);
  http.setErrorHandler(answerFailure);
  acceptJson(http);
  http.addHook('preValidation', refuseUnknown);
  http.addHook('preValidation', mergeParameters);
  http.addHook('preHandler', refuseExtremes);
  limitConnections(http, config, limits);
  keepToTls(http);
  await http.register(helmet, { contentSecurityPolicy: answerPolicy, strictTransportSecurity: false });
  refuseUnknownPaths(http);
  refuseWhileOverloaded(http);
  await describeInterface(http);
  return http;
}

/** Keeps the id of a request that a client or proxy gave it, so that logs of both can be joined. */
function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

async function nameRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('x-request-id', request.id);
}

/** Maps HTTP_TRUST_PROXY, a number of proxies or their networks, to Fastify's option. */
function trustedProxies(setting: string): false | string | ((address: string, hop: number) => boolean) {
  if (setting === '0') return false;
  return /^\d+$/.test(setting) ? (_address, hop) => hop < Number(setting) : setting;
}

/** Only the path is logged: query strings may hold secrets. */
function describeRequest(request: { method: string; url: string }): { method: string; path: string } {
  return { method: request.method, path: request.url.split('?', 1)[0] ?? '' };
}

/** Scraped every few seconds. */
const untraced = new Set(['/health', '/metrics']);

/** Makes a span of each request, named by the pattern of its route: a path holds ids. Call it before other hooks are added. */
function traceRequests(http: Http): void {
  const tracer = currentTracer();
  if (tracer === undefined) return;
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  http.addHook('onRequest', (request, _reply, next) => {
    const { is404, method, headers, routeOptions } = request;
    const route = is404 ? 'unknown' : (routeOptions.url ?? 'unknown');
    if (untraced.has(route)) return next();
    const span = tracer.startSpan({
      name: `${method} ${route}`,
      kind: 'server',
      attributes: { 'http.request.method': method, 'http.route': route },
      parent: [headers['traceparent']].flat()[0],
    });
    spans.set(request, span);
    span.run(next);
  });
  // The events of a body's stream are not part of the span.
  http.addHook('preValidation', (request, _reply, next) => {
    const span = spans.get(request);
    if (span === undefined) next();
    else span.run(next);
  });
  http.addHook('onResponse', (request, { statusCode }, next) => {
    spans.get(request)?.end({ 'http.response.status_code': statusCode });
    next();
  });
}

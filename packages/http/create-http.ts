import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Failure, invalidParameter, tooManyRequests } from '@odograph/contracts/failures';
import type { Config } from '@odograph/runtime/config';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import { limits as defaultLimits, type Limits } from '@odograph/runtime/limits';
import type { Logger } from '@odograph/runtime/logger';
import { isAddress, networkOf } from '@odograph/runtime/network-address';
import { currentTracer, type OpenSpan } from '@odograph/runtime/tracing';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import fastJsonStringify, { type Schema } from 'fast-json-stringify';
import Fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { answerFailure, refuseUnknownPaths } from './failure-answer.ts';
import type { Http } from './http.ts';
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

// Only text is coerced: parameters of the path, the query and headers. The types in a JSON body are the client's.
// An array in place of a single value is rejected instead of coerced.
const textValidator = addFormats.default(new Ajv({ ...validatorOptions, coerceTypes: true }));
const bodyValidator = addFormats.default(new Ajv(validatorOptions));

/** Compiles each schema on first use: compiling all of them takes half of the CPU time of a start. */
function compileSchemasOnUse(http: Http): void {
  http.setValidatorCompiler<JsonSchema>(({ schema, httpPart }) => {
    let validate: ValidateFunction | undefined;
    return (value: unknown) => {
      validate ??= (httpPart === 'body' ? bodyValidator : textValidator).compile(schema);
      return validate(value) || { error: validate.errors ?? [] };
    };
  });
  http.setSerializerCompiler<Schema>(({ schema }) => {
    let write: ((value: unknown) => string) | undefined;
    return (value: unknown) => {
      write ??= fastJsonStringify(schema);
      return write(value);
    };
  });
}

/** Creates the HTTP interface with everything that all routes share; the caller lets it listen and closes it. */
export async function createHttp(config: Config, logger: Logger, limits: Limits = defaultLimits): Promise<Http> {
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
  compileSchemasOnUse(http);
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
  refuseWhileOverloaded(http, limits);
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False exempts a route from the request limit. */
    rateLimit?: false;
  }
}

const windowMs = 60_000;
const maxNetworks = 10_000;

/** Checks every request before its credentials, without a lookup in a database. */
function checkRequests(http: Http, requestsPerMinute: number): void {
  const requests = new WindowCounter(windowMs, maxNetworks);
  http.addHook('onRequest', async (request, reply) => {
    requireOneHost(request);
    const { headers } = request.raw;
    const forwardedFor = headers['x-forwarded-for'];
    if (forwardedFor !== undefined) headers['x-forwarded-for'] = forwardedAddresses(forwardedFor);
    // Answers hold data of one caller, or tokens; pages set their own policy.
    reply.header('cache-control', 'no-store');
    if (request.routeOptions.config.rateLimit === false) return;
    const network = networkOf(request.ip);
    const now = performance.now();
    requests.add(network, now);
    const count = requests.read(network, now);
    const remainingMs = requests.remainingMs(network, now);
    reply.headers({
      'x-ratelimit-limit': requestsPerMinute,
      'x-ratelimit-remaining': Math.max(0, requestsPerMinute - count),
      'x-ratelimit-reset': Math.ceil(remainingMs / 1000),
    });
    if (count > requestsPerMinute) throw tooManyRequests(remainingMs);
  });
}

/** A proxy and this server could read different ones of two Host headers (RFC 9112, section 3.2). */
function requireOneHost({ raw: { rawHeaders } }: FastifyRequest): void {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalidParameter('host', 'must be given once');
}

/**
 * Keeps the part of X-Forwarded-For that consists of addresses, without ports: proxies append on the right, so whatever
 * stands left of other text was written by the client.
 */
function forwardedAddresses(header: string | string[]): string {
  const entries = String(header).split(',').map(withoutPort);
  const firstAddress = entries.findLastIndex((entry) => !isAddress(entry)) + 1;
  return entries.slice(firstAddress).join(', ');
}

function withoutPort(entry: string): string {
  const text = entry.trim();
  return /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** Refuses requests once the server is closing; connections end after the answers in flight. */
function refuseWhileClosing(http: Http): void {
  let isClosing = false;
  http.addHook('preClose', async () => {
    isClosing = true;
  });
  http.addHook('onRequest', async (_request, reply) => {
    if (!isClosing) return;
    reply.header('connection', 'close');
    throw new Failure('OVERLOADED', 'the service is shutting down', { retryAfterSeconds: 5 });
  });
  // The close would wait for a connection that is kept alive after its request.
  http.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
}

const loopSampleMs = 1000;

/**
 * Refuses requests from a turn of the event loop that came too late until one that did not. Measured from the
 * first listener on: a start may hold the event loop for longer. Its timer makes no system call, since one that fails
 * without free descriptors would end the process (process.memoryUsage() reads a file).
 * @throws Failure OVERLOADED in the request
 */
function refuseWhileOverloaded(http: Http, { maxLoopDelayMs }: Limits): void {
  let timer: NodeJS.Timeout | undefined;
  let delayMs = 0;
  http.addHook('onListen', (done) => {
    let sampledAtMs = performance.now();
    timer = setInterval(() => {
      const nowMs = performance.now();
      delayMs = nowMs - sampledAtMs - loopSampleMs;
      sampledAtMs = nowMs;
    }, loopSampleMs).unref();
    done();
  });
  http.addHook('onClose', () => clearInterval(timer));
  http.addHook('onRequest', async () => {
    if (delayMs > maxLoopDelayMs) throw new Failure('OVERLOADED', undefined, { retryAfterSeconds: 5 });
  });
}

/** A reverse proxy keeps far fewer open; without one, each browser needs a few. */
const maxConnections = 10_000;

/**
 * Limits connections in all and for each client network (an IPv4 address or an IPv6 /64). A trusted proxy carries the
 * connections of many clients, so behind proxies only the limit in all applies.
 */
function limitConnections(http: Http, config: Config, { maxHttpConnectionsPerAddress: maximum }: Limits): void {
  http.server.maxConnections = Math.min(maxConnections, shareDescriptors().http);
  if (config.HTTP_TRUST_PROXY !== '0') return;
  const connections = new Map<string, number>();
  http.server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const open = (connections.get(network) ?? 0) + 1;
    if (open > maximum) return void socket.destroy();
    connections.set(network, open);
    socket.once('close', () => {
      const left = (connections.get(network) ?? 1) - 1;
      if (left === 0) connections.delete(network);
      else connections.set(network, left);
    });
  });
}

const statusOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are not an HTTP request, or that come too slowly or with too many headers, and closes the connection. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const { _httpMessage: pending } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  // A started answer cannot be replaced.
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) return void socket.destroy();
  const status = statusOf[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: 'INVALID_PARAMETER', message: 'the request cannot be read', field: 'request' });
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
  socket.destroySoon();
}

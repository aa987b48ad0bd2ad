import { randomUUID } from 'node:crypto';
import helmet from '@fastify/helmet';
import rateLimit from '@fastify/rate-limit';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import type { Config } from '@odograph/runtime/config';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import type { Logger } from '@odograph/runtime/logger';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { answerFailure, answerUnknownPath } from './failure-answer.ts';
import type { Http } from './http.ts';
import { describeInterface } from './openapi.ts';
import { refuseWhileOverloaded } from './overload.ts';
import { answerPolicy, keepToTls } from './page-policy.ts';
import { acceptEmptyJson, mergeParameters, refuseExtremes } from './parameters.ts';
import { RequestCounts } from './request-counts.ts';
import { answerUnreadable } from './unreadable-request.ts';

const maximumBodyBytes = 1024 * 1024;
const maxHeaderSize = 16 * 1024;
/** How often slow requests are looked for. */
const slowCheckMs = 1000;

/** Creates the HTTP interface with everything every route shares; the caller lets it listen and closes it. */
export async function createHttp(config: Config, logger: Logger): Promise<Http> {
  const http = Fastify({
    loggerInstance: logger.child({ part: 'http' }, { serializers: { req: describeRequest } }) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: !logger.isLevelEnabled('debug') }),
    genReqId: () => randomUUID(),
    trustProxy: config.HTTP_TRUST_PROXY,
    bodyLimit: maximumBodyBytes,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // An array where one value belongs is a fault of the request, not something to be guessed at.
    ajv: { customOptions: { coerceTypes: true, removeAdditional: false, allErrors: false } },
    routerOptions: { maxParamLength: 256 },
    // A request that trickles in holds a connection no longer than this.
    requestTimeout: config.HTTP_REQUEST_TIMEOUT_MS,
    http: { headersTimeout: config.HTTP_REQUEST_TIMEOUT_MS, connectionsCheckingInterval: slowCheckMs, maxHeaderSize },
    frameworkErrors: (error, request, reply) => answerFailure(error, request, reply),
    clientErrorHandler: answerUnreadable,
  }).withTypeProvider<TypeBoxTypeProvider>();

  refuseWhileClosing(http);
  http.setErrorHandler(answerFailure);
  http.setNotFoundHandler(answerUnknownPath);
  acceptEmptyJson(http);
  http.addHook('preValidation', mergeParameters);
  http.addHook('preHandler', refuseExtremes);
  http.server.maxConnections = Math.min(config.HTTP_MAX_CONNECTIONS, shareDescriptors().http);
  keepToTls(http);
  await http.register(helmet, { contentSecurityPolicy: answerPolicy, strictTransportSecurity: false });
  refuseWhileOverloaded(http);
  await http.register(rateLimit, {
    max: config.HTTP_REQUESTS_PER_MINUTE,
    timeWindow: 60_000,
    store: RequestCounts,
    errorResponseBuilder: (_request, { ttl }) => tooManyRequests(ttl),
  });
  await describeInterface(http);
  return http;
}

function refuseWhileClosing(http: Http): void {
  let closing = false;
  http.addHook('preClose', async () => {
    closing = true;
  });
  http.addHook('onRequest', async (_request, reply) => {
    if (!closing) return;
    reply.header('connection', 'close');
    throw new Failure('OVERLOADED', 'the service is shutting down', { retryAfterSeconds: 5 });
  });
  // A connection whose request was under way would be kept alive, and the close would wait for it to time out.
  http.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close');
  });
}

/** Query strings may carry what must not be logged, so only the path is. */
function describeRequest(request: { method: string; url: string }): { method: string; path: string } {
  return { method: request.method, path: request.url.split('?', 1)[0] ?? '' };
}

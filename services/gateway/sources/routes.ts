import { isUtf8 } from 'node:buffer';
import { InvalidMessage, type SourceMessage } from '@odograph/codec/shared/source-format';
import { sourceFormats } from '@odograph/codec/uploads';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { deviceIdPattern } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import { answerFailure } from '@odograph/http/failure-answer';
import type { Http } from '@odograph/http/http';
import { type IntakeShard, intakeHealth } from '@odograph/queue/intake';
import type { Limits } from '@odograph/runtime/limits';
import type { ServiceHost } from '@odograph/runtime/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayMetrics } from '../shared/metrics.ts';
import type { GatewayUploads, HeldBytes } from '../shared/uploads.ts';
import { MessageIntake, maximumMessages } from './accept-messages.ts';
import { type PresentedSecret, type Sender, SenderLimits, type SenderRates, Senders } from './senders.ts';
import { UsageCounts } from './usage.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender of a request to an endpoint; undefined until it is authenticated. */
    sender: Sender | undefined;
  }
}

const maximumBodyBytes = 4 * 1024 * 1024;
/** Memory of a request apart from its body. */
const overheadBytes = 4096;
const retryAfterSeconds = 5;
const deviceIdForm = new RegExp(deviceIdPattern);

interface EndpointOptions {
  readonly senders: Senders;
  readonly limits: SenderLimits;
  readonly held: HeldBytes;
  readonly intake: MessageIntake;
  readonly usage: UsageCounts;
  readonly metrics: GatewayMetrics;
  readonly defaults: Limits;
  /** Why nothing can be stored now; undefined when it can. */
  unavailable(): string | undefined;
}

/** An endpoint for one format. */
interface Endpoint {
  readonly format: SourceFormatName;
  readonly method: 'GET' | 'POST';
  readonly url: string;
}

const rulesOf = (format: SourceFormatName) => sourceFormats[format].endpoint ?? {};

const endpoints = sourceFormatNames.flatMap((format): Endpoint[] => {
  if (!rulesOf(format).isUrl) return [{ format, method: 'POST', url: `/in/${format}` }];
  const url = `/in/${format}/:deviceId`;
  return [
    { format, method: 'GET', url },
    { format, method: 'POST', url },
  ];
});

/** @throws Failure INVALID_PARAMETER */
function deviceOfPath({ params }: FastifyRequest): string {
  const { deviceId = '' } = params as { deviceId?: string };
  if (!deviceIdForm.test(deviceId)) throw invalidParameter('deviceId', 'must be 1 to 64 of A-Z a-z 0-9 . _ : -');
  return deviceId;
}

/**
 * Adds the endpoints for other systems and apps: `POST /in/{format}`, answered once everything in the body is durable in the
 * queue. Each authenticates before its body is read. They are not part of the interface that OpenAPI describes.
 */
async function addSourceEndpoints(http: Http, options: EndpointOptions): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.decorateRequest('sender', undefined);
    // Only failures are logged, and a logger of its own is 4 % of the CPU time of a request.
    scope.setChildLoggerFactory((logger) => logger);
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
      request.log = request.log.child({ requestId: request.id });
      if (request.sender?.kind === 'source') options.usage.refused(request.sender.source.id);
      const failure = toFailure(error);
      if (failure instanceof Failure && failure.status === 401)
        reply.header('www-authenticate', 'Basic realm="odograph"');
      const format = endpoints.find(({ url }) => url === request.routeOptions.url)?.format ?? 'unknown';
      options.metrics.sourceRequests.inc({
        format,
        outcome: failure instanceof Failure ? failure.code : 'INTERNAL_ERROR',
      });
      answerFailure(failure, request, reply);
    });
    for (const endpoint of endpoints) {
      scope.route({
        method: endpoint.method,
        url: endpoint.url,
        bodyLimit: maximumBodyBytes,
        exposeHeadRoute: false,
        schema: { hide: true },
        // Each sender has limits of its own.
        config: { rateLimit: false },
        // These headers are for browsers.
        helmet: false,
        onRequest: (request, reply) => admit(options, endpoint, request, reply),
        handler: (request) => accept(options, endpoint, request),
      });
    }
  });
}

function toFailure(error: Error & { statusCode?: number }): Error {
  if (error instanceof InvalidMessage) return new Failure('INVALID_PARAMETER', error.message, { field: error.field });
  if (error.statusCode === 413) return new Failure('TOO_LARGE', `the body must have at most ${maximumBodyBytes} bytes`);
  return error;
}

/** Authenticates a request and holds memory for it, before its body is read. */
async function admit(
  options: EndpointOptions,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const presented = presentedBy(request, endpoint);
  const sender = await options.senders.authenticate(endpoint.format, presented, request.ip);
  request.sender = sender;
  const announced = request.headers['content-length'];
  const bytes = endpoint.method === 'GET' ? 0 : announced === undefined ? maximumBodyBytes : Number(announced);
  options.limits.take(idOf(sender), ratesOf(sender, options.defaults), Math.min(bytes, maximumBodyBytes));
  const reason = options.unavailable();
  if (reason !== undefined) throw new Failure('OVERLOADED', reason, { retryAfterSeconds });
  const heldBytes = Math.min(bytes, maximumBodyBytes) + overheadBytes;
  if (!options.held.reserve(heldBytes)) {
    throw new Failure('OVERLOADED', 'too many requests wait to be stored', { retryAfterSeconds });
  }
  const release = (): void => options.held.release(heldBytes);
  // Also when the sender disconnects, which ends a request without an answer; it may have disconnected already.
  if (reply.raw.closed) release();
  else reply.raw.once('close', release);
}

/** Reads the secret of a request: a bearer token, basic authentication or, where a URL is all there is, its query. */
function presentedBy(request: FastifyRequest, { format }: Endpoint): PresentedSecret | undefined {
  const [scheme = '', value = ''] = request.headers.authorization?.split(' ', 2) ?? [];
  const [name, secret] =
    scheme.toLowerCase() === 'basic' ? basicCredentials(value) : [undefined, bearerOf(scheme, value)];
  const { secret: inQuery } = request.query as { secret?: unknown };
  const { isUrl, deviceHeader } = rulesOf(format);
  const found = secret ?? (isUrl && typeof inQuery === 'string' ? inQuery : undefined);
  const userName = deviceHeader === undefined ? undefined : name;
  const deviceId = isUrl ? deviceOfPath(request) : userName;
  if (found === undefined || found === '') return undefined;
  return {
    secret: found,
    ...(name !== undefined && { name }),
    ...(deviceId !== undefined &&
      deviceIdForm.test(deviceId) &&
      (name === undefined || name === deviceId) && { deviceId }),
  };
}

const bearerOf = (scheme: string, value: string) => (scheme.toLowerCase() === 'bearer' ? value : undefined);

/** RFC 7617: the name ends at the first colon. */
function basicCredentials(value: string): [name: string, secret: string] {
  const text = Buffer.from(value, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}

const idOf = (sender: Sender) =>
  sender.kind === 'source' ? `source ${sender.source.id}` : `device ${sender.device.id}`;

function ratesOf(sender: Sender, defaults: Limits): SenderRates {
  if (sender.kind === 'source') {
    return {
      requestsPerSecond: defaults.sourceRequestsPerSecond,
      bytesPerSecond: defaults.sourceBytesPerSecond,
    };
  }
  const { uploadsPerSecond, bytesPerSecond } = sender.device;
  return {
    requestsPerSecond: uploadsPerSecond ?? defaults.deviceUploadsPerSecond,
    bytesPerSecond: bytesPerSecond ?? defaults.deviceBytesPerSecond,
  };
}

/** Queues the messages of a request. @returns the answer that its sender expects */
async function accept(
  { intake, metrics }: EndpointOptions,
  { format }: Endpoint,
  request: FastifyRequest,
): Promise<unknown> {
  const { sender } = request;
  if (sender === undefined) throw new Error('the request is not authenticated');
  const receivedAtMs = Date.now();
  const messages = readMessages(format, request, sender, receivedAtMs);
  if (messages.length > maximumMessages) {
    throw new Failure('TOO_LARGE', `a request must have at most ${maximumMessages} messages`);
  }
  await intake.accept({ format, sender, messages, receivedAtMs, address: request.ip });
  metrics.sourceRequests.inc({ format, outcome: 'accepted' });
  metrics.sourceMessages.inc({ format }, messages.length);
  return rulesOf(format).answer ?? { messages: messages.length };
}

/** Reads the messages of a request with their devices. @throws InvalidMessage, Failure INVALID_PARAMETER */
function readMessages(
  format: SourceFormatName,
  request: FastifyRequest,
  sender: Sender,
  receivedAtMs: number,
): SourceMessage[] {
  const body = readBody(format, request);
  if (body === undefined) {
    if (rulesOf(format).answer !== undefined) return [];
    throw invalidParameter('body', 'is missing');
  }
  const device = sender.kind === 'device' ? sender.device.id : deviceNamed(format, request);
  return sourceFormats[format].split({ body, receivedAtMs, ...(device !== undefined && { device }) });
}

/** Returns the device that a request of a source names outside of its body. */
function deviceNamed(format: SourceFormatName, request: FastifyRequest): string | undefined {
  const { isUrl, deviceHeader } = rulesOf(format);
  if (isUrl) return deviceOfPath(request);
  const named = deviceHeader && request.headers[deviceHeader];
  return typeof named === 'string' && named !== '' ? named : undefined;
}

/** Reads what a request says: JSON or, for some formats, a query, a form or protobuf. Undefined for an empty body. */
function readBody(format: SourceFormatName, { query, body, headers }: FastifyRequest): unknown {
  const { secret: _secret, ...parameters } = query as Record<string, unknown>;
  const { isUrl, decodeProtobuf } = rulesOf(format);
  if (!Buffer.isBuffer(body) || body.length === 0) return isUrl ? parameters : undefined;
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (decodeProtobuf && /(protobuf|octet-stream)$/.test(type)) return decodeProtobuf(body);
  if (!isUtf8(body)) throw invalidParameter('body', 'must be UTF-8');
  const text = body.toString();
  if (isUrl && type === 'application/x-www-form-urlencoded') {
    const { secret: _inForm, ...form } = Object.fromEntries(new URLSearchParams(text));
    return { ...parameters, ...form };
  }
  try {
    return JSON.parse(text);
  } catch {
    throw invalidParameter('body', 'must be JSON');
  }
}

/** Opens the HTTP endpoints for other systems and apps. */
export async function openSourceEndpoints(
  { http, config, limits, logger, onStop }: ServiceHost<Http>,
  { db, shards, metrics }: { db: Database; shards: readonly IntakeShard[]; metrics: GatewayMetrics },
  { held, uploads }: { held: HeldBytes; uploads: GatewayUploads },
): Promise<void> {
  const usage = new UsageCounts(db, logger);
  onStop('counts of sources', () => usage.stop());
  await addSourceEndpoints(http, {
    ...{ defaults: limits, metrics, held, usage },
    senders: new Senders({
      ...{ db, logger },
      failuresPerSecret: limits.maxLoginFailuresPerMinute,
      failuresPerNetwork: config.HTTP_REQUESTS_PER_MINUTE,
    }),
    limits: new SenderLimits(),
    intake: new MessageIntake({
      ...{ db, logger, usage, uploads },
      newDevicesPerHour: limits.maxNewDevicesPerHour,
    }),
    unavailable() {
      const { ok, state } = intakeHealth(shards);
      return ok ? undefined : state;
    },
  });
}

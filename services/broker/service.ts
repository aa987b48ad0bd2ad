import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { deviceTopic, type UploadReject, uploadRejectsChannel } from '@odograph/contracts/topics';
import { openDatabase } from '@odograph/database/database';
import { readGrowth, readPercentiles, readTotal, recordSamples } from '@odograph/database/pipeline-samples';
import type { Http } from '@odograph/http/http';
import { AcknowledgementIntake, openIntakeQueues, UploadIntake } from '@odograph/queue/intake';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import { BackgroundFailures, type FailureReports } from '@odograph/runtime/background-failures';
import { type ResolvedConfig, shutdownTimeoutMs } from '@odograph/runtime/config';
import { descriptorLimit } from '@odograph/runtime/descriptors';
import type { Logger } from '@odograph/runtime/logger';
import { Gauge } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';
import type { Service, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { ConnectionLimits } from '@odograph/sessions/connection-limits';
import { type DeviceListeners, listenForDevices } from '@odograph/sessions/listeners';
import { watchRevocations } from '@odograph/sessions/revocations';
import { SessionRegistry } from '@odograph/sessions/session-registry';
import { DeviceThrottles } from '@odograph/sessions/throttle';
import { ConnectAttempts } from './connect/attempts.ts';
import { createAuthenticate, dropWill } from './connect/authenticate.ts';
import { hasBadCertificate } from './connect/client-certificate.ts';
import { chargePackets, limitPackets, maximumPacketsBeforeConnack } from './connect/packet-limit.ts';
import { createAcceptPublish, createAuthorizeForward, createAuthorizeSubscribe } from './publish/accept-publish.ts';
import { CredentialStore, validUntil } from './sessions/credentials.ts';
import { DeviceBroker } from './sessions/device-broker.ts';
import { type HeldPublication, HeldPublications } from './sessions/held-publications.ts';
import { type BrokerMetrics, brokerTasks, createBrokerMetrics } from './sessions/metrics.ts';
import type { DeviceSession, Session, Sessions } from './sessions/session-registry.ts';

/** Accepts uploads and acknowledgements of devices over MQTT into the queue, and sends commands to them. */
export const brokerService: Service<Http> = {
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    host.onStop('broker samples', recordBrokerSamples(host, engines));
    const broker = await startBroker(host, engines);
    return {
      health(): ServiceHealth {
        if (!broker.isListening) return { ok: false, state: 'not listening' };
        if (engines.backlog.fault !== undefined)
          return { ok: false, state: `holding uploads: ${engines.backlog.fault}` };
        const [failure] = engines.failures.current;
        return failure === undefined ? { ok: true, state: 'listening' } : { ok: false, state: failure };
      },
    };
  },
};

/** Records what this broker accepted and how fast, for the history of the pipeline. */
function recordBrokerSamples({ metrics, logger }: ServiceHost<Http>, { db, brokerId }: BrokerEngines): () => void {
  const accepted = readGrowth(metrics, 'odograph_broker_accepted_uploads_total');
  const refused = readGrowth(metrics, 'odograph_broker_refused_total');
  const puback = readPercentiles(metrics, 'odograph_broker_puback_seconds');
  const measure = async () => {
    const { p50, p99 } = await puback();
    return {
      accepted_uploads: await accepted(),
      refused_packets: await refused(),
      puback_p50_ms: p50,
      puback_p99_ms: p99,
      connected_devices: await readTotal(metrics, 'odograph_broker_connected_devices'),
      held_bytes: await readTotal(metrics, 'odograph_broker_held_bytes'),
      waiting_jobs: await readTotal(metrics, 'odograph_broker_backlog_jobs'),
      redis_bytes: await readTotal(metrics, 'odograph_broker_backlog_bytes'),
    };
  };
  return recordSamples(db, `broker ${brokerId}`, measure, logger);
}

const aedesOptions = {
  /** From the connection to its CONNECT. */
  connectTimeout: 10_000,
  drainTimeout: 20_000,
  queueLimit: maximumPacketsBeforeConnack,
  maxClientsIdLength: 128,
  /** No shared queue of deliveries, in which one slow device could block the others. */
  concurrency: 0,
};

/** Parts with a defined order of shutdown. */
interface Parts {
  readonly aedes: DeviceBroker;
  readonly uploads: UploadIntake<HeldPublication>;
  readonly acknowledgements: AcknowledgementIntake;
  readonly registry: SessionRegistry<DeviceSession>;
}

/** Starts the MQTT broker on its listeners and registers its graceful stop. */
export async function startBroker(host: ServiceHost<Http>, engines: BrokerEngines): Promise<DeviceListeners> {
  const { config, logger } = host;
  const { subscriber, metrics, failures } = engines;
  const parts = createParts(host, engines);
  const { sessions, registry, credentials, limits, held } = parts;
  let isStopping = false;

  const aedes = new DeviceBroker(
    {
      ...aedesOptions,
      id: registry.brokerId,
      preConnect: dropWill,
      authenticate: createAuthenticate({ ...parts, adminTokens: adminTokensOf(host.adminToken), metrics, logger }),
      authorizePublish: createAcceptPublish({ ...parts, metrics, logger, isStopping: () => isStopping }),
      authorizeSubscribe: createAuthorizeSubscribe(sessions, () => metrics.refused.inc({ reason: 'subscribe' })),
      authorizeForward: createAuthorizeForward(sessions),
    },
    sessions,
  );
  logProblems(aedes, logger);
  await aedes.listen();
  await registry.start();
  const prefix = config.QUEUE_PREFIX;
  const stopRevocations = disconnectRevokedDevices({ subscriber, prefix, registry, credentials, failures, logger });
  host.onStop('broker revocations', stopRevocations);
  forwardRejects({ subscriber, prefix, registry, aedes, logger });

  const listeners = await listenFor({ aedes, sessions, config, limits, metrics, logger });
  host.onStop('broker', async () => {
    isStopping = true;
    listeners.stop();
    await stopGracefully({ ...parts, aedes }, shutdownTimeoutMs(config) / 3);
    held.stop();
  });
  return listeners;
}

/** Creates what handles connections, sessions and publications. */
function createParts(host: ServiceHost<Http>, engines: BrokerEngines) {
  const { config, limits, logger } = host;
  const { brokerId, db, redis, backlog, metrics, failures, addUploads, addAcknowledgement } = engines;
  const sessions: Sessions = new WeakMap();
  const registry = new SessionRegistry<DeviceSession>({
    ...{ redis, failures, prefix: config.QUEUE_PREFIX, brokerId },
    connectedDevices: metrics.connectedDevices,
  });
  const held = new HeldPublications(limits.maxHeldBytes, registry, host.metrics);
  return {
    sessions,
    credentials: new CredentialStore(db),
    registry,
    limits: createConnectionLimits(host, metrics),
    attempts: new ConnectAttempts({
      failuresPerDevice: limits.maxConnectFailuresPerDevice,
      failuresPerAddress: limits.maxConnectFailuresPerAddress,
    }),
    throttles: new DeviceThrottles({
      uploadsPerSecond: limits.deviceUploadsPerSecond,
      bytesPerSecond: limits.deviceBytesPerSecond,
    }),
    held,
    uploads: new UploadIntake({
      add: addUploads,
      backlog,
      metrics,
      logger,
      onStored: releasePubacks(held, metrics),
    }),
    acknowledgements: new AcknowledgementIntake({ add: addAcknowledgement, backlog, logger }),
  };
}

/** Releases the PUBACKs of stored uploads. */
function releasePubacks(held: HeldPublications, { pubackSeconds }: BrokerMetrics) {
  return (uploads: readonly HeldPublication[]): void => {
    const nowMs = performance.now();
    for (const upload of uploads) {
      pubackSeconds.observe((nowMs - upload.heldSinceMs) / 1000);
      held.release(upload);
    }
  };
}

/** Creates and logs the limits on connections. */
function createConnectionLimits(
  { limits: given, logger, metrics: registry }: ServiceHost<Http>,
  metrics: BrokerMetrics,
): ConnectionLimits {
  const limits = new ConnectionLimits({
    limits: given,
    onRefused(reason, address) {
      metrics.refused.inc({ reason });
      logger.warn({ reason, address }, 'connection refused');
    },
  });
  const { maximum, maximumUnauthenticated } = limits;
  logger.info({ maximum, maximumUnauthenticated, descriptors: descriptorLimit() }, 'limits on MQTT connections');
  new Gauge({
    name: 'odograph_broker_connections',
    help: 'Open connections, by whether their client has authenticated',
    labelNames: ['authenticated'] as const,
    registers: [registry],
    collect() {
      this.set({ authenticated: 'no' }, limits.unauthenticated);
      this.set({ authenticated: 'yes' }, limits.open - limits.unauthenticated);
    },
  });
  return limits;
}

interface ListenParts {
  readonly aedes: DeviceBroker;
  readonly sessions: Sessions;
  readonly config: ResolvedConfig;
  readonly limits: ConnectionLimits;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/** Hands accepted connections to aedes, within the limits of packets and the rates of devices. */
function listenFor({ aedes, sessions, config, limits, metrics, logger }: ListenParts) {
  const accept = (socket: Socket): void => {
    let session: Session | undefined;
    const deviceSession = (): DeviceSession | undefined => {
      session ??= sessions.get(client);
      return session?.kind === 'device' ? session : undefined;
    };
    limitPackets(socket, {
      waitMs: () => deviceSession()?.throttle.waitMs(performance.now()) ?? 0,
      onBytes: (bytes) => deviceSession()?.throttle.takeBytes(bytes, performance.now()),
      charge: (counts) => chargePackets(session, counts),
      onPause() {
        metrics.throttled.inc();
        logger.warn({ deviceId: deviceSession()?.deviceId }, 'device throttled');
      },
      resume: () => client.resume(),
      onRefused(reason, fault) {
        metrics.refused.inc({ reason });
        const { deviceId } = deviceSession() ?? {};
        logger.warn({ deviceId, address: socket.remoteAddress, reason, fault }, 'connection closed');
      },
    });
    const client = aedes.handle(socket);
  };
  return listenForDevices({
    ...{ host: config.MQTT_HOST, port: config.MQTT_PORT, tlsPort: config.MQTTS_PORT, config, limits, logger },
    onConnection: accept,
    onTlsConnection(socket) {
      if (!hasBadCertificate(socket)) return accept(socket);
      metrics.refused.inc({ reason: 'certificate' });
      logger.warn({ reason: 'certificate', address: socket.remoteAddress }, 'connection refused');
      socket.destroy();
    },
  });
}

function logProblems(aedes: DeviceBroker, logger: Logger): void {
  aedes.on('clientError', (client, error) =>
    logger.warn({ clientId: client.id, reason: error.message }, 'connection failed'),
  );
  aedes.on('connectionError', (client, error) => {
    const address = (client.conn as Socket).remoteAddress;
    logger.warn({ address, reason: error.message }, 'connection failed before CONNECT');
  });
  aedes.on('error', (error: Error) => logger.warn({ err: error }, 'broker error'));
}

/** Stores what is held, as far as the time allows, and then closes the connections. */
async function stopGracefully({ aedes, uploads, acknowledgements, registry }: Parts, timeoutMs: number): Promise<void> {
  await Promise.all([uploads.drain(timeoutMs), acknowledgements.drain(timeoutMs)]);
  // The last PUBACKs are written at the end of this turn; closing a connection does not wait for them.
  await turn();
  await turn();
  await new Promise<void>((resolve) => aedes.close(() => resolve()));
  await turn();
  await registry.stop();
}

/** Opens the connections of the broker to PostgreSQL and Redis. Either may be unavailable, also at the start. */
export async function openEngines(host: ServiceHost<Http>) {
  const db = openDatabase({ url: host.config.DATABASE_URL, name: 'broker', size: 2, statementTimeoutMs: 5000 });
  host.onStop('broker database', () => db.destroy());
  const metrics = createBrokerMetrics(host.metrics);
  const failures = new BackgroundFailures(brokerTasks, host.logger, metrics.backgroundFailures);
  const queues = await openIntakeQueues(host, 'broker', { metrics, failures });
  return { brokerId: randomUUID(), db, ...queues, metrics, failures };
}

type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;

export interface RevocationOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry<DeviceSession>;
  readonly credentials: CredentialStore;
  readonly failures: FailureReports<'revocations'>;
  readonly logger: Logger;
}

/**
 * Closes the sessions of devices that were deleted or whose secret or certificate was revoked.
 * @returns ends it
 */
function disconnectRevokedDevices(options: RevocationOptions): () => void {
  const { credentials, logger } = options;
  return watchRevocations({
    ...options,
    invalidate: (deviceId) => credentials.invalidate(deviceId),
    invalidateAll: () => credentials.invalidateAll(),
    async isRevoked(session) {
      const stored = await credentials.find(session.deviceId);
      return session.credentials.some((credential) => validUntil(credential, stored, Date.now()) === 0);
    },
    close({ deviceId, client }) {
      logger.info({ deviceId }, 'session closed: credentials revoked');
      client.close();
    },
  });
}

interface RejectOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry<DeviceSession>;
  readonly aedes: DeviceBroker;
  readonly logger: Logger;
}

/**
 * Publishes announced rejects of uploads to the devices that are connected here and subscribe to them: QoS 0, never
 * retained. Announcements made while this broker was not subscribed are lost ("Rejected uploads" in docs/device-protocol.md).
 */
function forwardRejects({ subscriber, prefix, registry, aedes, logger }: RejectOptions): void {
  const channel = uploadRejectsChannel(prefix);
  const subscribe = (): void => {
    subscriber.subscribe(channel).catch((err: unknown) => logger.warn({ err }, 'rejects of uploads unavailable'));
  };
  const publish = ({ deviceId, message }: UploadReject): void => {
    if (!registry.find(deviceId)) return;
    const payload = JSON.stringify(message);
    const flags = { qos: 0, retain: false, dup: false } as const;
    aedes.publish({ cmd: 'publish', topic: deviceTopic(deviceId, 'rejects'), payload, ...flags }, null);
  };
  subscriber.on('ready', subscribe);
  subscriber.on('message', (from, text) => {
    if (from === channel) for (const reject of JSON.parse(text) as UploadReject[]) publish(reject);
  });
  if (subscriber.status === 'ready') subscribe();
}

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { keyListsKey, type SessionMessage } from '@odograph/contracts/presence';
import { type UploadReject, uploadRejectsChannel } from '@odograph/contracts/topics';
import { openDatabase } from '@odograph/database/database';
import { readGrowth, readPercentiles, readTotal, recordSamples } from '@odograph/database/pipeline-samples';
import type { Http } from '@odograph/http/http';
import { AcknowledgementIntake, intakeHealth, openIntakeQueues, UploadIntake } from '@odograph/queue/intake';
import { HeldByLane } from '@odograph/queue/shards';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { type ResolvedConfig, storeTimeoutMs } from '@odograph/runtime/config';
import { descriptorLimit } from '@odograph/runtime/descriptors';
import type { Logger } from '@odograph/runtime/logger';
import { exportZero } from '@odograph/runtime/metrics';
import type { Service, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { addConnectionGauge, ConnectionLimits } from '@odograph/sessions/connection-limits';
import { type DeviceListeners, listenForDevices } from '@odograph/sessions/listeners';
import { receiveChannel } from '@odograph/sessions/presence';
import { watchRevocations } from '@odograph/sessions/revocations';
import { SessionRegistry, type SessionRegistryOptions } from '@odograph/sessions/session-registry';
import { DeviceThrottles } from '@odograph/sessions/throttle';
import { ConnectAttempts } from './connect/attempts.ts';
import { createAuthenticate, dropWill } from './connect/authenticate.ts';
import { hasBadCertificate } from './connect/client-certificate.ts';
import { chargePackets, limitPackets, maximumPacketsBeforeConnack } from './connect/packet-limit.ts';
import { createAcceptPublish } from './publish/accept-publish.ts';
import { CredentialStore, validUntil } from './sessions/credentials.ts';
import { DeviceBroker } from './sessions/device-broker.ts';
import { type HeldPublication, HeldPublications } from './sessions/held-publications.ts';
import { type BrokerMetrics, brokerTasks, createBrokerMetrics } from './sessions/metrics.ts';
import type { DeviceSession, Sessions } from './sessions/session-registry.ts';

/** Accepts uploads and acknowledgements of devices over MQTT into the queue, and sends commands to them. */
export const brokerService: Service<Http> = {
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    host.onStop('broker samples', recordBrokerSamples(host, engines));
    const broker = await startBroker(host, engines);
    return {
      health(): ServiceHealth {
        if (!broker.listeners.isListening) return { ok: false, state: 'not listening' };
        const { ok, state } = intakeHealth(engines.shards);
        const failure = engines.failures.current.join('; ');
        if (ok && failure !== '') return { ok: false, state: failure };
        return { ok, state: [state, broker.limits.throttling ?? []].flat().join('; ') };
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
  /** Disables the shared delivery queue, in which one slow device could block the others. */
  concurrency: 0,
};

/** Parts that must shut down in a defined order. */
interface Parts {
  readonly aedes: DeviceBroker;
  readonly uploads: UploadIntake<HeldPublication>;
  readonly acknowledgements: AcknowledgementIntake;
  readonly registry: SessionRegistry<DeviceSession>;
}

/** Starts the MQTT broker on its listeners and registers its graceful stop. */
export async function startBroker(
  host: ServiceHost<Http>,
  engines: BrokerEngines,
): Promise<{ listeners: DeviceListeners; limits: ConnectionLimits }> {
  const { config, logger } = host;
  const { redis, metrics } = engines;
  const parts = createParts(host, engines, {
    onMessage: (message, session) => deliver({ ...parts, aedes }, message, session),
    onMissedMessages: () => aedes.sendMissedKeyLists(parts.registry.sessions),
  });
  const { sessions, registry, limits, held } = parts;
  let isStopping = false;

  const aedes = new DeviceBroker({
    ...aedesOptions,
    ...{ sessions, logger },
    id: registry.brokerId,
    preConnect: dropWill,
    authenticate: createAuthenticate({ ...parts, metrics, logger }),
    authorizePublish: createAcceptPublish({ ...parts, metrics, logger, isStopping: () => isStopping }),
    onRefusedSubscription: () => metrics.refused.inc({ reason: 'subscribe' }),
    readKeyLists: (deviceIds) => redis.hmget(keyListsKey(config.QUEUE_PREFIX), ...deviceIds),
  });
  logProblems(aedes, logger);
  await aedes.listen();
  await registry.start();
  host.onStop('broker revocations', disconnectRevokedDevices(host, engines, parts));
  host.onStop('rejects of uploads', forwardRejects(host, engines, { ...parts, aedes }));

  const listeners = await listenFor({ aedes, sessions, config, limits, metrics, logger });
  host.onStop('broker', async () => {
    listeners.stop();
    await registry.drain(config.SESSION_DRAIN_MS);
    isStopping = true;
    await stopGracefully({ ...parts, aedes }, storeTimeoutMs(config));
    held.stop();
  });
  return { listeners, limits };
}

type BrokerParts = ReturnType<typeof createParts>;

/** Sends a message of another service to a device; refuses a command whose session has ended: it was not sent. */
function deliver(
  { aedes, acknowledgements }: Pick<BrokerParts, 'acknowledgements'> & { readonly aedes: DeviceBroker },
  message: Exclude<SessionMessage, { kind: 'session' }>,
  session: DeviceSession | undefined,
): void {
  if (message.kind === 'key-list') {
    if (session) aedes.sendKeyList(session, message.list);
  } else if (session) aedes.send(session, 'commands', message.command);
  else {
    const { deviceId, command } = message;
    const refusal = { id: command.id, ok: false, reason: 'the session ended before the command could be sent' };
    void acknowledgements.add({ deviceId, receivedAtMs: Date.now(), text: JSON.stringify(refusal) });
  }
}

/** Creates the handlers of connections, sessions and publications. */
function createParts(
  host: ServiceHost<Http>,
  engines: BrokerEngines,
  messages: Pick<SessionRegistryOptions<DeviceSession>, 'onMessage' | 'onMissedMessages'>,
) {
  const { config, limits, logger } = host;
  const { brokerId, db, redis, subscriber, shards, backlog, metrics, failures, addAcknowledgement } = engines;
  const sessions: Sessions = new WeakMap();
  const registry = new SessionRegistry<DeviceSession>({
    ...{ redis, subscriber, failures, prefix: config.QUEUE_PREFIX, brokerId, ...messages },
    connectedDevices: metrics.connectedDevices,
    onSuperseded({ deviceId }) {
      metrics.superseded.inc();
      logger.info({ deviceId }, 'session closed: superseded by a newer one');
    },
  });
  const held = new HeldPublications(new HeldByLane(limits.maxHeldBytes, shards.length), registry, host.metrics);
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
      shards,
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
  exportZero(metrics.refused, { reason: 'connections' });
  addConnectionGauge(registry, 'broker', limits);
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

/** Hands accepted connections to aedes, subject to packet limits and device rates. */
function listenFor({ aedes, sessions, config, limits, metrics, logger }: ListenParts) {
  const accept = (socket: Socket): void => {
    let session: DeviceSession | undefined;
    const deviceSession = (): DeviceSession | undefined => {
      session ??= sessions.get(client);
      return session;
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

/** Stores as many held publications as the timeout allows, then closes the connections. */
async function stopGracefully({ aedes, uploads, acknowledgements, registry }: Parts, timeoutMs: number): Promise<void> {
  await Promise.all([uploads.drain(timeoutMs), acknowledgements.drain(timeoutMs)]);
  // The last PUBACKs are written at the end of this turn; closing a connection does not wait for them.
  await turn();
  await turn();
  await new Promise<void>((resolve) => aedes.close(() => resolve()));
  await turn();
  await registry.stop();
}

/** Opens the connections of the broker to PostgreSQL and Redis. Either may be unavailable, even at the start. */
export async function openEngines(host: ServiceHost<Http>) {
  const db = openDatabase({ url: host.config.DATABASE_URL, name: 'broker', size: 2, statementTimeoutMs: 5000 });
  host.onStop('broker database', () => db.destroy());
  const metrics = createBrokerMetrics(host.metrics);
  const failures = new BackgroundFailures(brokerTasks, host.logger, metrics.backgroundFailures);
  const queues = await openIntakeQueues(host, 'broker', { metrics, failures });
  return { brokerId: randomUUID(), db, ...queues, metrics, failures };
}

type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;

/**
 * Closes the sessions of devices that were deleted or whose secret or certificate was revoked.
 * @returns a function that ends it
 */
function disconnectRevokedDevices(
  { config, logger }: ServiceHost<Http>,
  { subscriber, failures }: BrokerEngines,
  { registry, credentials }: BrokerParts,
): () => Promise<void> {
  return watchRevocations({
    ...{ subscriber, failures, registry, prefix: config.QUEUE_PREFIX },
    invalidate: (deviceId) => credentials.invalidate(deviceId),
    invalidateAll: () => credentials.invalidateAll(),
    async isRevoked(session) {
      const stored = await credentials.find(session.deviceId);
      if (stored?.isMoving) return true;
      return session.credentials.some((credential) => validUntil(credential, stored, Date.now()) === 0);
    },
    close(session) {
      logger.info({ deviceId: session.deviceId }, 'session closed: credentials revoked, or its application moves');
      session.close();
    },
  });
}

/**
 * Sends announced rejects of uploads to the devices that are connected here and subscribe to them. Announcements made
 * while this broker was not subscribed are lost ("Rejected uploads" in docs/device-protocol.md).
 * @returns a function that ends it
 */
function forwardRejects(
  { config, logger }: ServiceHost<Http>,
  { subscriber }: BrokerEngines,
  { registry, aedes }: Pick<BrokerParts, 'registry'> & { readonly aedes: DeviceBroker },
): () => Promise<void> {
  return receiveChannel({
    subscriber,
    channel: uploadRejectsChannel(config.QUEUE_PREFIX),
    onMessage(text) {
      for (const { deviceId, message } of JSON.parse(text) as UploadReject[]) {
        const session = registry.find(deviceId);
        if (session) aedes.send(session, 'rejects', message);
      }
    },
    report: (error) => error !== undefined && logger.warn({ err: error }, 'rejects of uploads unavailable'),
  });
}

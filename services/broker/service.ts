import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { commandAccount } from '@odograph/contracts/service-accounts';
import type { Http } from '@odograph/http/http';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { descriptorLimit, shareDescriptors } from '@odograph/runtime/descriptors';
import { Gauge } from '@odograph/runtime/metrics';
import { deriveSecret } from '@odograph/runtime/secrets';
import type { Service, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { ConnectAttempts } from './connect/attempts.ts';
import { createAuthenticate, dropWill } from './connect/authenticate.ts';
import { CredentialStore } from './connect/credentials.ts';
import { ConnectionLimits, type Listeners, listen } from './connect/listen.ts';
import { limitPackets } from './connect/packet-limit.ts';
import { type BrokerEngines, openEngines } from './engines.ts';
import { createThrottledLog, type ThrottledLog } from './failures.ts';
import type { BrokerMetrics } from './metrics.ts';
import { createAcceptPublish } from './publish/accept-publish.ts';
import { AcknowledgementIntake } from './publish/acknowledgements.ts';
import { createAuthorizeForward, createAuthorizeSubscribe } from './publish/authorize.ts';
import { DeviceThrottles } from './publish/device-throttle.ts';
import { HeldPublications } from './publish/held-publications.ts';
import { UploadIntake } from './publish/uploads.ts';
import { DeviceBroker } from './sessions/device-broker.ts';
import { disconnectRevokedDevices } from './sessions/disconnect-revoked.ts';
import { forwardRejects } from './sessions/forward-rejects.ts';
import type { DeviceSession, Sessions } from './sessions/session.ts';
import { SessionRegistry } from './sessions/session-registry.ts';

/** Accepts uploads and acknowledgements of devices over MQTT into the queue, and sends commands to them. */
export const brokerService: Service<Http> = {
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    const broker = await startBroker(
      host,
      engines,
      adminTokensOf(host.adminToken).map((token) => deriveSecret(token, commandAccount)),
    );
    return {
      health(): ServiceHealth {
        if (!broker.isListening) return { ok: false, state: 'not listening' };
        if (engines.redis.status !== 'ready') return { ok: false, state: 'holding uploads: Redis is away' };
        if (engines.backlog.isFull) return { ok: false, state: 'holding uploads: the backlog exceeds its limit' };
        const [failure] = engines.failures.current;
        return failure === undefined ? { ok: true, state: 'listening' } : { ok: false, state: failure };
      },
    };
  },
};

const aedesOptions = {
  /** From the connection to its CONNECT. */
  connectTimeout: 10_000,
  drainTimeout: 20_000,
  /** Packets that a client may send after its CONNECT without waiting for CONNACK [MQTT-3.1.4-5]. */
  queueLimit: 1000,
  maxClientsIdLength: 128,
  /** No shared queue of deliveries, in which one slow device could block the others. */
  concurrency: 0,
};

/** Parts with a defined order of shutdown. */
interface Parts {
  readonly aedes: DeviceBroker;
  readonly uploads: UploadIntake;
  readonly acknowledgements: AcknowledgementIntake;
  readonly registry: SessionRegistry;
}

/** Starts the MQTT broker on its listeners and registers its graceful stop. */
export async function startBroker(
  host: ServiceHost<Http>,
  engines: BrokerEngines,
  commandSecrets: readonly string[],
): Promise<Listeners> {
  const { config, logger } = host;
  const { subscriber, metrics, failures } = engines;
  const log = createThrottledLog(logger);
  const parts = createParts(host, engines, log);
  const { sessions, registry, credentials, limits, held } = parts;
  let isStopping = false;

  const aedes = new DeviceBroker(
    {
      ...aedesOptions,
      id: registry.brokerId,
      preConnect: dropWill,
      authenticate: createAuthenticate({ ...parts, commandSecrets, metrics, log }),
      authorizePublish: createAcceptPublish({ ...parts, metrics, isStopping: () => isStopping }),
      authorizeSubscribe: createAuthorizeSubscribe(sessions, () => metrics.refused.inc({ reason: 'subscribe' })),
      authorizeForward: createAuthorizeForward(sessions),
    },
    sessions,
  );
  logProblems(aedes, log);
  await aedes.listen();
  await registry.start();
  const prefix = config.QUEUE_PREFIX;
  const stopRevocations = disconnectRevokedDevices({ subscriber, prefix, registry, credentials, failures, logger });
  host.onStop('broker revocations', stopRevocations);
  forwardRejects({ subscriber, prefix, registry, aedes, log });

  const listeners = await listenFor({ aedes, sessions, config, limits, metrics, log });
  host.onStop('broker', async () => {
    isStopping = true;
    listeners.stop();
    await stopGracefully({ ...parts, aedes }, config.SHUTDOWN_TIMEOUT_MS / 3);
    held.stop();
  });
  return listeners;
}

/** Creates what handles connections, sessions and publications. */
function createParts(host: ServiceHost<Http>, engines: BrokerEngines, log: ThrottledLog) {
  const { config } = host;
  const { db, redis, backlog, metrics, failures, addUploads, addAcknowledgement } = engines;
  const sessions: Sessions = new WeakMap();
  return {
    sessions,
    credentials: new CredentialStore(db),
    registry: new SessionRegistry({
      ...{ redis, failures, prefix: config.QUEUE_PREFIX, brokerId: randomUUID() },
      connectedDevices: metrics.connectedDevices,
    }),
    limits: createConnectionLimits(host, metrics, log),
    attempts: new ConnectAttempts({
      failuresPerDevice: config.MQTT_FAILURES_PER_DEVICE,
      failuresPerAddress: config.MQTT_FAILURES_PER_ADDRESS,
    }),
    throttles: new DeviceThrottles({
      uploadsPerSecond: config.MQTT_DEVICE_UPLOADS_PER_SECOND,
      bytesPerSecond: config.MQTT_DEVICE_BYTES_PER_SECOND,
    }),
    held: new HeldPublications(config.UPLOAD_HELD_BYTES, host.metrics),
    uploads: new UploadIntake({ add: addUploads, backlog, config, metrics, log }),
    acknowledgements: new AcknowledgementIntake({ add: addAcknowledgement, backlog, metrics, log }),
  };
}

/** Derives the limits on connections from the settings and from the file descriptors of this process. */
function createConnectionLimits(
  { config, logger, metrics: registry }: ServiceHost<Http>,
  metrics: BrokerMetrics,
  log: ThrottledLog,
): ConnectionLimits {
  const maximum = Math.min(config.MQTT_MAX_CONNECTIONS, shareDescriptors().mqtt);
  const maximumUnauthenticated = Math.min(config.MQTT_MAX_UNAUTHENTICATED, Math.ceil(maximum / 2));
  const limits = new ConnectionLimits({
    maximum,
    maximumUnauthenticated,
    maximumUnauthenticatedPerNetwork: config.MQTT_MAX_UNAUTHENTICATED_PER_ADDRESS,
    onRefused(reason, address) {
      metrics.refused.inc({ reason });
      log('connection refused', { reason, address });
    },
  });
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
  readonly log: ThrottledLog;
}

/** Hands accepted connections to aedes, within the limits of packets and the rates of devices. */
function listenFor({ aedes, sessions, config, limits, metrics, log }: ListenParts) {
  return listen(config, limits, {
    onConnection(socket) {
      let session: DeviceSession | undefined;
      const deviceSession = (): DeviceSession | undefined => {
        const found = session ?? sessions.get(client);
        session = found?.kind === 'device' ? found : undefined;
        return session;
      };
      limitPackets(socket, {
        waitMs: () => deviceSession()?.throttle.waitMs() ?? 0,
        onBytes: (bytes) => deviceSession()?.throttle.takeBytes(bytes),
        onPause() {
          metrics.throttled.inc();
          log('device throttled', { deviceId: session?.deviceId });
        },
        resume: () => client.resume(),
        onRefused(fault) {
          metrics.refused.inc({ reason: 'packet' });
          log('connection closed: invalid packet', { fault, address: socket.remoteAddress });
        },
      });
      const client = aedes.handle(socket);
    },
    onRefused(reason, address) {
      metrics.refused.inc({ reason });
      log('connection refused', { reason, address });
    },
    onCertificates(error) {
      if (error === undefined) log('new certificates in use', {});
      else log('new certificates rejected; keeping the current ones', { err: error });
    },
  });
}

function logProblems(aedes: DeviceBroker, log: ThrottledLog): void {
  aedes.on('clientError', (client, error) => log('connection failed', { clientId: client.id, reason: error.message }));
  aedes.on('connectionError', (client, error) => {
    const address = (client.conn as Socket).remoteAddress;
    log('connection failed before CONNECT', { address, reason: error.message });
  });
  aedes.on('error', (error: Error) => log('broker error', { err: error }));
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

import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Http } from '@odograph/http/http';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { descriptorLimit, shareDescriptors } from '@odograph/runtime/descriptors';
import { Gauge } from '@odograph/runtime/metrics';
import type { ServiceHost } from '@odograph/runtime/service';
import { ConnectAttempts } from './connect/attempts.ts';
import { createAuthenticate, dropWill } from './connect/authenticate.ts';
import { ConnectionLimits } from './connect/connection-limits.ts';
import { CredentialStore } from './connect/credentials.ts';
import { type Listeners, listen } from './connect/listen.ts';
import { limitPackets } from './connect/packet-limit.ts';
import type { BrokerEngines } from './engines.ts';
import { createThrottledLog, type ThrottledLog } from './failures.ts';
import type { BrokerMetrics } from './metrics.ts';
import { createAcceptPublish } from './publish/accept-publish.ts';
import { AcknowledgementIntake } from './publish/acknowledgements.ts';
import { createAuthorizeForward, createAuthorizeSubscribe } from './publish/authorize.ts';
import { HeldPublications } from './publish/held-publications.ts';
import { UploadIntake } from './publish/uploads.ts';
import { DeviceBroker } from './sessions/device-broker.ts';
import { disconnectRevokedDevices } from './sessions/disconnect-revoked.ts';
import type { Sessions } from './sessions/session.ts';
import { SessionRegistry } from './sessions/session-registry.ts';

/** From the connection to its CONNECT. */
const connectTimeoutMs = 10_000;
/** Packets that a client may send after its CONNECT without waiting for CONNACK [MQTT-3.1.4-5]. */
const packetsBeforeConnack = 1000;
const longestClientId = 128;
const drainTimeoutMs = 20_000;

/** The parts that stop in an order of their own. */
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
  const { redis, subscriber, backlog, metrics, failures } = engines;
  const prefix = config.QUEUE_PREFIX;
  const log = createThrottledLog(logger);
  const sessions: Sessions = new WeakMap();
  const brokerId = randomUUID();
  const held = new HeldPublications(config.UPLOAD_HELD_BYTES, host.metrics);
  const credentials = new CredentialStore(engines.db);
  const attempts = new ConnectAttempts({
    failuresPerDevice: config.MQTT_FAILURES_PER_DEVICE,
    failuresPerAddress: config.MQTT_FAILURES_PER_ADDRESS,
  });
  const { connectedDevices } = metrics;
  const registry = new SessionRegistry({ redis, prefix, brokerId, connectedDevices, failures });
  const uploads = new UploadIntake({ add: engines.addUploads, backlog, config, metrics, log });
  const acknowledgements = new AcknowledgementIntake({ add: engines.addAcknowledgement, backlog, metrics, log });
  const limits = createConnectionLimits(host, metrics, log);
  let isStopping = false;

  const aedes = new DeviceBroker(
    {
      id: brokerId,
      connectTimeout: connectTimeoutMs,
      drainTimeout: drainTimeoutMs,
      queueLimit: packetsBeforeConnack,
      maxClientsIdLength: longestClientId,
      // No shared queue of deliveries, in which one slow device could block the others.
      concurrency: 0,
      preConnect: dropWill,
      authenticate: createAuthenticate({
        ...{ credentials, registry, sessions, attempts, limits, commandSecrets, metrics, log },
      }),
      authorizePublish: createAcceptPublish({
        ...{ sessions, held, uploads, acknowledgements, metrics },
        isStopping: () => isStopping,
      }),
      authorizeSubscribe: createAuthorizeSubscribe(sessions, () => metrics.refused.inc({ reason: 'subscribe' })),
      authorizeForward: createAuthorizeForward(sessions),
    },
    sessions,
  );
  logProblems(aedes, log);
  await aedes.listen();
  await registry.start();
  const stopRevocations = disconnectRevokedDevices({ subscriber, prefix, registry, credentials, failures, logger });
  host.onStop('broker revocations', stopRevocations);

  const listeners = await listenFor(aedes, config, limits, metrics, log);
  host.onStop('broker', async () => {
    isStopping = true;
    listeners.stop();
    await stopGracefully({ aedes, uploads, acknowledgements, registry }, config.SHUTDOWN_TIMEOUT_MS / 3);
    held.stop();
  });
  return listeners;
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

/** Hands accepted connections to aedes. */
function listenFor(
  aedes: DeviceBroker,
  config: ResolvedConfig,
  limits: ConnectionLimits,
  metrics: BrokerMetrics,
  log: ThrottledLog,
) {
  return listen(config, limits, {
    onConnection(socket) {
      limitPackets(socket, (fault) => {
        metrics.refused.inc({ reason: 'packet' });
        log('connection closed: invalid packet', { fault, address: socket.remoteAddress });
      });
      aedes.handle(socket);
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

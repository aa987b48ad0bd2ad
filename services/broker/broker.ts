import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Http } from '@odograph/http/http';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { ServiceHost } from '@odograph/runtime/service';
import { ConnectAttempts } from './connect/attempts.ts';
import { createAuthenticate, dropWill } from './connect/authenticate.ts';
import { CredentialStore } from './connect/credentials.ts';
import { type Listeners, listen } from './connect/listen.ts';
import { limitPackets } from './connect/packet-limit.ts';
import type { BrokerEngines } from './engines.ts';
import type { BrokerMetrics } from './metrics.ts';
import { createAuthorizePublish } from './publish/accept-publish.ts';
import { AcknowledgementIntake } from './publish/acknowledgements.ts';
import { createAuthorizeForward, createAuthorizeSubscribe } from './publish/authorize.ts';
import { createHeldBytes } from './publish/held-bytes.ts';
import { resumeReadingWhileHeld } from './publish/resume-reading.ts';
import { createUploadIntakes, type UploadIntakes } from './publish/upload-acceptors.ts';
import { DeviceBroker } from './sessions/device-broker.ts';
import { disconnectRevokedDevices } from './sessions/disconnect-revoked.ts';
import type { Sessions } from './sessions/session.ts';
import { SessionRegistry } from './sessions/session-registry.ts';
import { createThrottledLog, type ThrottledLog } from './throttled-log.ts';

/** How long a connection may take to say who it is. */
const connectTimeoutMs = 10_000;
/** Packets a client may send behind its CONNECT without waiting for CONNACK [MQTT-3.1.4-5]. */
const packetsBehindConnect = 1000;
const longestClientId = 128;
const drainTimeoutMs = 20_000;

/** The parts that end in an order of their own. */
interface Parts {
  readonly aedes: DeviceBroker;
  readonly uploads: UploadIntakes;
  readonly acknowledgements: AcknowledgementIntake;
  readonly presence: SessionRegistry;
}

/** Starts the MQTT broker on its listeners and registers its graceful stop. */
export async function startBroker(
  host: ServiceHost<Http>,
  engines: BrokerEngines,
  commandSecret: string,
): Promise<Listeners> {
  const { config, logger } = host;
  const { metrics } = engines;
  const log = createThrottledLog(logger);
  const sessions: Sessions = new WeakMap();
  const brokerId = randomUUID();
  const held = createHeldBytes(config.UPLOAD_HELD_BYTES, host.metrics);
  const credentials = new CredentialStore(engines.db);
  const attempts = new ConnectAttempts({
    failuresPerDevice: config.MQTT_FAILURES_PER_DEVICE,
    failuresPerAddress: config.MQTT_FAILURES_PER_ADDRESS,
  });
  const presence = new SessionRegistry(engines.redis, config.QUEUE_PREFIX, brokerId, metrics.connectedDevices);
  const shared = { backlog: engines.backlog, held, config, metrics, log };
  const uploads = createUploadIntakes({ ...shared, queue: engines.uploads });
  const acknowledgements = new AcknowledgementIntake({ ...shared, queue: engines.acknowledgements });
  let stopping = false;

  const aedes = new DeviceBroker(
    {
      id: brokerId,
      connectTimeout: connectTimeoutMs,
      drainTimeout: drainTimeoutMs,
      queueLimit: packetsBehindConnect,
      maxClientsIdLength: longestClientId,
      // No queue in front of the deliveries, in which one slow device could stand before the others.
      concurrency: 0,
      preConnect: dropWill,
      authenticate: createAuthenticate({ credentials, presence, sessions, attempts, commandSecret, metrics, log }),
      authorizePublish: createAuthorizePublish({
        ...{ sessions, held, uploads, acknowledgements, metrics, log },
        stopping: () => stopping,
      }),
      authorizeSubscribe: createAuthorizeSubscribe(sessions, () => metrics.refused.inc({ reason: 'subscribe' })),
      authorizeForward: createAuthorizeForward(sessions),
    },
    sessions,
  );
  logProblems(aedes, log);
  await aedes.listen();
  await presence.start();
  const { subscriber } = engines;
  disconnectRevokedDevices({ subscriber, prefix: config.QUEUE_PREFIX, presence, credentials, logger });
  const stopResuming = resumeReadingWhileHeld(() => [...uploads.held, ...acknowledgements.held]);

  const listeners = await listenFor(aedes, config, metrics, log);
  host.onStop('broker', async () => {
    stopping = true;
    listeners.stop();
    await stopGracefully({ aedes, uploads, acknowledgements, presence }, config.SHUTDOWN_TIMEOUT_MS / 3);
    stopResuming();
  });
  return listeners;
}

/** Hands every connection that may speak at all to aedes. */
function listenFor(aedes: DeviceBroker, config: ResolvedConfig, metrics: BrokerMetrics, log: ThrottledLog) {
  return listen(config, {
    onConnection(socket) {
      limitPackets(socket, (fault) => {
        metrics.refused.inc({ reason: 'packet' });
        log('a connection was closed: a packet cannot be taken', { fault, address: socket.remoteAddress });
      });
      aedes.handle(socket);
    },
    onRefused(reason, address) {
      metrics.refused.inc({ reason });
      log('a connection was closed at once', { reason, address });
    },
    onCertificates(error) {
      if (error === undefined) log('changed certificates are in use', {});
      else log('changed certificates cannot be used: those of before stay', { err: error });
    },
  });
}

function logProblems(aedes: DeviceBroker, log: ThrottledLog): void {
  aedes.on('clientError', (client, error) =>
    log('a connection failed', { clientId: client.id, reason: error.message }),
  );
  aedes.on('connectionError', (client, error) => {
    const address = (client.conn as Socket).remoteAddress;
    log('a connection failed before it was a session', { address, reason: error.message });
  });
  aedes.on('error', (error: Error) => log('the broker failed at something', { err: error }));
}

/** Acknowledges what is held while there is time, and only then closes the connections. */
async function stopGracefully({ aedes, uploads, acknowledgements, presence }: Parts, timeoutMs: number): Promise<void> {
  await Promise.all([uploads.drain(timeoutMs), acknowledgements.drain(timeoutMs)]);
  // The last PUBACKs are written at the end of this turn; a connection is destroyed without waiting for them.
  await turn();
  await turn();
  await new Promise<void>((resolve) => aedes.close(() => resolve()));
  await turn();
  await presence.stop().catch(() => undefined);
}

import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { CommandAcknowledgement } from '@odograph/contracts/commands';
import { gatewaysChannel, type SessionMessage } from '@odograph/contracts/presence';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { AcknowledgementIntake, intakeHealth, openIntakeQueues } from '@odograph/queue/intake';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { storeTimeoutMs } from '@odograph/runtime/config';
import { exportZero } from '@odograph/runtime/metrics';
import { parseNetworks } from '@odograph/runtime/network-address';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { addConnectionGauge, ConnectionLimits } from '@odograph/sessions/connection-limits';
import { receiveChannel } from '@odograph/sessions/presence';
import { watchRevocations } from '@odograph/sessions/revocations';
import { SessionRegistry } from '@odograph/sessions/session-registry';
import { DeviceThrottles } from '@odograph/sessions/throttle';
import { FlespiCommands } from './commands/flespi-commands.ts';
import { findDeviceBehindSource, findDeviceCommands } from './commands/queries.ts';
import { TeltonikaCommands } from './commands/teltonika-commands.ts';
import { GatewayDevices, type GatewaySession } from './shared/devices.ts';
import { createGatewayMetrics, gatewayTasks } from './shared/metrics.ts';
import { GatewayUploads, HeldBytes } from './shared/uploads.ts';
import { openSourceEndpoints } from './sources/routes.ts';
import type { TeltonikaEndpoint } from './teltonika/connection.ts';
import { listenForTeltonika } from './teltonika/listen.ts';

/** Lease of a claimed command; longer than any command may take. */
const claimSeconds = 600;
/** Exceeds the number of distinct statements of this service. */
const preparedStatements = 64;

/**
 * Accepts uploads of devices and systems that do not use MQTT, into the same queue with the same guarantees.
 * @param flespiUrl receives the commands for devices behind flespi
 */
export const createGatewayService = (flespiUrl = 'https://flespi.io'): Service<Http> => ({
  name: 'gateway',
  async start(host) {
    const engines = await openEngines(host);
    const { shards, failures } = engines;
    const endpoint = createTeltonikaEndpoint(host, engines, (message) => commands.receive(message));
    await openSourceEndpoints(host, engines, endpoint);
    const commands = await createCommands(host, engines, endpoint, flespiUrl);
    await endpoint.sessions.start();
    host.onStop('gateway sessions', () => endpoint.sessions.stop());
    const listeners = await listenForTeltonika(endpoint, host.config);
    host.onStop('gateway', async () => {
      listeners.stop();
      // A stopping gateway accepts no more commands.
      await Promise.all([commands.stopReceiving(), endpoint.sessions.stopReceiving()]);
      await endpoint.sessions.drain(host.config.SESSION_DRAIN_MS);
      const timeoutMs = storeTimeoutMs(host.config);
      await commands.flespi.drain(timeoutMs);
      await Promise.all([endpoint.uploads.drain(timeoutMs), commands.acknowledgements.drain(timeoutMs)]);
      // The last acknowledgements are written at the end of this turn.
      await turn();
      listeners.closeConnections();
    });
    return {
      health(): ServiceHealth {
        if (!listeners.isListening) return { ok: false, state: 'not listening' };
        const { ok, state } = intakeHealth(shards);
        const failure = failures.current.join('; ');
        if (ok && failure !== '') return { ok: false, state: failure };
        return { ok, state: [state, endpoint.limits.throttling ?? []].flat().join('; ') };
      },
    };
  },
});

export const gatewayService = createGatewayService();

/** Creates the state that the connections of Teltonika devices share. */
function createTeltonikaEndpoint(
  { config, limits, logger, metrics: registry }: ServiceHost<Http>,
  { gatewayId, db, redis, subscriber, shards, metrics, failures }: GatewayEngines,
  onMessage: (message: Exclude<SessionMessage, { kind: 'session' }>) => void,
): TeltonikaEndpoint {
  const held = new HeldBytes(limits.maxHeldBytes, registry);
  const networks = config.TELTONIKA_NETWORKS === undefined ? undefined : parseNetworks(config.TELTONIKA_NETWORKS);
  const connections = new ConnectionLimits({
    ...{ networks, limits },
    onRefused(reason, address) {
      metrics.refused.inc({ listener: 'teltonika', reason });
      logger.warn({ reason, address }, 'connection refused');
    },
  });
  exportZero(metrics.refused, { listener: 'teltonika', reason: 'connections' });
  addConnectionGauge(registry, 'gateway', connections);
  return {
    devices: new GatewayDevices(db),
    uploads: new GatewayUploads({ shards, held, maxHeldBytes: limits.maxHeldBytes, metrics, logger }),
    held,
    sessions: new SessionRegistry<GatewaySession>({
      ...{ redis, subscriber, failures, prefix: config.QUEUE_PREFIX, brokerId: gatewayId, onMessage },
      connectedDevices: metrics.connectedDevices,
      onSuperseded: ({ deviceId }) => logger.info({ deviceId }, 'session closed: superseded by a newer one'),
    }),
    throttles: new DeviceThrottles({
      uploadsPerSecond: limits.deviceUploadsPerSecond,
      bytesPerSecond: limits.deviceBytesPerSecond,
    }),
    addresses: new DeviceThrottles({
      uploadsPerSecond: limits.teltonikaUploadsPerSecondPerAddress,
      bytesPerSecond: limits.teltonikaBytesPerSecondPerAddress,
    }),
    networks,
    limits: connections,
    metrics,
    logger,
  };
}

/** Creates the senders of commands to Teltonika and flespi devices, and closes the connections of deleted devices. */
async function createCommands(
  { config, logger, onStop }: ServiceHost<Http>,
  { db, redis, subscriber, addAcknowledgement, backlog, metrics, failures }: GatewayEngines,
  { devices, sessions }: TeltonikaEndpoint,
  flespiUrl: string,
) {
  const acknowledgements = new AcknowledgementIntake({ add: addAcknowledgement, backlog, logger });
  const acknowledge = (deviceId: string, message: CommandAcknowledgement): void =>
    void acknowledgements.add({ deviceId, receivedAtMs: Date.now(), text: JSON.stringify(message) });
  const teltonika = new TeltonikaCommands({
    ...{ acknowledge, outcomes: metrics.commands, logger },
    findSession: (deviceId) => sessions.find(deviceId),
    findCommands: (deviceId) => findDeviceCommands(db, deviceId),
  });
  const flespi = new FlespiCommands({
    ...{ acknowledge, outcomes: metrics.commands, logger, url: flespiUrl },
    sealer: await openSealer(config, 'source tokens'),
    findDevice: (deviceId) => findDeviceBehindSource(db, deviceId),
    async claim(commandId) {
      const key = `${config.QUEUE_PREFIX}:flespi-command:${commandId}`;
      return (await redis.set(key, '', 'EX', claimSeconds, 'NX')) === 'OK';
    },
  });
  const stopRevocations = watchRevocations({
    ...{ subscriber, failures, prefix: config.QUEUE_PREFIX, registry: sessions },
    invalidate: (deviceId) => devices.invalidate(deviceId),
    invalidateAll: () => devices.invalidateAll(),
    async isRevoked({ deviceId }) {
      const device = await devices.find(deviceId);
      return device?.protocol !== 'teltonika' || device.isMoving;
    },
    close(session) {
      logger.info({ deviceId: session.deviceId }, 'session closed: device deleted, or its application moves');
      session.close();
    },
  });
  onStop('gateway revocations', stopRevocations);
  const stopReceiving = receiveChannel({
    subscriber,
    channel: gatewaysChannel(config.QUEUE_PREFIX),
    onMessage(text) {
      const message = JSON.parse(text) as SessionMessage;
      if (message.kind === 'command') flespi.receive(message.deviceId, message.command);
    },
    report(error) {
      if (error === undefined) failures.succeeded('commands');
      else failures.failed('commands', error);
    },
  });
  return {
    ...{ acknowledgements, flespi, stopReceiving },
    /** Sends a command to a connected device. Teltonika devices have no key lists. */
    receive(message: Exclude<SessionMessage, { kind: 'session' }>): void {
      if (message.kind === 'command') teltonika.receive(message.deviceId, message.command);
    },
  };
}

/** Opens the connections of the gateway to PostgreSQL and Redis. Either may be unavailable, even at the start. */
async function openEngines(host: ServiceHost<Http>) {
  const db = openDatabase({
    ...{ url: host.config.DATABASE_URL, name: 'gateway', size: 2, statementTimeoutMs: 5000 },
    preparedStatements,
  });
  host.onStop('gateway database', () => db.destroy());
  const metrics = createGatewayMetrics(host.metrics);
  const failures = new BackgroundFailures(gatewayTasks, host.logger, metrics.backgroundFailures);
  const queues = await openIntakeQueues(host, 'gateway', { metrics, failures });
  return { gatewayId: randomUUID(), db, ...queues, metrics, failures };
}

type GatewayEngines = Awaited<ReturnType<typeof openEngines>>;

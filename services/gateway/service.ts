import { setImmediate as turn } from 'node:timers/promises';
import type { Http } from '@odograph/http/http';
import { ConnectionLimits } from '@odograph/runtime/connection-limits';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import { DeviceThrottles } from '@odograph/runtime/device-throttle';
import type { Service, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { GatewayDevices } from './devices.ts';
import { type GatewayEngines, openEngines } from './engines.ts';
import { GatewaySessions } from './sessions.ts';
import type { TeltonikaDoor } from './teltonika/connection.ts';
import { listenForTeltonika } from './teltonika/listen.ts';
import { GatewayUploads, HeldBytes } from './uploads.ts';

/** Accepts uploads of devices and systems that do not speak MQTT, into the same queue and with the same promise. */
export const gatewayService: Service<Http> = {
  name: 'gateway',
  async start(host) {
    const engines = await openEngines(host);
    const { redis, backlog, failures } = engines;
    const door = createDoor(host, engines);
    const listeners = await listenForTeltonika(door, host.config);
    host.onStop('gateway', async () => {
      listeners.stop();
      await door.uploads.drain(host.config.SHUTDOWN_TIMEOUT_MS / 3);
      // The last acknowledgements are written at the end of this turn.
      await turn();
      listeners.closeConnections();
    });
    return {
      health(): ServiceHealth {
        if (!listeners.isListening) return { ok: false, state: 'not listening' };
        if (redis.status !== 'ready') return { ok: false, state: 'holding uploads: Redis is away' };
        if (backlog.isFull) return { ok: false, state: 'holding uploads: the backlog exceeds its limit' };
        const [failure] = failures.current;
        return failure === undefined ? { ok: true, state: 'listening' } : { ok: false, state: failure };
      },
    };
  },
};

/** Creates what the connections of Teltonika's door share. */
function createDoor(
  { config, logger, metrics: registry }: ServiceHost<Http>,
  { db, addUploads, backlog, metrics }: GatewayEngines,
): TeltonikaDoor {
  const held = new HeldBytes(config.UPLOAD_HELD_BYTES, registry);
  const maximum = Math.min(config.TELTONIKA_MAX_CONNECTIONS, shareDescriptors().gateway);
  return {
    devices: new GatewayDevices(db),
    uploads: new GatewayUploads({ add: addUploads, backlog, held, config, metrics, logger }),
    held,
    sessions: new GatewaySessions(metrics.connectedDevices),
    throttles: new DeviceThrottles({
      uploadsPerSecond: config.MQTT_DEVICE_UPLOADS_PER_SECOND,
      bytesPerSecond: config.MQTT_DEVICE_BYTES_PER_SECOND,
    }),
    limits: new ConnectionLimits({
      maximum,
      maximumUnauthenticated: Math.min(config.MQTT_MAX_UNAUTHENTICATED, Math.ceil(maximum / 2)),
      maximumUnauthenticatedPerNetwork: config.MQTT_MAX_UNAUTHENTICATED_PER_ADDRESS,
      onRefused(reason, address) {
        metrics.refused.inc({ door: 'teltonika', reason });
        logger.warn({ reason, address }, 'connection refused');
      },
    }),
    metrics,
    logger,
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import { deviceTopic } from '@odograph/contracts/topics';
import type { Pool } from './engines.ts';
import { openMqtt, publishPacket } from './mqtt.ts';
import { payloadTemplate, timestampOffset } from './payloads.ts';
import { TimeHistogram } from './statistics.ts';

const intervalMs = 10;
const pollMs = 10;
const timeoutMs = 10_000;

export interface ProbedDevice {
  port: number;
  deviceId: string;
  vehicleId: number;
  secret: string;
  table: 'reading' | 'bare_reading';
}

export interface LagProbe {
  /** Waits for uploads in flight. @returns the times from PUBLISH until a query sees the row */
  stop(): Promise<TimeHistogram>;
}

/**
 * Measures lag during a load: one more device uploads a hundred readings per second, and a query polls for their rows every
 * 10 ms. Lag is from the write of the PUBLISH to the socket until the answer of a statement that sees the row.
 * @param beforeMs UNIX milliseconds; the probe's device times lie in the 100 s before, apart from those of the load
 */
export async function startLagProbe(pool: Pool, device: ProbedDevice, beforeMs: number): Promise<LagProbe> {
  const { port, deviceId, vehicleId, secret, table } = device;
  const socket = await openMqtt({ port, clientId: deviceId, password: secret }, () => undefined);
  const template = payloadTemplate(0);
  const topic = deviceTopic(deviceId, 'telemetry');
  const histogram = new TimeHistogram();
  const sentAt = new Map<number, number>();
  const firstMs = beforeMs - 100_000;
  let sent = 0;
  let stopping = false;

  const timer = setInterval(() => {
    const timestampMs = firstMs + sent;
    template.write((timestampMs / 1000).toFixed(3), timestampOffset);
    sentAt.set(timestampMs, performance.now());
    sent += 1;
    socket.write(publishPacket(topic, (sent % 60_000) + 1, template));
  }, intervalMs);

  const look = async (): Promise<void> => {
    const [oldest] = sentAt.keys();
    if (oldest === undefined) return;
    const { rows } = await pool.query<{ ms: number }>(
      `select round(extract(epoch from time) * 1000)::bigint as ms from ${table} where vehicle_id = $1 and time >= to_timestamp($2)`,
      [vehicleId, oldest / 1000 - 0.0005],
    );
    const seenAt = performance.now();
    for (const { ms } of rows) {
      const at = sentAt.get(ms);
      if (at === undefined) continue;
      histogram.record(seenAt - at);
      sentAt.delete(ms);
    }
  };
  const watch = async (): Promise<void> => {
    for (let end = Number.POSITIVE_INFINITY; !stopping || (sentAt.size > 0 && Date.now() < end); ) {
      if (stopping && end === Number.POSITIVE_INFINITY) end = Date.now() + timeoutMs;
      await look();
      await delay(pollMs);
    }
  };
  const watching = watch();
  return {
    async stop() {
      clearInterval(timer);
      stopping = true;
      await watching;
      socket.destroy();
      if (sentAt.size > 0) throw new Error(`${sentAt.size} readings of the probe were not stored in time`);
      return histogram;
    },
  };
}

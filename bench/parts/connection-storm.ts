// A process of its own that opens many sessions at once and holds them.
import { readSettings, serveParent } from './child-script.ts';
import { openMqtt } from './mqtt.ts';

export interface StormSettings {
  port: number;
  deviceIds: { prefix: string; first: number; count: number };
  secret: string;
  /** Connections that may be on their way at once. */
  pending: number;
}

export interface StormResult {
  seconds: number;
}

const { port, deviceIds, secret, pending } = readSettings<StormSettings>();

const addresses = 16;

/**
 * Devices come from many addresses. From one alone, the kernel of the load looks ever longer for a free port among its
 * 28,000, which would be measured with the broker. Only Linux has the whole of 127.0.0.0/8 without being told.
 */
function addressOf(index: number): string | undefined {
  return process.platform === 'linux' ? `127.0.0.${1 + (index % addresses)}` : undefined;
}

async function connectAll(): Promise<StormResult> {
  let next = 0;
  const start = performance.now();
  const connectNext = async (): Promise<void> => {
    while (next < deviceIds.count) {
      const clientId = `${deviceIds.prefix}${deviceIds.first + next}`;
      const localAddress = addressOf(next);
      next += 1;
      await openMqtt({ port, clientId, password: secret, localAddress }, () => undefined);
    }
  };
  await Promise.all(Array.from({ length: pending }, connectNext));
  return { seconds: (performance.now() - start) / 1000 };
}

serveParent({ connect: connectAll });

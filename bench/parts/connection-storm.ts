// A child process that opens many sessions at once and keeps them open.
import { readSettings, serveParent } from './child-script.ts';
import { openMqtt } from './mqtt.ts';

export interface StormSettings {
  port: number;
  deviceIds: { prefix: string; first: number; count: number };
  secret: string;
  /** Maximum of connections without CONNACK. */
  pending: number;
}

export interface StormResult {
  seconds: number;
}

const { port, deviceIds, secret, pending } = readSettings<StormSettings>();

const addresses = 16;

/**
 * Clients bind to many loopback addresses; a single one exhausts ephemeral ports. Only Linux has all of 127.0.0.0/8 by
 * default.
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

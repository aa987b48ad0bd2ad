import { setTimeout as delay } from 'node:timers/promises';
import { createSelfSigned } from '@odograph/broker/connect/certificates.fixture';
import { freePort } from '@odograph/testkit/free-port';
import { defineBenchmark, inTurns } from './parts/benchmark.ts';
import { startAedes } from './parts/contenders.ts';
import type { StormSettings } from './parts/device-load.ts';
import type { Engines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { type Process, startScript, startServices } from './parts/processes.ts';
import { figure, printRatio, printRounds, seriesOf } from './parts/report.ts';

const settleMs = 3000;

const options = {
  devices: [17_000, 'devices; the broker accepts seven eighths of its file descriptors, see ulimit -n'],
  pending: [500, 'concurrent connection attempts'],
  rounds: [3, 'rounds per contender'],
} as const;

interface Connected {
  readonly perSecond: number;
  readonly kibibytes: number;
  readonly cpuMicroseconds: number;
}

/** Connects every device to a new process, which is then stopped. */
async function connectFleet(engines: Engines, server: Process, settings: StormSettings): Promise<Connected> {
  const { count } = settings.deviceIds;
  const storm = await startScript(engines, 'device-load', settings);
  await delay(settleMs);
  const before = await server.usage();
  const { seconds } = await storm.ask<{ seconds: number }>({ kind: 'connect' });
  await delay(settleMs);
  const after = await server.usage();
  await storm.stop();
  await server.stop();
  return {
    perSecond: count / seconds,
    kibibytes: (after.residentBytes - before.residentBytes) / 1024 / count,
    cpuMicroseconds: ((after.cpuSeconds - before.cpuSeconds) * 1e6) / count,
  };
}

export const benchmark = defineBenchmark(
  'devices connecting to one broker process, also over TLS: rate and memory per device, compared with bare aedes',
  options,
  async (engines, { devices, pending, rounds }) => {
    const { vehicles, secret } = await createFleet(engines.pool, devices);
    const deviceIds = { prefix: 'bench-', first: vehicles[0]?.vehicleId ?? 0, count: devices };
    const settings = { protocol: 'mqtt', deviceIds, secret, pending } as const;
    console.log(`${figure(devices)} devices, ${pending} connecting at once`);
    const measured = await inTurns(
      {
        odograph: async () => {
          const broker = await startServices(engines, ['broker']);
          return connectFleet(engines, broker, { ...settings, port: broker.mqttPort });
        },
        'odograph over TLS': async () => {
          const { certificate, key } = createSelfSigned(engines.directory, 'broker');
          const port = await freePort();
          const tls = { MQTTS_PORT: String(port), MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key };
          return connectFleet(engines, await startServices(engines, ['broker'], tls), {
            ...settings,
            port,
            isTls: true,
          });
        },
        'bare aedes': async () => {
          const aedes = await startAedes(engines);
          return connectFleet(engines, aedes, { ...settings, port: aedes.port });
        },
      },
      rounds,
    );
    const print = (unit: string, goal: string, value: (connected: Connected) => number): void => {
      const series = seriesOf(measured, value);
      const { odograph = [], 'bare aedes': bare = [] } = series;
      printRounds(series, unit);
      printRatio('odograph', odograph, ['bare aedes', bare], goal);
    };
    print('connections/s', '2,000/s or more', ({ perSecond }) => perSecond);
    print('KiB per device', 'under 20 KiB', ({ kibibytes }) => kibibytes);
    print('CPU µs per connection', '', ({ cpuMicroseconds }) => cpuMicroseconds);
  },
);

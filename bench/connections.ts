import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '@odograph/embedded/process/free-port';
import { type ProcessUsage, startScript } from './parts/child-script.ts';
import type { StormResult, StormSettings } from './parts/connection-storm.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printRatio, printRounds } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';

export const description =
  'devices connecting to one broker process: rate and memory per device, compared with bare aedes';

const settleMs = 3000;

const options = {
  devices: { value: 17_000, help: 'devices; the broker accepts seven eighths of its file descriptors, see ulimit -n' },
  pending: { value: 500, help: 'connections on their way at once' },
  rounds: { value: 3, help: 'rounds of each' },
  profile: { value: '', help: 'directory for a CPU profile of broker' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

interface Running {
  port: number;
  usage(): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

interface Connected {
  perSecond: number;
  kibibytes: number;
  cpuMicroseconds: number;
}

async function startBare(): Promise<Running> {
  const port = await findFreePort();
  const script = await startScript(new URL('./parts/bare-aedes.ts', import.meta.url), { port });
  return { port, usage: () => script.ask<ProcessUsage>({ kind: 'usage' }), stop: script.stop };
}

async function startBroker(engines: Engines, profile: string): Promise<Running> {
  const { mqttPort, usage, stop } = await startServices(engines, ['broker'], { profile });
  return { port: mqttPort, usage, stop };
}

/** Connects every device to a new broker process, then closes the connections and stops the process. */
async function connectFleet(
  broker: Running,
  { vehicles, secret }: BenchFleet,
  { pending }: Settings,
): Promise<Connected> {
  const count = vehicles.length;
  const settings: StormSettings = {
    port: broker.port,
    deviceIds: { prefix: 'bench-', first: vehicles[0]?.vehicleId ?? 0, count },
    secret,
    pending,
  };
  const storm = await startScript(new URL('./parts/connection-storm.ts', import.meta.url), settings);
  try {
    await delay(settleMs);
    const before = await broker.usage();
    const { seconds } = await storm.ask<StormResult>({ kind: 'connect' });
    await delay(settleMs);
    const after = await broker.usage();
    return {
      perSecond: count / seconds,
      kibibytes: (after.residentBytes - before.residentBytes) / 1024 / count,
      cpuMicroseconds: ((after.cpuSeconds - before.cpuSeconds) * 1e6) / count,
    };
  } finally {
    await storm.stop();
    await broker.stop();
  }
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.devices);
    console.log(`${figure(settings.devices)} devices, ${settings.pending} connecting at once`);
    const odograph: Connected[] = [];
    const bare: Connected[] = [];
    for (let round = 0; round < settings.rounds; round += 1) {
      odograph.push(await connectFleet(await startBroker(engines, settings.profile), fleet, settings));
      bare.push(await connectFleet(await startBare(), fleet, settings));
    }
    const print = (unit: string, goal: string, value: (connected: Connected) => number): void => {
      printRounds({ odograph: odograph.map(value), 'bare aedes': bare.map(value) }, unit);
      printRatio('odograph', odograph.map(value), ['bare aedes', bare.map(value)], goal);
    };
    print('connections/s', '2,000/s or more', ({ perSecond }) => perSecond);
    print('KiB per device', 'under 20 KiB', ({ kibibytes }) => kibibytes);
    print('CPU µs per connection', '', ({ cpuMicroseconds }) => cpuMicroseconds);
  });
}

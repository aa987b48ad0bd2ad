import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '@odograph/embedded/process/free-port';
import { startScript } from './parts/child-script.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printRounds, printTable } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';
import type { TeltonikaLoadSettings, TeltonikaUpload } from './parts/teltonika-load.ts';

export const description =
  'Teltonika devices at the gateway: connections, memory of each, and records/s stored as rows';

const options = {
  devices: {
    value: 17_000,
    help: 'connected devices; a process accepts seven eighths of its file descriptors, see ulimit -n',
  },
  pending: { value: 500, help: 'connections on their way at once' },
  uploading: { value: 500, help: 'devices that upload, each a packet after the answer to the one before' },
  records: { value: 25, help: 'records in a packet' },
  packets: { value: 60, help: 'packets of each uploading device in a round' },
  rounds: { value: 3, help: 'rounds of uploads' },
  profile: { value: '', help: 'directory for CPU profiles of gateway and ingest' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

const settleMs = 3000;
const pollMs = 20;
/** So close that no record of three rounds is older than five minutes: all of them are live. */
const intervalMs = 25;
const imeiPrefix = '35000';

async function countRows({ pool }: Engines): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('select count(*) from reading');
  return Number(rows[0]?.count);
}

/** Waits until as many readings are stored. @throws when there are more */
async function awaitRows(engines: Engines, expected: number): Promise<void> {
  for (let stored = 0; stored !== expected; stored = await countRows(engines)) {
    if (stored > expected) throw new Error(`${stored} readings stored instead of ${expected}`);
    await delay(pollMs);
  }
}

async function measure(engines: Engines, fleet: BenchFleet, settings: Settings): Promise<void> {
  const { devices, pending, uploading, records, packets, rounds, profile } = settings;
  const port = await findFreePort();
  // Without a connection to the broker, over which commands come, the gateway is not healthy.
  const { mqttPort } = await startServices(engines, ['broker']);
  const gateway = await startServices(engines, ['gateway'], {
    profile,
    settings: { TELTONIKA_PORT: String(port), MQTT_URL: `mqtt://127.0.0.1:${mqttPort}` },
  });
  const ingest = await startServices(engines, ['ingest'], { profile });
  const imeis = { prefix: imeiPrefix, first: fleet.vehicles[0]?.vehicleId ?? 0, count: devices };
  const load: TeltonikaLoadSettings = { port, imeis, pending, recordsPerPacket: records };
  const script = await startScript(new URL('./parts/teltonika-load.ts', import.meta.url), load);
  await delay(settleMs);
  const before = await gateway.usage();
  const { seconds } = await script.ask<{ seconds: number }>({ kind: 'connect' });
  await delay(settleMs);
  const connected = await gateway.usage();
  const kibibytes = (connected.residentBytes - before.residentBytes) / 1024 / devices;
  printTable([
    ['connected devices', figure(devices)],
    ['connections/s', figure(devices / seconds)],
    ['KiB per device', figure(kibibytes)],
  ]);

  const roundMs = packets * records * intervalMs;
  const firstMs = Date.now() - rounds * roundMs - 5000;
  const [stored, acknowledged, gatewayMicroseconds, ingestMicroseconds]: number[][] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const count = uploading * packets * records;
    const usage = await Promise.all([gateway.usage(), ingest.usage()]);
    const start = performance.now();
    const upload: TeltonikaUpload = {
      ...{ kind: 'upload', devices: uploading, packets, intervalMs },
      firstMs: firstMs + round * roundMs,
    };
    const answer = await script.ask<{ seconds: number; bytes: number }>(upload);
    await awaitRows(engines, count * (round + 1));
    stored?.push((count * 1000) / (performance.now() - start));
    acknowledged?.push(count / answer.seconds);
    const after = await Promise.all([gateway.usage(), ingest.usage()]);
    const spent = after.map(({ cpuSeconds }, index) => ((cpuSeconds - (usage[index]?.cpuSeconds ?? 0)) * 1e6) / count);
    gatewayMicroseconds?.push(spent[0] ?? 0);
    ingestMicroseconds?.push(spent[1] ?? 0);
  }
  printRounds({ 'stored as rows': stored ?? [], acknowledged: acknowledged ?? [] }, 'records/s');
  printRounds({ gateway: gatewayMicroseconds ?? [], ingest: ingestMicroseconds ?? [] }, 'CPU µs a record');
  await script.stop();
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.devices, { model: 'teltonika', prefix: imeiPrefix });
    await measure(engines, fleet, settings);
  });
}

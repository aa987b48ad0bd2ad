import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '@odograph/embedded/process/free-port';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { startScript } from './parts/child-script.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printRounds, printTable } from './parts/report.ts';
import { type ServiceProcess, startServices } from './parts/service-process.ts';
import type { SourceLoadSettings, SourceUpload } from './parts/source-load.ts';
import type { TeltonikaLoadSettings, TeltonikaUpload } from './parts/teltonika-load.ts';

export const description =
  'Teltonika devices at the gateway over TCP, flespi and Traccar over HTTP: connections, memory, records/s stored as rows';

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
  connections: { value: 16, help: 'HTTP connections of each system, which are kept open' },
  flespi: { value: 200_000, help: 'records of flespi in a round, in arrays of 100' },
  traccar: { value: 20_000, help: 'records of Traccar in a round, one a request' },
  profile: { value: '', help: 'directory for CPU profiles of gateway and ingest' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

/** Messages of a request: flespi sends arrays, Traccar a position at a time. */
const messagesPerRequest = { flespi: 100, traccar: 1 } as const;
const settleMs = 3000;
const pollMs = 20;
/** So close that no record of three rounds is older than five minutes: all of them are live. */
const intervalMs = 25;
/** Between the last record and now. */
const marginMs = 5000;
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

interface Processes {
  readonly engines: Engines;
  readonly gateway: ServiceProcess;
  readonly ingest: ServiceProcess;
}

/** Uploads a number of records in each round, and prints records/s and the CPU time of a record. */
async function measureRounds(
  { engines, gateway, ingest }: Processes,
  { rounds, count }: { rounds: number; count: number },
  upload: (round: number) => Promise<{ seconds: number }>,
): Promise<void> {
  const rates: Record<string, number[]> = { 'stored as rows': [], acknowledged: [] };
  const microseconds: Record<string, number[]> = { gateway: [], ingest: [] };
  const before = await countRows(engines);
  for (let round = 0; round < rounds; round += 1) {
    const usage = await Promise.all([gateway.usage(), ingest.usage()]);
    const start = performance.now();
    const { seconds } = await upload(round);
    await awaitRows(engines, before + count * (round + 1));
    rates['stored as rows']?.push((count * 1000) / (performance.now() - start));
    rates['acknowledged']?.push(count / seconds);
    const after = await Promise.all([gateway.usage(), ingest.usage()]);
    const spent = after.map(({ cpuSeconds }, index) => ((cpuSeconds - (usage[index]?.cpuSeconds ?? 0)) * 1e6) / count);
    microseconds['gateway']?.push(spent[0] ?? 0);
    microseconds['ingest']?.push(spent[1] ?? 0);
  }
  printRounds(rates, 'records/s');
  printRounds(microseconds, 'CPU µs a record');
}

/** Measures connected Teltonika devices and their uploads. */
async function measureTeltonika(
  processes: Processes,
  { port, fleet, settings }: { port: number; fleet: BenchFleet; settings: Settings },
): Promise<void> {
  const { devices, pending, uploading, records, packets, rounds } = settings;
  const { gateway } = processes;
  const imeis = { prefix: imeiPrefix, first: fleet.vehicles[0]?.vehicleId ?? 0, count: devices };
  const load: TeltonikaLoadSettings = { port, imeis, pending, recordsPerPacket: records };
  const script = await startScript(new URL('./parts/teltonika-load.ts', import.meta.url), load);
  await delay(settleMs);
  const before = await gateway.usage();
  const { seconds } = await script.ask<{ seconds: number }>({ kind: 'connect' });
  await delay(settleMs);
  const connected = await gateway.usage();
  printTable([
    ['connected devices', figure(devices)],
    ['connections/s', figure(devices / seconds)],
    ['KiB per device', figure((connected.residentBytes - before.residentBytes) / 1024 / devices)],
  ]);

  console.log('\nTeltonika, Codec 8 Extended over TCP');
  const roundMs = packets * records * intervalMs;
  const firstMs = Date.now() - rounds * roundMs - marginMs;
  await measureRounds(processes, { rounds, count: uploading * packets * records }, (round) => {
    const upload: TeltonikaUpload = {
      ...{ kind: 'upload', devices: uploading, packets, intervalMs },
      firstMs: firstMs + round * roundMs,
    };
    return script.ask<{ seconds: number }>(upload);
  });
  await script.stop();
}

/** Measures what another system forwards over HTTP. */
async function measureSource(
  processes: Processes,
  format: keyof typeof messagesPerRequest,
  settings: Settings,
): Promise<void> {
  const { engines, gateway } = processes;
  const { connections, rounds, uploading } = settings;
  const { applicationId, vehicles } = await createFleet(engines.pool, uploading, {
    model: format,
    prefix: `${format}-`,
  });
  const secret = createSecret();
  await engines.pool.query('insert into source (application_id, format, secret_sha256) values ($1, $2, $3)', [
    ...[applicationId, format, hashSecret(secret)],
  ]);
  const load: SourceLoadSettings = { httpUrl: gateway.httpUrl, connections };
  const script = await startScript(new URL('./parts/source-load.ts', import.meta.url), load);
  const messages = messagesPerRequest[format];
  const count = Math.ceil(settings[format] / connections / messages) * connections * messages;
  console.log(`\n${format}, requests of ${messages} records over ${connections} HTTP connections`);
  const roundMs = Math.ceil(count / uploading + connections) * intervalMs;
  const firstMs = Date.now() - rounds * roundMs - marginMs;
  await measureRounds(processes, { rounds, count }, (round) => {
    const upload: SourceUpload = {
      ...{ kind: 'upload', format, secret, deviceIds: vehicles.map(({ deviceId }) => deviceId), records: count },
      ...{ messagesPerRequest: messages, firstMs: firstMs + round * roundMs, intervalMs },
    };
    return script.ask<{ seconds: number }>(upload);
  });
  await script.stop();
}

async function measure(engines: Engines, fleet: BenchFleet, settings: Settings): Promise<void> {
  const { profile } = settings;
  const port = await findFreePort();
  // Without a connection to the broker, over which commands come, the gateway is not healthy.
  const { mqttPort } = await startServices(engines, ['broker']);
  const gateway = await startServices(engines, ['gateway'], {
    profile,
    settings: {
      TELTONIKA_PORT: String(port),
      MQTT_URL: `mqtt://127.0.0.1:${mqttPort}`,
      SOURCE_REQUESTS_PER_SECOND: '1000000',
      SOURCE_BYTES_PER_SECOND: '1000000000',
    },
  });
  const processes = { engines, gateway, ingest: await startServices(engines, ['ingest'], { profile }) };
  await measureTeltonika(processes, { port, fleet, settings });
  await measureSource(processes, 'flespi', settings);
  await measureSource(processes, 'traccar', settings);
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.devices, { model: 'teltonika', prefix: imeiPrefix });
    await measure(engines, fleet, settings);
  });
}

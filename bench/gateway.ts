import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { countUnfinishedJobs, openQueue, type TypedQueue } from '@odograph/queue/queues';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { freePort } from '@odograph/testkit/free-port';
import { defineBenchmark, type Settings, UsageError } from './parts/benchmark.ts';
import type { RecordTimes, SourceUpload, StormSettings, TeltonikaUpload } from './parts/device-load.ts';
import type { Engines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { type ScriptProcess, type ServiceProcess, startScript, startServices } from './parts/processes.ts';
import { figure, printRounds, printSection, printTable } from './parts/report.ts';

const options = {
  devices: [17_000, 'connected devices; a process accepts seven eighths of its file descriptors, see ulimit -n'],
  pending: [500, 'concurrent connection attempts'],
  uploading: [500, 'uploading devices; each sends a packet after the answer to the previous one'],
  records: [25, 'records per packet'],
  packets: [60, 'packets per uploading device and round; 0 for no Teltonika uploads'],
  rounds: [3, 'rounds of uploads'],
  connections: [64, 'keep-alive HTTP connections per system'],
  flespi: [200_000, 'flespi records per round, in arrays of 100; 0 for none'],
  traccar: [60_000, 'Traccar records per round, one per request; 0 for none'],
} as const;

/** Messages of a request: flespi sends arrays, Traccar a position at a time. */
const messagesPerRequest = { flespi: 100, traccar: 1 } as const;
const settleMs = 3000;
/** So close that no record of three rounds is older than five minutes: all of them are live. */
const intervalMs = 25;
/** Between the last record and now. */
const marginMs = 5000;
const imeiPrefix = '35000';

async function countRows({ pool }: Engines): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('select count(*) from reading');
  return Number(rows[0]?.count);
}

/**
 * Waits until the queue is empty. Counting rows meanwhile would take CPU time from ingest.
 * @returns the time at which it was, monotonic milliseconds. @throws unless exactly the expected readings are stored
 */
async function awaitRows({ engines, queue }: Processes, expected: number): Promise<number> {
  while ((await countUnfinishedJobs(queue)) > 0) await delay(5);
  const emptyAtMs = performance.now();
  const stored = await countRows(engines);
  if (stored !== expected) throw new Error(`${stored} readings stored instead of ${expected}`);
  return emptyAtMs;
}

/** Returns the CPU time that the whole machine has used since its start, in seconds: all processes and the kernel. */
function machineSeconds(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + (user + nice + sys + irq) / 1000, 0);
}

interface Processes {
  readonly engines: Engines;
  /** The queue of uploads. */
  readonly queue: TypedQueue<'uploads'>;
  readonly settings: Settings<typeof options>;
  readonly gateway: ServiceProcess;
  readonly ingest: ServiceProcess;
  readonly devices: ScriptProcess;
}

/**
 * Uploads a number of records in each round, and prints records/s and the CPU time of a record.
 * @param recordsOfDevice records of one device per round
 */
async function measureRounds(
  processes: Processes,
  { count, recordsOfDevice }: { count: number; recordsOfDevice: number },
  uploadAt: (times: RecordTimes) => TeltonikaUpload | SourceUpload,
): Promise<void> {
  const { engines, gateway, ingest, devices, settings } = processes;
  const { rounds } = settings;
  const roundMs = recordsOfDevice * intervalMs;
  const firstMs = Date.now() - rounds * roundMs - marginMs;
  const rates = { 'stored as rows': [] as number[], acknowledged: [] as number[] };
  const microseconds = {
    ...{ gateway: [] as number[], ingest: [] as number[] },
    ...{ 'load generator': [] as number[], 'whole machine': [] as number[] },
  };
  const usage = async () => {
    const used = await Promise.all([gateway, ingest, devices].map((one) => one.usage()));
    const [ofGateway = 0, ofIngest = 0, ofDevices = 0] = used.map(({ cpuSeconds }) => cpuSeconds);
    const ofMachine = machineSeconds();
    return { gateway: ofGateway, ingest: ofIngest, 'load generator': ofDevices, 'whole machine': ofMachine };
  };
  const stored = await countRows(engines);
  for (let round = 0; round < rounds; round += 1) {
    const before = await usage();
    const start = performance.now();
    const { seconds } = await devices.ask<{ seconds: number }>(
      uploadAt({ firstMs: firstMs + round * roundMs, intervalMs }),
    );
    const endMs = await awaitRows(processes, stored + count * (round + 1));
    rates['stored as rows'].push((count * 1000) / (endMs - start));
    rates.acknowledged.push(count / seconds);
    const after = await usage();
    for (const name of Object.keys(microseconds) as (keyof typeof microseconds)[]) {
      microseconds[name].push(((after[name] - before[name]) * 1e6) / count);
    }
  }
  printRounds(rates, 'records/s');
  printRounds(microseconds, 'CPU µs a record');
}

/** Measures connected Teltonika devices and their uploads. */
async function measureTeltonika(processes: Processes): Promise<void> {
  const { gateway, devices: script, settings } = processes;
  const { devices, uploading, packets, records } = settings;
  await delay(settleMs);
  const before = await gateway.usage();
  const { seconds } = await script.ask<{ seconds: number }>({ kind: 'connect' });
  await delay(settleMs);
  const connected = await gateway.usage();
  printTable(
    ['connections', 'devices', 'connections/s', 'KiB per device'],
    [['Teltonika', devices, devices / seconds, (connected.residentBytes - before.residentBytes) / 1024 / devices]],
  );
  if (packets === 0) return;
  printSection('Teltonika', 'Codec 8 Extended over TCP');
  const round = { count: uploading * packets * records, recordsOfDevice: packets * records };
  const upload = { kind: 'upload', devices: uploading, packets, recordsPerPacket: records } as const;
  await measureRounds(processes, round, (times) => ({ ...upload, ...times }));
}

/** Measures the messages that another system forwards over HTTP. */
async function measureSource(processes: Processes, format: keyof typeof messagesPerRequest): Promise<void> {
  const { engines, gateway, settings } = processes;
  const { connections, uploading } = settings;
  if (settings[format] === 0) return;
  const fleet = await createFleet(engines.pool, uploading, { model: format, prefix: `${format}-` });
  // One source per connection: the rate limit applies per source.
  const secrets = Array.from({ length: connections }, createSecret);
  for (const secret of secrets) {
    const source = [fleet.applicationId, format, hashSecret(secret)];
    await engines.pool.query('insert into source (application_id, format, secret_sha256) values ($1, $2, $3)', source);
  }
  const messages = messagesPerRequest[format];
  const count = Math.ceil(settings[format] / connections / messages) * connections * messages;
  printSection(format, `requests of ${messages} records over ${connections} HTTP connections`);
  const deviceIds = fleet.vehicles.map(({ deviceId }) => deviceId);
  const round = { count, recordsOfDevice: Math.ceil(count / connections / Math.floor(uploading / connections)) };
  await measureRounds(processes, round, (times) => ({
    ...{ kind: 'forward', httpUrl: gateway.httpUrl, connections, format, secrets, deviceIds, records: count },
    ...{ messagesPerRequest: messages, ...times },
  }));
}

export const benchmark = defineBenchmark(
  'Teltonika devices at the gateway over TCP, flespi and Traccar over HTTP: connections, memory, records/s stored as rows',
  options,
  async (engines, settings) => {
    if (settings.uploading < settings.connections) throw new UsageError('--uploading must be at least --connections');
    const { vehicles } = await createFleet(engines.pool, settings.devices, { model: 'teltonika', prefix: imeiPrefix });
    const port = await freePort();
    const gateway = await startServices(engines, ['gateway'], { TELTONIKA_PORT: String(port) });
    const ingest = await startServices(engines, ['ingest']);
    const deviceIds = { prefix: imeiPrefix, first: vehicles[0]?.vehicleId ?? 0, count: settings.devices };
    const storm: StormSettings = { protocol: 'teltonika', port, deviceIds, secret: '', pending: settings.pending };
    const devices = await startScript(engines, 'device-load', storm);
    console.log(`${figure(settings.devices)} devices, ${settings.pending} connecting at once`);
    const queue = openQueue('uploads', { redisUrl: engines.redisUrl, prefix: engines.queuePrefix });
    engines.onStop('queue', () => queue.close());
    const processes = { engines, queue, settings, gateway, ingest, devices };
    await measureTeltonika(processes);
    await measureSource(processes, 'flespi');
    await measureSource(processes, 'traccar');
  },
);

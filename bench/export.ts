import { request } from 'node:http';
import { withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { figure, printMachine, printTable } from './parts/report.ts';
import { type ServiceProcess, startServices } from './parts/service-process.ts';

export const description =
  'all readings of all vehicles as one file, in each format, with the memory of the query process';

const options = {
  readings: { value: 5_000_000, help: 'readings stored' },
  vehicles: { value: 50, help: 'vehicles' },
  seconds: { value: 1, help: 'between two readings of a vehicle' },
  formats: { value: 'csv,ndjson,geojson,gpx,parquet', help: 'formats, separated by commas' },
  fields: { value: '', help: 'fields of csv, geojson and parquet; the usual ones when empty' },
  profile: { value: '', help: 'directory for a CPU profile of query' },
} as const;

const sampleMs = 250;

interface Download {
  readonly seconds: number;
  readonly bytes: number;
  readonly peakBytes: number;
  readonly cpuSeconds: number;
  /** Bytes a second in each tenth of the file. */
  readonly tenths: readonly number[];
}

/** Downloads a file as fast as the platform sends it, and keeps none of it. */
function read(url: URL, token: string, onBytes: (total: number) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { 'x-service-token': token } }, (response) => {
      let bytes = 0;
      if (response.statusCode !== 200) reject(new Error(`${url.pathname} answered ${response.statusCode}`));
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        onBytes(bytes);
      });
      response.once('error', reject);
      response.once('end', () => resolve(bytes));
    });
    sent.once('error', reject);
    sent.end();
  });
}

async function download(query: ServiceProcess, url: URL, token: string): Promise<Download> {
  const before = await query.usage();
  let peakBytes = before.residentBytes;
  const timer = setInterval(() => {
    void query.usage().then(({ residentBytes }) => {
      peakBytes = Math.max(peakBytes, residentBytes);
    });
  }, sampleMs);
  const progress: [ms: number, bytes: number][] = [];
  const start = performance.now();
  const bytes = await read(url, token, (total) => progress.push([performance.now() - start, total]));
  const seconds = (performance.now() - start) / 1000;
  clearInterval(timer);
  const after = await query.usage();
  return {
    seconds,
    bytes,
    peakBytes,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    tenths: rates(progress, bytes),
  };
}

function rates(progress: readonly (readonly [ms: number, bytes: number])[], bytes: number): number[] {
  const times = Array.from(
    { length: 10 },
    (_, tenth) => progress.find(([, total]) => total >= (bytes * (tenth + 1)) / 10)?.[0] ?? Number.NaN,
  );
  return times.map((ms, tenth) => bytes / 10 / ((ms - (times[tenth - 1] ?? 0)) / 1000));
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.vehicles);
    const until = new Date();
    const { readings, seconds: intervalSeconds } = settings;
    const { from, each } = await fillReadings(engines.pool, fleet, { readings, until, intervalSeconds });
    await compressReadings(engines.pool);
    await engines.pool.query(`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
      select vehicle_id, min(time), max(time), now() from reading group by vehicle_id`);
    const rows = each * settings.vehicles;
    console.log(
      `${figure(rows)} readings of ${settings.vehicles} vehicles, one every ${intervalSeconds} s, compressed\n`,
    );
    const query = await startServices(engines, ['query'], { profile: settings.profile });
    const table = [['format', 'rows/s', 'MB/s', 'bytes/row', 'seconds', 'CPU s', 'peak MiB', 'first to last tenth']];
    for (const format of settings.formats.split(',')) {
      const url = new URL('/v1/x/vehicles/export', query.httpUrl);
      const interval = { from: from.toISOString(), until: until.toISOString() };
      const takesFields = settings.fields !== '' && format !== 'gpx' && format !== 'ndjson';
      url.search = String(
        new URLSearchParams({ format, ...interval, ...(takesFields && { fields: settings.fields }) }),
      );
      const { seconds, bytes, peakBytes, cpuSeconds, tenths } = await download(query, url, fleet.token);
      const [slowest, fastest] = [Math.min(...tenths), Math.max(...tenths)];
      table.push([
        ...[format, figure(rows / seconds), figure(bytes / seconds / 1e6), figure(bytes / rows), figure(seconds)],
        ...[figure(cpuSeconds), figure(peakBytes / 2 ** 20)],
        `${figure((tenths[0] ?? 0) / 1e6)} … ${figure((tenths.at(-1) ?? 0) / 1e6)} MB/s (${figure(slowest / 1e6)} to ${figure(fastest / 1e6)})`,
      ]);
    }
    printTable(table);
  });
}

import { defineBenchmark } from './parts/benchmark.ts';
import { createFleet } from './parts/fleet.ts';
import { openHttpClient } from './parts/http-client.ts';
import { startServices } from './parts/processes.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { figure, printTable } from './parts/report.ts';

const options = {
  readings: [5_000_000, 'readings stored'],
  vehicles: [50, 'vehicles'],
  seconds: [1, 'between two readings of a vehicle'],
} as const;

const formats = ['csv', 'ndjson', 'geojson', 'gpx', 'parquet'];
const sampleMs = 250;

export const benchmark = defineBenchmark(
  'all readings of all vehicles as one file, in each format, with the memory of the query process',
  options,
  async (engines, { readings, vehicles, seconds: intervalSeconds }) => {
    const fleet = await createFleet(engines.pool, vehicles);
    const until = new Date();
    const { from, each } = await fillReadings(engines.pool, fleet, { readings, until, intervalSeconds });
    await compressReadings(engines.pool);
    await engines.pool.query(`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
      select vehicle_id, min(time), max(time), now() from reading group by vehicle_id`);
    const rows = each * vehicles;
    console.log(`${figure(rows)} readings of ${vehicles} vehicles, one every ${intervalSeconds} s, compressed\n`);
    const query = await startServices(engines, ['query']);
    const client = openHttpClient(engines, query.httpUrl, fleet.token);
    const table: [string, ...number[]][] = [];
    for (const format of formats) {
      const before = await query.usage();
      let peakBytes = before.residentBytes;
      const timer = setInterval(() => {
        void query.usage().then(({ residentBytes }) => {
          peakBytes = Math.max(peakBytes, residentBytes);
        });
      }, sampleMs);
      const interval = `from=${from.toISOString()}&until=${until.toISOString()}`;
      const { totalMs, bytes } = await client('GET', `/v1/x/vehicles/export?format=${format}&${interval}`);
      clearInterval(timer);
      const [seconds, cpuSeconds] = [totalMs / 1000, (await query.usage()).cpuSeconds - before.cpuSeconds];
      table.push([
        ...([format, rows / seconds, bytes / seconds / 1e6, bytes / rows, seconds] as const),
        ...[(cpuSeconds * 1e6) / rows, peakBytes / 2 ** 20],
      ]);
    }
    printTable(['format', 'rows/s', 'MB/s', 'bytes/row', 'seconds', 'CPU µs a row', 'peak MiB'], table);
  },
);

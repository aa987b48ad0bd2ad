import { openDatabase } from '@odograph/database/database';
import { countReadings } from '@odograph/ingest/maintenance/schedule';
import { defineBenchmark } from './parts/benchmark.ts';
import { type Comparison, compareAnswers, openComparers } from './parts/compare-answers.ts';
import type { Engines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { startServices } from './parts/processes.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { figure, printRatio, printSection, printTable } from './parts/report.ts';

const options = {
  readings: [1_000_000, 'readings stored'],
  vehicles: [50, 'vehicles of the application'],
  offset: [0, 'readings that the deep page skips; 0 for half of those stored'],
  limit: [10_000, 'readings per page'],
  interval: [10, 'seconds between two readings of a vehicle; 15768 spreads a million over ten years'],
  rounds: [7, 'requests per kind'],
} as const;

const columns = `vehicle_id, extract(epoch from time) as timestamp, latitude, longitude, angle, altitude, ignition, movement,
  mileage, autonomy, soh, soc, current, voltage, energy, max_energy, min_cell_voltage, max_cell_voltage, temperature,
  min_cell_temperature, max_cell_temperature, lifetime_power_use, lifetime_charge_power, sensors`;

/** Pages of one vehicle and of all, at offset 0 and at a deep offset. */
function comparisons(
  { applicationId, vehicles: [vehicle] }: BenchFleet,
  { from, until }: { from: Date; until: Date },
  { limit, offset }: { limit: number; offset: number },
): [one: Comparison, all: Comparison, deep: Comparison] {
  const parameters = `from=${from.toISOString()}&until=${until.toISOString()}&limit=${limit}`;
  /** Plain SQL for the columns of the route, as JSON text. */
  const rowsAsJson = (condition: string, skipped: number): string => `select row_to_json(page)::text from (
    select ${columns} from reading_in_units where ${condition} and time between '${from.toISOString()}' and '${until.toISOString()}'
    order by time, vehicle_id offset ${skipped} limit ${limit}) as page`;
  const all = `application_id = ${applicationId}`;
  return [
    {
      title: 'one vehicle',
      path: `/v1/vehicle/${vehicle?.vehicleId}/history?${parameters}`,
      query: rowsAsJson(`vehicle_id = ${vehicle?.vehicleId}`, 0),
      goal: 'at most 1.5',
    },
    {
      title: 'all vehicles',
      path: `/v1/vehicles/history?${parameters}`,
      query: rowsAsJson(all, 0),
      goal: 'at most 1.5',
    },
    {
      title: `all vehicles, offset ${figure(offset)}`,
      path: `/v1/vehicles/history?${parameters}&offset=${offset}`,
      query: rowsAsJson(all, offset),
      goal: 'none, the next counts',
    },
  ];
}

/** Counts the readings of settled hours, as maintenance does. */
async function countHours({ databaseUrl, pool }: Engines): Promise<void> {
  const db = openDatabase({ url: databaseUrl, name: 'bench', size: 1 });
  const start = performance.now();
  await countReadings(db);
  console.log(`readings per hour counted in ${figure((performance.now() - start) / 1000)} s`);
  await db.destroy();
  await pool.query('vacuum analyze reading_count');
}

export const benchmark = defineBenchmark(
  'a page of 10,000 readings over HTTP, for one vehicle and for all, compared with plain SQL for the same rows',
  options,
  async (engines, { readings, vehicles, limit, interval: intervalSeconds, rounds, ...settings }) => {
    const until = new Date();
    const fleet = await createFleet(engines.pool, vehicles);
    const { from, each } = await fillReadings(engines.pool, fleet, { readings, until, intervalSeconds });
    await countHours(engines);
    const every = `${figure(intervalSeconds)} s`;
    console.log(
      `${figure(each)} readings of each of ${vehicles} vehicles, one every ${every}; pages of ${figure(limit)}`,
    );
    const query = await startServices(engines, ['query']);
    const comparers = await openComparers(engines, query.httpUrl, fleet.token);
    const offset = settings.offset || Math.floor(readings / 2);
    const pages = comparisons(fleet, { from, until }, { limit, offset });

    const compareAll = async (state: string): Promise<number[][]> => {
      const measured: number[][] = [];
      for (const page of pages) {
        measured.push(await compareAnswers(comparers, { ...page, title: `${state}, ${page.title}` }, rounds));
      }
      const [, atStart = [], atOffset = []] = measured;
      printRatio('offset', atOffset, ['no offset', atStart], 'at most 3, at an offset of 5,000,000');
      return measured;
    };
    const uncompressed = await compareAll('uncompressed');
    await compressReadings(engines.pool);
    const compressed = await compareAll('compressed');
    printSection('all pages', 'compressed over uncompressed');
    for (const [index, { title }] of pages.entries()) {
      const [ours, reference] = [compressed[index] ?? [], uncompressed[index] ?? []];
      printRatio(`${title}: compressed`, ours, ['uncompressed', reference], 'at most 1.2');
    }
    const { residentBytes } = await query.usage();
    printTable(['memory of the query process', 'MiB'], [['after all pages', residentBytes / 2 ** 20]]);
  },
);

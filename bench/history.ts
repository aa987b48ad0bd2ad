import { openDatabase } from '@odograph/database/database';
import { countReadings } from '@odograph/ingest/maintenance/count-readings';
import { type Comparers, type Comparison, compareAnswers } from './parts/compare-answers.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { openHttpClient } from './parts/http-client.ts';
import { readOptions } from './parts/options.ts';
import { openPsql } from './parts/psql.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { figure, printMachine, printRatio } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';

export const description =
  'a page of 10,000 readings over HTTP, of one vehicle and of all, compared with plain SQL for the same rows';

const options = {
  readings: { value: 1_000_000, help: 'readings stored of each application' },
  vehicles: { value: 50, help: 'vehicles of each application' },
  applications: { value: 1, help: 'applications; pages are of the first' },
  offset: { value: 0, help: 'readings that the second page of all vehicles skips; 0 is half of what is stored' },
  limit: { value: 10_000, help: 'readings of a page' },
  rounds: { value: 7, help: 'requests of each kind' },
  profile: { value: '', help: 'directory for a CPU profile of query' },
} as const;

type Settings = ReturnType<typeof readOptions<typeof options>>;

const columns = `vehicle_id, extract(epoch from time) as timestamp, latitude, longitude, angle, altitude, ignition, movement,
  mileage, autonomy, soh, soc, current, voltage, energy, max_energy, min_cell_voltage, max_cell_voltage, temperature,
  min_cell_temperature, max_cell_temperature, lifetime_power_use, lifetime_charge_power, sensors`;

/** Plain SQL for the columns of the route, as JSON text. */
function rowsAsJson(condition: string, offset: number, limit: number): string {
  return `select row_to_json(page)::text from (select ${columns} from reading where ${condition}
    order by time, vehicle_id offset ${offset} limit ${limit}) as page`;
}

/** Pages of one vehicle and of all, at offset 0 and at a deep offset. */
function comparisons(
  fleet: BenchFleet,
  { from, until }: { from: Date; until: Date },
  settings: Settings,
): Comparison[] {
  const { limit, readings } = settings;
  const offset = settings.offset || Math.floor(readings / 2);
  const isInInterval = `time between '${from.toISOString()}' and '${until.toISOString()}'`;
  const parameters = `from=${from.toISOString()}&until=${until.toISOString()}&limit=${limit}`;
  const vehicleId = fleet.vehicles[0]?.vehicleId;
  const all = `application_id = ${fleet.applicationId} and ${isInInterval}`;
  return [
    {
      title: 'one vehicle',
      path: `/v1/vehicle/${vehicleId}/history?${parameters}`,
      query: rowsAsJson(`vehicle_id = ${vehicleId} and ${isInInterval}`, 0, limit),
      goal: 'at most 1.5',
    },
    {
      title: 'all vehicles',
      path: `/v1/vehicles/history?${parameters}`,
      query: rowsAsJson(all, 0, limit),
      goal: 'at most 1.5',
    },
    {
      title: `all vehicles, offset ${figure(offset)}`,
      path: `/v1/vehicles/history?${parameters}&offset=${offset}`,
      query: rowsAsJson(all, offset, limit),
      goal: 'none, the next counts',
    },
  ];
}

async function compareAll(comparers: Comparers, pages: readonly Comparison[], rounds: number): Promise<number[][]> {
  const measured: number[][] = [];
  for (const page of pages) measured.push(await compareAnswers(comparers, page, rounds));
  const [, atStart = [], atOffset = []] = measured;
  printRatio('offset', atOffset, ['no offset', atStart], 'at most 3, at an offset of 5,000,000');
  return measured;
}

/** Fills every application and counts its settled hours, as maintenance does. @returns the first application */
async function fillApplications({ pool, databaseUrl }: Engines, settings: Settings, until: Date) {
  const { readings, vehicles, applications } = settings;
  const fleet = await createFleet(pool, vehicles);
  const filled = await fillReadings(pool, fleet, { readings, until });
  for (let n = 1; n < applications; n += 1) {
    await fillReadings(pool, await createFleet(pool, vehicles), { readings, until });
  }
  const db = openDatabase({ url: databaseUrl, name: 'bench', size: 1 });
  const start = performance.now();
  await countReadings(db);
  await db.destroy();
  console.log(`readings per hour counted in ${figure((performance.now() - start) / 1000)} s`);
  await pool.query('vacuum analyze reading_count');
  return { fleet, ...filled };
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const { pool, onStop } = engines;
    const until = new Date();
    const { fleet, from, each } = await fillApplications(engines, settings, until);
    console.log(
      `${figure(each)} readings of each of ${settings.vehicles} vehicles of ${settings.applications} applications, one every 10 s; pages of ${figure(settings.limit)}`,
    );
    const query = await startServices(engines, ['query'], { profile: settings.profile });
    const client = openHttpClient(query.httpUrl, fleet.token);
    onStop('HTTP client', client.close);
    const psql = await openPsql(engines.databaseUrl);
    if (psql) onStop('psql', psql.close);
    else console.log('psql is not on the PATH; its column is omitted');

    const pages = comparisons(fleet, { from, until }, settings);
    console.log('\nuncompressed');
    const uncompressed = await compareAll({ client, pool, psql }, pages, settings.rounds);
    await compressReadings(pool);
    console.log('\ncompressed');
    const compressed = await compareAll({ client, pool, psql }, pages, settings.rounds);
    console.log();
    for (const [index, { title }] of pages.entries()) {
      printRatio(
        `${title}: compressed`,
        compressed[index] ?? [],
        ['uncompressed', uncompressed[index] ?? []],
        'at most 1.2',
      );
    }
    const { residentBytes } = await query.usage();
    console.log(`  memory of the query process: ${figure(residentBytes / 2 ** 20)} MiB`);
  });
}

import { type Pool, withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { figure, printMachine, printTable } from './parts/report.ts';

export const description = 'bytes per stored reading before and after compression, of vehicles that report every 10 s';

const options = {
  vehicles: { value: 50, help: 'vehicles' },
  days: { value: 7, help: 'days of readings, one every 10 s' },
} as const;

const readingsPerDay = 8640;
const chunkMs = 7 * 86_400_000;

interface Size {
  table: number;
  indexes: number;
  toast: number;
  total: number;
}

async function sizeOf(pool: Pool): Promise<Size> {
  const { rows } = await pool.query<Size>(
    `select sum(table_bytes)::bigint as table, sum(index_bytes)::bigint as indexes, sum(toast_bytes)::bigint as toast,
      sum(total_bytes)::bigint as total from hypertable_detailed_size('reading')`,
  );
  if (!rows[0]) throw new Error('the database returned no size of the table reading');
  return rows[0];
}

function bytesEach({ table, indexes, toast, total }: Size, count: number): string[] {
  return [total, table, toast, indexes].map((bytes) => figure(bytes / count));
}

export async function run(parameters: readonly string[]): Promise<void> {
  const { vehicles, days } = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const { pool } = engines;
    const fleet = await createFleet(pool, vehicles);
    const rows = [['bytes a reading', 'whole', 'rows', 'long values', 'indexes', 'ratio']];
    // Whole weeks since the epoch, so that every chunk is full.
    const until = new Date(Math.floor(Date.now() / chunkMs) * chunkMs);
    for (const drivingPercent of [10, 25, 100]) {
      await pool.query('truncate reading');
      const { each } = await fillReadings(pool, fleet, {
        readings: vehicles * days * readingsPerDay,
        until,
        drivingPercent,
      });
      const before = await sizeOf(pool);
      await compressReadings(pool);
      const after = await sizeOf(pool);
      const title = `vehicles that drive ${drivingPercent} % of the time`;
      rows.push([`${title}, uncompressed`, ...bytesEach(before, each * vehicles), '']);
      rows.push([`${title}, compressed`, ...bytesEach(after, each * vehicles), figure(before.total / after.total)]);
    }
    console.log(`${vehicles} vehicles, ${days} days, a reading every 10 s (goal: at most 20 bytes, compressed)`);
    printTable(rows);
  });
}

import { defineBenchmark } from './parts/benchmark.ts';
import type { Pool } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { compressReadings, fillReadings } from './parts/readings.ts';
import { printTable } from './parts/report.ts';

const options = {
  vehicles: [50, 'vehicles'],
  days: [7, 'days of readings, one every 10 s'],
} as const;

const readingsPerDay = 8640;
const chunkMs = 7 * 86_400_000;

/** Bytes of the table: total, rows, long values and indexes. */
async function readBytes(pool: Pool): Promise<[total: number, rows: number, toast: number, indexes: number]> {
  const { rows } = await pool.query<{ bytes: [number, number, number, number] }>(
    `select array[sum(total_bytes), sum(table_bytes), sum(toast_bytes), sum(index_bytes)]::float8[] as bytes
    from hypertable_detailed_size('reading')`,
  );
  if (!rows[0]) throw new Error('the database returned no size of the table reading');
  return rows[0].bytes;
}

export const benchmark = defineBenchmark(
  'bytes per stored reading before and after compression, of vehicles that report every 10 s',
  options,
  async ({ pool }, { vehicles, days }) => {
    const fleet = await createFleet(pool, vehicles);
    const table: [string, ...(number | string)[]][] = [];
    // Whole weeks since the epoch, so that every chunk is full.
    const until = new Date(Math.floor(Date.now() / chunkMs) * chunkMs);
    const readings = vehicles * days * readingsPerDay;
    for (const drivingPercent of [10, 25, 100]) {
      await pool.query('truncate reading');
      const { each } = await fillReadings(pool, fleet, { readings, until, drivingPercent });
      const before = await readBytes(pool);
      await compressReadings(pool);
      const after = await readBytes(pool);
      const title = `vehicles that drive ${drivingPercent} % of the time`;
      const perReading = (bytes: readonly number[]) => bytes.map((one) => one / each / vehicles);
      table.push([`${title}, uncompressed`, ...perReading(before), '']);
      table.push([`${title}, compressed`, ...perReading(after), before[0] / after[0]]);
    }
    console.log(`${vehicles} vehicles, ${days} days, a reading every 10 s (goal: at most 20 bytes, compressed)`);
    printTable(['bytes a reading', 'whole', 'rows', 'long values', 'indexes', 'ratio'], table);
  },
);

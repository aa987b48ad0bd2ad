import { startTcpProxy } from '../test/faults/parts/tcp-proxy.fixture.ts';
import { defineBenchmark, type Settings } from './parts/benchmark.ts';
import { clearTables, type Measured, measureLoad, planLoad, startOdograph } from './parts/contenders.ts';
import type { Engines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { median, printRounds, printSection, printTable, type Series, seriesOf } from './parts/report.ts';

const options = {
  connections: [100, 'uploading devices'],
  inFlight: [20, 'uploads in flight per device'],
  uploads: [300_000, 'uploads per round'],
  rounds: [3, 'rounds for each number of processes'],
  delay: [5, 'delay of the network to the database, ms in each direction'],
} as const;
const processCounts = [1, 2, 4];

/** Measures one broker with several ingest processes and as many shards, one number of processes after the other. */
async function measure(
  engines: Engines,
  fleet: BenchFleet,
  settings: Settings<typeof options>,
  databaseUrl: string,
): Promise<Record<string, Measured[]>> {
  const measured: Record<string, Measured[]> = {};
  for (const count of processCounts) {
    const contender = await startOdograph(engines, fleet, settings, count, databaseUrl);
    const results: Measured[] = [];
    // The first round warms up the JIT compilers.
    for (let round = 0; round <= settings.rounds; round += 1) {
      await clearTables(engines.pool, contender);
      results.push(await measureLoad(engines.pool, contender, planLoad(settings.uploads, 0, settings)));
    }
    measured[`${count} ingest`] = results.slice(1);
    await contender.stop();
  }
  return measured;
}

/** Sums the CPU time of broker and ingest. */
const cpuOf = ({ cpuSecondsPerMillion }: Measured): number =>
  Object.entries(cpuSecondsPerMillion).reduce(
    (sum, [name, seconds]) => (name === 'generator' ? sum : sum + seconds),
    0,
  );

function print(title: string, measured: Readonly<Record<string, readonly Measured[]>>): void {
  printSection(title, 'as many shards as ingest processes');
  printRounds(
    seriesOf(measured, ({ uploadsPerSecond }) => uploadsPerSecond),
    'uploads/s',
  );
  const cpu: Series = seriesOf(measured, cpuOf);
  printTable(
    ['CPU seconds of broker and ingest for a million uploads', 'median'],
    Object.entries(cpu).map(([name, values]): [string, number] => [name, median(values)]),
  );
}

export const benchmark = defineBenchmark(
  'uploads to rows with 1, 2 and 4 ingest processes, with the database near and behind a slow network',
  options,
  async (engines, settings) => {
    const fleet = await createFleet(engines.pool, settings.connections);
    print('database on this machine', await measure(engines, fleet, settings, engines.databaseUrl));
    const url = new URL(engines.databaseUrl);
    const proxy = await startTcpProxy(Number(url.port));
    engines.onStop('database proxy', () => proxy.close());
    proxy.slow(settings.delay);
    url.port = String(proxy.port);
    print(`database behind ${settings.delay} ms`, await measure(engines, fleet, settings, url.href));
  },
);

import { setTimeout as delay } from 'node:timers/promises';
import { defineBenchmark } from './parts/benchmark.ts';
import { measureLoad, planLoad, startOdograph } from './parts/contenders.ts';
import { createFleet } from './parts/fleet.ts';
import { figure, median, printTable } from './parts/report.ts';

const options = {
  connections: [100, 'uploading devices'],
  inFlight: [20, 'uploads in flight per device'],
  rate: [15_000, 'uploads/s; choose half of what the machine reaches'],
  minutes: [60, 'duration, minutes'],
  ingestProcesses: [1, 'ingest processes'],
} as const;

const sampleMs = 5000;
/** Share of the warm-up, in which caches fill and code is compiled. */
const warmUpShare = 0.1;

/** Prints the memory of each process after the warm-up. @param samples MiB, in order of time */
function printMemory(samples: Readonly<Record<string, readonly number[]>>): void {
  const rows = Object.entries(samples).map(([name, all]): [string, ...number[]] => {
    const values = all.slice(Math.floor(all.length * warmUpShare));
    const quarter = Math.max(1, Math.floor(values.length / 4));
    const [first, last] = [median(values.slice(0, quarter)), median(values.slice(-quarter))];
    return [name, first, last, Math.max(...values), last / first];
  });
  printTable(['MiB resident', 'first quarter', 'last quarter', 'most', 'last over first'], rows);
}

export const benchmark = defineBenchmark(
  'memory of each process under constant load for an hour; checks that every upload becomes a row',
  options,
  async (engines, settings) => {
    const { connections, rate, minutes, ingestProcesses } = settings;
    const fleet = await createFleet(engines.pool, connections);
    const odograph = await startOdograph(engines, fleet, settings, ingestProcesses);
    // The generator answers one message at a time, and is busy with the load.
    const { generator: _busy, ...watched } = odograph.processes;
    const samples: Record<string, number[]> = {};
    const ended = new AbortController();
    const watch = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        for (const [name, { usage }] of Object.entries(watched)) {
          samples[name] ??= [];
          samples[name].push((await usage()).residentBytes / 1024 ** 2);
        }
        await delay(sampleMs, undefined, { signal: ended.signal }).catch(() => undefined);
      }
    };
    const watching = watch();
    const plan = planLoad(rate * minutes * 60, rate, settings);
    const measured = await measureLoad(engines.pool, odograph, plan);
    ended.abort();
    await watching;
    console.log(`${plan.uploads.toLocaleString('en-US')} uploads, each acknowledged and stored as one row`);
    const { uploadsPerSecond, pubackP50Ms, pubackP99Ms } = measured;
    console.log(
      `${figure(uploadsPerSecond)} uploads/s; PUBACK p50 ${figure(pubackP50Ms)} ms, p99 ${figure(pubackP99Ms)} ms\n`,
    );
    printMemory(samples);
  },
);

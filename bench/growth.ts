import { defineBenchmark, UsageError } from './parts/benchmark.ts';
import { type LoadShape, measureLoad, planLoad, startOdograph } from './parts/contenders.ts';
import type { Engines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { fillReadings } from './parts/readings.ts';
import { figure, printRatio, printRounds, type Series } from './parts/report.ts';

const hourMs = 3_600_000;

const options = {
  connections: [100, 'uploading devices'],
  inFlight: [20, 'uploads in flight per device'],
  uploads: [200_000, 'uploads per round'],
  rounds: [3, 'rounds per step'],
  rows: ['1000000,10000000', 'comma-separated numbers of rows stored before'],
  processes: ['1,2,4', 'comma-separated numbers of ingest processes'],
} as const;

function readSteps(name: string, text: string): number[] {
  const steps = text.split(',').map(Number);
  if (steps.every((step) => Number.isSafeInteger(step) && step > 0)) return steps;
  throw new UsageError(`--${name} must be positive integers separated by commas, not ${text}`);
}

/** Measures rounds on newly started processes, after one round of warm-up. @returns uploads per second of each round */
async function measureStep(
  engines: Engines,
  fleet: BenchFleet,
  settings: LoadShape & { uploads: number; rounds: number },
  processes: number,
): Promise<number[]> {
  const contender = await startOdograph(engines, fleet, settings, processes);
  const rates: number[] = [];
  for (let round = 0; round <= settings.rounds; round += 1) {
    const { uploadsPerSecond } = await measureLoad(engines.pool, contender, planLoad(settings.uploads, 0, settings));
    if (round > 0) rates.push(uploadsPerSecond);
  }
  await contender.stop();
  return rates;
}

/** Prints the rates of each step, and relative to the step before. */
function printSteps(series: Series, unit: string, goal: string): void {
  printRounds(series, unit);
  const steps = Object.entries(series);
  for (const [index, [name, values]] of steps.entries()) {
    const before = steps[index - 1];
    if (before) printRatio(name, values, before, goal);
  }
}

export const benchmark = defineBenchmark(
  'uploads/s by number of ingest processes and by number of stored rows',
  options,
  async (engines, settings) => {
    const [rowSteps, processSteps] = [readSteps('rows', settings.rows), readSteps('processes', settings.processes)];
    const fleet = await createFleet(engines.pool, settings.connections);

    const byProcesses: Record<string, number[]> = {};
    for (const processes of processSteps) {
      byProcesses[`${processes} ingest`] = await measureStep(engines, fleet, settings, processes);
    }
    printSteps(byProcesses, 'uploads/s by processes', '');

    const byRows: Record<string, number[]> = {};
    let stored = 0;
    // The stored readings end an hour before the first one of the load.
    let until = new Date(Math.floor((Date.now() - hourMs) / 1000) * 1000);
    for (const rows of rowSteps) {
      until = (await fillReadings(engines.pool, fleet, { readings: rows - stored, until })).from;
      stored = rows;
      byRows[`${figure(rows / 1e6)} million rows`] = await measureStep(engines, fleet, settings, 1);
    }
    console.log();
    printSteps(byRows, 'uploads/s by rows stored before', 'at least 0.9');
  },
);

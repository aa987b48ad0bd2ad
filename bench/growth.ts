import { startOdograph } from './parts/contender.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { measureLoad, planLoad } from './parts/measure-load.ts';
import { readOptions, UsageError } from './parts/options.ts';
import { fillReadings } from './parts/readings.ts';
import { figure, printMachine, printRatio, printRounds } from './parts/report.ts';

export const description = 'uploads/s by number of ingest processes and of stored rows';

const hourSeconds = 3600;

const options = {
  connections: { value: 100, help: 'devices that upload' },
  inFlight: { value: 20, help: 'uploads of one device that wait for their PUBACK' },
  uploads: { value: 200_000, help: 'uploads of a round' },
  rounds: { value: 3, help: 'rounds of each step' },
  rows: { value: '1000000,10000000', help: 'steps of rows stored before, parted by commas' },
  processes: { value: '1,2,4', help: 'steps of ingest processes, parted by commas' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

function readSteps(name: string, text: string): number[] {
  const steps = text.split(',').map(Number);
  if (steps.every((step) => Number.isSafeInteger(step) && step > 0)) return steps;
  throw new UsageError(`--${name} must be positive integers separated by commas, not ${text}`);
}

/** Measures rounds on newly started processes, after one round of warm-up. @returns uploads per second of each round */
async function measureStep(
  engines: Engines,
  fleet: BenchFleet,
  { connections, inFlight, uploads, rounds }: Settings,
  processes: number,
): Promise<number[]> {
  const contender = await startOdograph(engines, fleet, {
    connections,
    inFlight,
    ingestProcesses: processes,
    profile: '',
  });
  const rates: number[] = [];
  const whole = Math.floor(uploads / connections) * connections;
  for (let round = 0; round <= rounds; round += 1) {
    const { uploadsPerSecond } = await measureLoad(
      engines.pool,
      contender,
      planLoad(whole, 0, connections),
      connections,
    );
    if (round > 0) rates.push(uploadsPerSecond);
  }
  await contender.stop();
  return rates;
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  const [rowSteps, processSteps] = [readSteps('rows', settings.rows), readSteps('processes', settings.processes)];
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.connections);

    const byProcesses: Record<string, number[]> = {};
    for (const processes of processSteps) {
      byProcesses[`${processes} ingest`] = await measureStep(engines, fleet, settings, processes);
    }
    printRounds(byProcesses, 'uploads/s by processes');
    printSteps(byProcesses, '');

    const byRows: Record<string, number[]> = {};
    let stored = 0;
    // The stored readings end an hour before the first one of the load.
    let until = new Date(Math.floor(Date.now() / 1000 - hourSeconds) * 1000);
    for (const rows of rowSteps) {
      until = (await fillReadings(engines.pool, fleet, { readings: rows - stored, until })).from;
      stored = rows;
      byRows[`${figure(rows / 1e6)} million rows`] = await measureStep(engines, fleet, settings, 1);
    }
    console.log();
    printRounds(byRows, 'uploads/s by rows stored before');
    printSteps(byRows, 'at least 0.9');
  });
}

/** Prints each step's rate relative to the previous step. */
function printSteps(series: Readonly<Record<string, readonly number[]>>, goal: string): void {
  const steps = Object.entries(series);
  for (const [index, [name, values]] of steps.entries()) {
    const before = steps[index - 1];
    if (before) printRatio(name, values, before, goal);
  }
}

import { type Contender, startOdograph } from './parts/contender.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { type Measured, measureLoad, planLoad } from './parts/measure-load.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printTable } from './parts/report.ts';
import { median } from './parts/statistics.ts';

export const description = 'a constant load for an hour: memory of each process, and that every upload becomes a row';

const options = {
  connections: { value: 100, help: 'devices that upload' },
  inFlight: { value: 20, help: 'uploads of one device that wait for their PUBACK' },
  rate: { value: 15_000, help: 'uploads a second; half of what the machine reaches' },
  minutes: { value: 60, help: 'how long' },
  ingestProcesses: { value: 1, help: 'ingest processes' },
} as const;

const sampleMs = 5000;
const mebibyte = 1024 ** 2;
/** Share of the warm-up, in which caches fill and code is compiled. */
const warmUpShare = 0.1;

/** Resident memory by process, MiB, in order of time. */
type Samples = Map<string, number[]>;

/** Samples the memory of each process until it is stopped. */
function watchMemory({ processes }: Contender): { samples: Samples; stop(): Promise<void> } {
  const samples: Samples = new Map(Object.keys(processes).map((name) => [name, []]));
  const look = async (): Promise<void> => {
    for (const [name, { usage }] of Object.entries(processes)) {
      // The generator answers one message at a time, and is busy with the load.
      if (name !== 'generator') samples.get(name)?.push((await usage()).residentBytes / mebibyte);
    }
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, sampleMs);
  return {
    samples,
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}

function printMemory(samples: Samples): void {
  const rows = [...samples].flatMap(([name, all]) => {
    const values = all.slice(Math.floor(all.length * warmUpShare));
    if (values.length === 0) return [];
    const quarter = Math.max(1, Math.floor(values.length / 4));
    const [first, last] = [median(values.slice(0, quarter)), median(values.slice(-quarter))];
    return [[name, figure(first), figure(last), figure(Math.max(...values)), figure(last / first)]];
  });
  printTable([['MiB resident', 'first quarter', 'last quarter', 'most', 'last over first'], ...rows]);
}

function printLoad({ uploadsPerSecond, pubackP50Ms, pubackP99Ms }: Measured, uploads: number): void {
  console.log(`${uploads.toLocaleString('en-US')} uploads, each acknowledged and stored as one row`);
  console.log(
    `${figure(uploadsPerSecond)} uploads/s; PUBACK p50 ${figure(pubackP50Ms)} ms, p99 ${figure(pubackP99Ms)} ms\n`,
  );
}

async function soak(engines: Engines, settings: ReturnType<typeof readOptions<typeof options>>): Promise<void> {
  const { connections, rate, minutes } = settings;
  const fleet = await createFleet(engines.pool, connections);
  const odograph = await startOdograph(engines, fleet, { ...settings, profile: '' });
  const memory = watchMemory(odograph);
  const uploads = Math.floor((rate * minutes * 60) / connections) * connections;
  const measured = await measureLoad(engines.pool, odograph, planLoad(uploads, rate, connections), connections);
  await memory.stop();
  printLoad(measured, uploads);
  printMemory(memory.samples);
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    await soak(engines, settings);
  });
}

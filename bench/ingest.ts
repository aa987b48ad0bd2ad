import {
  type Contender,
  startBareAedes,
  startBarePipeline,
  startOdograph,
  startTelegrafPipeline,
} from './parts/contender.ts';
import { type Engines, type Pool, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import type { ProbedDevice } from './parts/lag-probe.ts';
import { clearTables, type Measured, measureLoad, planLoad } from './parts/measure-load.ts';
import { readOptions, UsageError } from './parts/options.ts';
import { figure, printMachine, printRatio, printRounds, printTable } from './parts/report.ts';
import { median } from './parts/statistics.ts';
import { telegrafTable } from './parts/telegraf.ts';

export const description =
  'uploads over MQTT to rows: rate, PUBACK and lag, compared with a bare pipeline and bare aedes';

const roundSeconds = 10;
const warmUpUploads = 50_000;
/** Half of the required uploads per second. */
const latencyRate = 15_000;

const options = {
  connections: { value: 100, help: 'devices that upload' },
  inFlight: { value: 20, help: 'uploads of one device that wait for their PUBACK' },
  uploads: { value: 0, help: 'uploads of a round; 0 is what takes 10 s' },
  rounds: { value: 3, help: 'rounds of each contender' },
  rate: {
    value: 0,
    help: `uploads a second for the latencies alone; 0 is ${latencyRate} after the throughput, or half of that if it is less`,
  },
  ingestProcesses: { value: 1, help: 'ingest processes' },
  readings: { value: 1, help: 'readings of an upload; from 2 on, only throughput and only our pipeline' },
  age: { value: '0d', help: 'age of the readings in days, such as 20d; from 1d on as with several readings' },
  profile: { value: '', help: 'directory for CPU profiles of broker and ingest' },
  telegraf: { value: '', help: 'a Telegraf program to put under the same load' },
} as const;

type Settings = ReturnType<typeof readOptions<typeof options>>;
type Rounds = Map<Contender, Measured[]>;

/** A multiple of the connections, so that every device has the same last reading. */
function roundUploads(uploads: number, connections: number): number {
  return Math.max(1, Math.round(uploads / connections)) * connections;
}

interface Round {
  readonly uploads: number;
  /** Uploads per second; 0 sends as fast as PUBACKs arrive. */
  readonly rate: number;
  readonly connections: number;
  readonly readings?: number;
  readonly ageMs?: number;
}

/** Runs one round of a contender on empty tables. */
async function measureOnce(
  pool: Pool,
  contender: Contender,
  { uploads, rate, connections, readings = 1, ageMs = 0 }: Round,
  probed?: ProbedDevice,
): Promise<Measured> {
  await clearTables(pool, contender);
  const plan = planLoad(roundUploads(uploads, connections), rate, connections, ageMs);
  return measureLoad(pool, contender, plan, connections, probed, readings);
}

/** Warms up the JIT compilers of all processes. @returns the rate of the first contender, in uploads per second */
async function warmUp(pool: Pool, contenders: readonly Contender[], connections: number): Promise<number> {
  const rates: number[] = [];
  for (const contender of contenders) {
    const round = { uploads: warmUpUploads, rate: 0, connections };
    rates.push((await measureOnce(pool, contender, round)).uploadsPerSecond);
  }
  return rates[0] ?? 0;
}

/** Measures the contenders in turns within each round. */
async function measureRounds(
  contenders: readonly Contender[],
  rounds: number,
  measure: (contender: Contender) => Promise<Measured>,
): Promise<Rounds> {
  const measured: Rounds = new Map(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) measured.get(contender)?.push(await measure(contender));
  }
  return measured;
}

function seriesOf(rounds: Rounds, value: (measured: Measured) => number): Record<string, number[]> {
  return Object.fromEntries([...rounds].map(([{ name }, measured]) => [name, measured.map(value)]));
}

function printThroughput(rounds: Rounds): number {
  const rates = seriesOf(rounds, ({ uploadsPerSecond }) => uploadsPerSecond);
  printRounds(rates, 'uploads/s');
  const { odograph = [], 'bare pipeline': pipeline = [], 'bare aedes': aedes = [], Telegraf: telegraf = [] } = rates;
  printRatio('odograph', odograph, ['bare pipeline', pipeline], 'at least 0.8');
  printRatio('odograph', odograph, ['bare aedes, to the PUBACK', aedes]);
  if (telegraf.length > 0) printRatio('odograph', odograph, ['aedes and Telegraf', telegraf]);
  console.log();
  printRounds(
    seriesOf(rounds, ({ pubackP50Ms }) => pubackP50Ms),
    'PUBACK p50, ms',
  );
  printRounds(
    seriesOf(rounds, ({ pubackP99Ms }) => pubackP99Ms),
    'PUBACK p99, ms',
  );
  const parts = [...rounds].flatMap(([{ name }, measured]) =>
    Object.keys(measured[0]?.cpuSecondsPerMillion ?? {}).map((part) => [
      `${name}, ${part}`,
      figure(median(measured.map(({ cpuSecondsPerMillion }) => cpuSecondsPerMillion[part] ?? 0))),
    ]),
  );
  console.log();
  printTable([['CPU seconds for a million uploads', 'median'], ...parts]);
  return median(odograph);
}

const latencies: Record<string, (measured: Measured) => number> = {
  'PUBACK p50': ({ pubackP50Ms }) => pubackP50Ms,
  'PUBACK p99': ({ pubackP99Ms }) => pubackP99Ms,
  'lag p50': ({ lag }) => lag?.quantile(0.5) ?? Number.NaN,
  'lag p99': ({ lag }) => lag?.quantile(0.99) ?? Number.NaN,
};

async function printLatencies(
  { pool }: Engines,
  contenders: readonly Contender[],
  { vehicles, secret }: BenchFleet,
  { connections, rounds, rate }: Settings,
): Promise<void> {
  console.log(`\nlatencies at ${figure(rate)} uploads/s; lag: from PUBLISH until a query sees the row`);
  const device = vehicles[connections];
  if (!device) throw new Error('the fleet has no vehicle for the probe');
  const measure = (contender: Contender): Promise<Measured> => {
    const { port, table } = contender;
    // Latencies are not measured for Telegraf, whose table has no vehicles.
    const probed = table && table !== telegrafTable ? { ...device, secret, port, table } : undefined;
    return measureOnce(pool, contender, { uploads: rate * roundSeconds, rate, connections }, probed);
  };
  // A paced load runs other code than one at full speed, so it needs its own round of warm-up.
  await measureRounds(contenders, 1, measure);
  const measured = await measureRounds(contenders, rounds, measure);
  for (const [name, value] of Object.entries(latencies)) printRounds(seriesOf(measured, value), `${name}, ms`);
  console.log('  goals for odograph: PUBACK p99 under 25 ms, lag p99 under 250 ms');
}

/** Measures the throughput of uploads of several readings, or of old ones: our pipeline, and aedes up to the PUBACK. */
async function measureReadings(engines: Engines, settings: Settings, ageMs: number): Promise<void> {
  const { connections, readings, rounds, uploads } = settings;
  const fleet = await createFleet(engines.pool, connections);
  const contenders = [await startOdograph(engines, fleet, settings), await startBareAedes(engines, fleet, settings)];
  const warmUpRound = { uploads: warmUpUploads / readings, rate: 0, connections, readings, ageMs };
  const measure = (round: Round) => (contender: Contender) => measureOnce(engines.pool, contender, round);
  const warm = await measureRounds(contenders, 1, measure(warmUpRound));
  const [[first] = []] = [...warm.values()];
  const round = { ...warmUpRound, uploads: uploads || (first?.uploadsPerSecond ?? 0) * roundSeconds };
  const measured = await measureRounds(contenders, rounds, measure(round));
  const { odograph = [], ...others } = seriesOf(measured, (one) => one.uploadsPerSecond * readings);
  printRounds({ 'odograph, to rows': odograph, ...others }, `readings/s, ${readings} an upload, ${settings.age} old`);
  const cpuOf = (part: string): number[] => {
    const cpu = seriesOf(measured, ({ cpuSecondsPerMillion }) => (cpuSecondsPerMillion[part] ?? 0) / readings);
    return cpu['odograph'] ?? [];
  };
  printRounds({ broker: cpuOf('broker'), ingest: cpuOf('ingest 1') }, 'CPU µs a reading');
}

/** @throws UsageError unless the age is a number of days, such as 20d */
function readAgeMs(age: string): number {
  const days = /^(\d+)d$/.exec(age)?.[1];
  if (days === undefined) throw new UsageError(`--age must be a number of days such as 20d, not ${age}`);
  return Number(days) * 86_400_000;
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  const ageMs = readAgeMs(settings.age);
  await withEngines(async (engines) => {
    printMachine(engines);
    if (settings.readings > 1 || ageMs > 0) return measureReadings(engines, settings, ageMs);
    const fleet = await createFleet(engines.pool, settings.connections + 1);
    const contenders = [
      await startOdograph(engines, fleet, settings),
      await startBarePipeline(engines, fleet, settings),
      await startBareAedes(engines, fleet, settings),
    ];
    const { telegraf } = settings;
    const unpaced = telegraf
      ? [...contenders, await startTelegrafPipeline(engines, fleet, settings, telegraf)]
      : contenders;
    const { connections, inFlight } = settings;
    const reached = await warmUp(engines.pool, unpaced, connections);
    let { rate } = settings;
    if (rate === 0) {
      const uploads = roundUploads(settings.uploads || reached * roundSeconds, connections);
      console.log(`throughput: ${connections} connections with ${inFlight} in flight, ${uploads} uploads per round`);
      const round = { uploads, rate: 0, connections };
      const measured = await measureRounds(unpaced, settings.rounds, (contender) =>
        measureOnce(engines.pool, contender, round),
      );
      rate = Math.min(latencyRate, Math.round(printThroughput(measured) / 2));
    }
    await printLatencies(engines, contenders, fleet, { ...settings, rate });
  });
}

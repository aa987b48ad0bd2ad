import { defineBenchmark, inTurns, type Settings, UsageError } from './parts/benchmark.ts';
import {
  type Contender,
  clearTables,
  type Measured,
  measureLoad,
  planLoad,
  startBareAedes,
  startBarePipeline,
  startLagProbe,
  startOdograph,
} from './parts/contenders.ts';
import type { Engines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { figure, median, printRatio, printRounds, printSection, printTable, seriesOf } from './parts/report.ts';

const roundSeconds = 10;
const warmUpUploads = 50_000;
/** Half of the required uploads per second. */
const latencyRate = 15_000;

const options = {
  connections: [100, 'uploading devices'],
  inFlight: [20, 'uploads in flight per device'],
  uploads: [0, 'uploads per round; 0 for 10 s of load'],
  rounds: [3, 'rounds per contender'],
  rate: [0, `uploads/s, to measure only latencies; 0 for ${latencyRate} or half the throughput, whichever is less`],
  ingestProcesses: [1, 'ingest processes'],
  readings: [1, 'readings per upload; from 2 on, only throughput, without the bare pipeline'],
  age: ['0d', 'age of the readings in days, such as 20d; from 1d on, as with several readings'],
} as const;
type Contenders = Readonly<Record<string, Contender>>;

/** Measures each contender at full speed, on empty tables. */
function measureThroughput({ pool }: Engines, contenders: Contenders, uploads: number, rounds: number, ageMs = 0) {
  const measure = (contender: Contender) => async () => {
    await clearTables(pool, contender);
    return measureLoad(pool, contender, planLoad(uploads, 0, contender.shape, ageMs));
  };
  return inTurns(mapContenders(contenders, measure), rounds);
}

function mapContenders<Result>(contenders: Contenders, map: (contender: Contender) => Result): Record<string, Result> {
  return Object.fromEntries(Object.entries(contenders).map(([name, contender]) => [name, map(contender)]));
}

const rateOf = ({ uploadsPerSecond }: Measured): number => uploadsPerSecond;
const pubackP50 = ({ pubackP50Ms }: Measured): number => pubackP50Ms;
const pubackP99 = ({ pubackP99Ms }: Measured): number => pubackP99Ms;

/** @returns the median uploads per second of Odograph */
function printThroughput(measured: Readonly<Record<string, readonly Measured[]>>): number {
  const rates = seriesOf(measured, rateOf);
  printRounds(rates, 'uploads/s');
  const { odograph = [], 'bare pipeline': pipeline = [], 'bare aedes': aedes = [] } = rates;
  printRatio('odograph', odograph, ['bare pipeline', pipeline], 'at least 0.8');
  printRatio('odograph', odograph, ['bare aedes, to the PUBACK', aedes]);
  console.log();
  printRounds(seriesOf(measured, pubackP50), 'PUBACK p50, ms');
  printRounds(seriesOf(measured, pubackP99), 'PUBACK p99, ms');
  console.log();
  const parts = Object.entries(measured).flatMap(([name, rounds]) =>
    Object.keys(rounds[0]?.cpuSecondsPerMillion ?? {}).map((part): [string, number] => [
      `${name}, ${part}`,
      median(rounds.map(({ cpuSecondsPerMillion }) => cpuSecondsPerMillion[part] ?? 0)),
    ]),
  );
  printTable(['CPU seconds for a million uploads', 'median'], parts);
  return median(odograph);
}

/** Measures at an even pace; the last vehicle of the fleet is the probe. */
async function measureLatencies(
  { pool }: Engines,
  contenders: Contenders,
  probed: Parameters<typeof startLagProbe>[2],
  { rounds, rate }: { rounds: number; rate: number },
): Promise<void> {
  printSection('even pace', `${figure(rate)} uploads/s; lag: from PUBLISH until a query sees the row`);
  const measure = (contender: Contender) => async () => {
    await clearTables(pool, contender);
    const plan = planLoad(rate * roundSeconds, rate, contender.shape);
    const stopProbe = contender.table && (await startLagProbe(pool, contender, probed, plan.firstTimestampMs));
    return { ...(await measureLoad(pool, contender, plan)), lag: await stopProbe?.() };
  };
  // A paced load runs other code than one at full speed, so it needs its own round of warm-up.
  await inTurns(mapContenders(contenders, measure), 1);
  const measured = await inTurns(mapContenders(contenders, measure), rounds);
  printRounds(seriesOf(measured, pubackP50), 'PUBACK p50, ms');
  printRounds(seriesOf(measured, pubackP99), 'PUBACK p99, ms');
  for (const share of [0.5, 0.99]) {
    const lags = seriesOf(measured, ({ lag }) => lag?.quantile(share) ?? Number.NaN);
    printRounds(lags, `lag p${share * 100}, ms`);
  }
  console.log('  goals for odograph: PUBACK p99 under 25 ms, lag p99 under 250 ms');
}

/** Measures the throughput of uploads of several readings, or of old ones: our pipeline, and aedes up to the PUBACK. */
async function measureReadings(engines: Engines, settings: Settings<typeof options>, ageMs: number): Promise<void> {
  const { connections, readings, rounds, uploads, ingestProcesses } = settings;
  const fleet = await createFleet(engines.pool, connections);
  const contenders = {
    odograph: await startOdograph(engines, fleet, settings, ingestProcesses),
    'bare aedes': await startBareAedes(engines, fleet, settings),
  };
  const { odograph: [first] = [] } = await measureThroughput(engines, contenders, warmUpUploads / readings, 1, ageMs);
  const count = uploads || (first?.uploadsPerSecond ?? 0) * roundSeconds;
  const measured = await measureThroughput(engines, contenders, count, rounds, ageMs);
  const { odograph = [], ...others } = seriesOf(measured, (one) => rateOf(one) * readings);
  printRounds({ 'odograph, to rows': odograph, ...others }, `readings/s, ${readings} an upload, ${settings.age} old`);
  const cpuOf = (part: string) =>
    (measured['odograph'] ?? []).map(({ cpuSecondsPerMillion }) => (cpuSecondsPerMillion[part] ?? 0) / readings);
  printRounds({ broker: cpuOf('broker'), ingest: cpuOf('ingest 1') }, 'CPU µs a reading');
}

/** @throws UsageError unless the age is a number of days, such as 20d */
function readAgeMs(age: string): number {
  const days = /^(\d+)d$/.exec(age)?.[1];
  if (days === undefined) throw new UsageError(`--age must be a number of days such as 20d, not ${age}`);
  return Number(days) * 86_400_000;
}

export const benchmark = defineBenchmark(
  'uploads over MQTT to rows: rate, PUBACK and lag, compared with a bare pipeline and bare aedes',
  options,
  async (engines, settings) => {
    const { connections, inFlight, rounds, ingestProcesses } = settings;
    const ageMs = readAgeMs(settings.age);
    if (settings.readings > 1 || ageMs > 0) return measureReadings(engines, settings, ageMs);
    const fleet = await createFleet(engines.pool, connections + 1);
    const probed = { deviceId: '', vehicleId: 0, ...fleet.vehicles[connections], secret: fleet.secret };
    const contenders = {
      odograph: await startOdograph(engines, fleet, settings, ingestProcesses),
      'bare pipeline': await startBarePipeline(engines, fleet, settings),
      'bare aedes': await startBareAedes(engines, fleet, settings),
    };
    // Warms up the JIT compilers of all processes.
    const { odograph: [first] = [] } = await measureThroughput(engines, contenders, warmUpUploads, 1);
    let { rate } = settings;
    if (rate === 0) {
      const uploads = Math.round(settings.uploads || (first?.uploadsPerSecond ?? 0) * roundSeconds);
      printSection('full speed', `${connections} connections with ${inFlight} in flight, ${uploads} uploads per round`);
      const reached = printThroughput(await measureThroughput(engines, contenders, uploads, rounds));
      rate = Math.min(latencyRate, Math.round(reached / 2));
    }
    await measureLatencies(engines, contenders, probed, { rounds, rate });
  },
);

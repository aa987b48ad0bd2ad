import { type Benchmark, readOptions } from './parts/benchmark.ts';
import { printTable } from './parts/report.ts';

const options = {
  interval: [10, 'seconds between two uploads of a driving vehicle'],
  driving: [15, 'percent of the vehicles that drive at the busiest time'],
  hours: [2, 'hours that a vehicle drives a day; it uploads once an hour otherwise'],
  utilization: [50, 'percent of each core that may be busy at the busiest time'],
  core: [15, 'price of a core a month'],
  gibibyte: [3, 'price of a GiB of memory a month'],
  terabyte: [90, 'price of a TB of disk a month'],
} as const;

/** Measured by the benchmarks named; one core is one of the machine of docs/performance.md. */
const measured = {
  /** `ingest`: processor seconds of a million uploads of one reading. */
  broker: 10.7,
  ingest: 10.9,
  /** `ingest`: PostgreSQL, Redis and the kernel together; the model gives each half. */
  engines: 14,
  /** `connections`: memory of a connected device without TLS, and connections a second of one broker. */
  kibibytesPerDevice: 24.5,
  connectionsPerSecond: 4400,
  /** `connections`: seven eighths of the file descriptors of a process, 100,000 in infra/systemd. */
  devicesPerBroker: 87_500,
  /** `storage`: bytes of a reading of a vehicle that drives all the time, with indexes; compressed after two weeks. */
  bytesPerReading: 44,
  bytesPerUncompressedReading: 282,
  /** The pages that each upload of a vehicle touches: a leaf of the index, the end of the heap, its latest state. */
  cachedKibibytesPerVehicle: 24,
  /** Kept in Redis for each upload that waits, with its job; half of its memory may hold them. */
  bytesPerWaitingUpload: 600,
} as const;

const secondsPerDay = 86_400;
const kibibytesPerGibibyte = 1024 ** 2;
const bytesPerTerabyte = 1e12;
/** An hour in which the database is away is to fit into Redis. */
const outageSeconds = 3600;

type Settings = { readonly [Name in keyof typeof options]: number };

/** Computes what a fleet needs, by the utilization law: busy cores are arrivals a second times the seconds of each. */
function size(devices: number, settings: Settings) {
  const { interval, driving, hours, utilization, core, gibibyte, terabyte } = settings;
  const uploadsPerSecond = (devices * driving) / 100 / interval;
  const uploadsPerDay = devices * ((hours * 3600) / interval + (24 - hours));
  const coresOf = (secondsPerMillion: number) => (uploadsPerSecond * secondsPerMillion) / 1e6 / (utilization / 100);
  const brokers = Math.ceil(Math.max(coresOf(measured.broker), devices / measured.devicesPerBroker));
  const ingests = Math.ceil(coresOf(measured.ingest));
  const engineCores = Math.max(2, Math.ceil(coresOf(measured.engines)));
  const redisGibibytes = (2 * uploadsPerSecond * outageSeconds * measured.bytesPerWaitingUpload) / 1024 ** 3;
  const sessionsGibibytes = (devices * measured.kibibytesPerDevice) / kibibytesPerGibibyte;
  const bytesPerYear = 351 * measured.bytesPerReading + 14 * measured.bytesPerUncompressedReading;
  const terabytesPerYear = (uploadsPerDay * bytesPerYear) / bytesPerTerabyte;
  // Processes at rest take 0.25 GiB each.
  const cacheGibibytes = Math.max(2, (devices * measured.cachedKibibytesPerVehicle) / kibibytesPerGibibyte);
  const memory = sessionsGibibytes + redisGibibytes + 0.25 * (brokers + ingests + 2) + cacheGibibytes;
  const cores = brokers + ingests + engineCores + 1;
  return {
    uploadsPerSecond,
    brokers,
    ingests,
    engineCores,
    sessionsGibibytes,
    redisGibibytes,
    memory,
    terabytesPerYear,
    reconnectSeconds: devices / (brokers * measured.connectionsPerSecond),
    // A standby has what the primary has.
    monthly: cores * core + memory * gibibyte + 2 * terabytesPerYear * terabyte,
  };
}

const oneDigit = (value: number): string => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));

export const benchmark: Benchmark = {
  description: 'computes what 10,000, 100,000 and 1,000,000 devices need from measured parameters; runs nothing',
  async run(parameters) {
    const settings = readOptions(parameters, options);
    const fleets = [10_000, 100_000, 1_000_000];
    const sizes = fleets.map((devices) => size(devices, settings));
    const row = (name: string, of: (needs: ReturnType<typeof size>) => number) => [
      name,
      ...sizes.map((needs) => oneDigit(of(needs))),
    ];
    printTable(
      ['', ...fleets.map((devices) => `${devices.toLocaleString('en')} devices`)],
      [
        row('uploads/s at the busiest time', (needs) => needs.uploadsPerSecond),
        row('brokers', (needs) => needs.brokers),
        row('ingest processes and shards', (needs) => needs.ingests),
        row('cores of PostgreSQL and Redis', (needs) => needs.engineCores),
        row('GiB of sessions', (needs) => needs.sessionsGibibytes),
        row('GiB of Redis, for an hour without the database', (needs) => needs.redisGibibytes),
        row('GiB of memory in all', (needs) => needs.memory),
        row('TB of disk after a year, without standby', (needs) => needs.terabytesPerYear),
        row('seconds until all devices have reconnected, without TLS', (needs) => needs.reconnectSeconds),
        row('price a month, with the disk of a year', (needs) => needs.monthly),
      ],
    );
    console.log(`one ingest: at most ${oneDigit(1e6 / measured.ingest)} uploads/s on a core of its own`);
    console.log(
      `two cores for everything: at most ${oneDigit(2e6 / (measured.broker + measured.ingest + measured.engines))} uploads/s`,
    );
  },
};

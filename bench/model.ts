import { type Benchmark, readOptions } from './parts/benchmark.ts';
import { printTable } from './parts/report.ts';

const options = {
  interval: [10, 'seconds between two uploads of a driving vehicle'],
  driving: [15, 'percent of the vehicles that drive at peak time'],
  hours: [2, 'hours that a vehicle drives per day; otherwise it uploads once an hour'],
  utilization: [50, 'maximum utilization of each core at peak time, percent'],
  core: [15, 'price of a core per month'],
  gibibyte: [3, 'price of a GiB of memory per month'],
  terabyte: [90, 'price of a TB of disk per month'],
} as const;

/** Results of the named benchmarks; a core is one of the machine in docs/performance.md. */
const measured = {
  /** `ingest`: CPU seconds for a million uploads of one reading each. */
  broker: 10.7,
  ingest: 10.9,
  /** `ingest`: CPU seconds of PostgreSQL, Redis and the kernel together. */
  engines: 14,
  /** `connections`: memory per connected device without TLS, and connections per second of one broker. */
  kibibytesPerDevice: 24.5,
  connectionsPerSecond: 4400,
  /** `connections`: seven eighths of the file descriptors of a process, 100,000 in infra/systemd. */
  devicesPerBroker: 87_500,
  /** `storage`: size of a reading of a constantly driving vehicle, with indexes; compressed after two weeks. */
  bytesPerReading: 44,
  bytesPerUncompressedReading: 282,
  /** Pages that each upload of a vehicle touches: an index leaf, the end of the heap, the latest state. */
  cachedKibibytesPerVehicle: 24,
  /** Memory in Redis of a waiting upload with its job; waiting uploads may use half of the memory of Redis. */
  bytesPerWaitingUpload: 600,
} as const;

const kibibytesPerGibibyte = 1024 ** 2;
const bytesPerTerabyte = 1e12;
/** Redis must hold the uploads of a database outage of one hour. */
const outageSeconds = 3600;

type Settings = { readonly [Name in keyof typeof options]: number };

/** Computes the resources for a fleet by the utilization law: busy cores = arrivals per second × seconds per arrival. */
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
  // An idle process takes 0.25 GiB.
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
    // A standby needs the cores, cache and disk of the primary.
    monthly: (cores + engineCores) * core + (memory + cacheGibibytes) * gibibyte + 2 * terabytesPerYear * terabyte,
  };
}

const oneDigit = (value: number): string => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));

export const benchmark: Benchmark = {
  description: 'estimates the resources for 10,000, 100,000 and 1,000,000 devices from measured costs; runs nothing',
  async run(parameters) {
    const settings = readOptions(parameters, options);
    const fleets = [10_000, 100_000, 1_000_000];
    const sizes = fleets.map((devices) => size(devices, settings));
    const row = (name: string, of: (needs: ReturnType<typeof size>) => number): [string, ...string[]] => [
      name,
      ...sizes.map((needs) => oneDigit(of(needs))),
    ];
    printTable(
      ['', ...fleets.map((devices) => `${devices.toLocaleString('en')} devices`)],
      [
        row('uploads/s at peak time', (needs) => needs.uploadsPerSecond),
        row('brokers', (needs) => needs.brokers),
        row('ingest processes and shards', (needs) => needs.ingests),
        row('cores of PostgreSQL and Redis', (needs) => needs.engineCores),
        row('GiB of sessions', (needs) => needs.sessionsGibibytes),
        row('GiB of Redis, for a database outage of one hour', (needs) => needs.redisGibibytes),
        row('GiB of memory in total', (needs) => needs.memory),
        row('TB of disk after a year, without a standby', (needs) => needs.terabytesPerYear),
        row('seconds until all devices have reconnected, without TLS', (needs) => needs.reconnectSeconds),
        row('price per month, with a standby', (needs) => needs.monthly),
      ],
    );
    console.log(`one ingest: at most ${oneDigit(1e6 / measured.ingest)} uploads/s on a dedicated core`);
    console.log(
      `two cores for everything: at most ${oneDigit(2e6 / (measured.broker + measured.ingest + measured.engines))} uploads/s`,
    );
  },
};

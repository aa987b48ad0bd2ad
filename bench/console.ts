import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { measureScreens, screenParts } from './parts/console-screens.ts';
import { type Contender, startOdograph } from './parts/contender.ts';
import { type Engines, withEngines } from './parts/engines.ts';
import { openEventStream, probePlate, type Received, startProbe } from './parts/event-streams.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { planLoad } from './parts/measure-load.ts';
import { readOptions, UsageError } from './parts/options.ts';
import { figure, printMachine, printTable } from './parts/report.ts';
import { type ServiceProcess, startServices } from './parts/service-process.ts';
import { TimeHistogram } from './parts/statistics.ts';

export const description =
  'live streams of browsers, from the PUBACK of an upload to each of them; map, table and chart of the console in Chromium';

const options = {
  part: { value: 'all', help: 'streams, map, list, chart, or all of them' },
  streams: { value: 200, help: 'browsers; a tenth of them see the whole fleet as cells, the others a part of a city' },
  vehicles: { value: 50_000, help: 'vehicles of the fleet' },
  rate: { value: 2000, help: 'uploads a second, each of another vehicle in that city' },
  seconds: { value: 30, help: 'how long' },
  mapSeconds: { value: 60, help: 'how long each map is watched; docs/performance.md has figures of 600' },
  profile: { value: '', help: 'directory for a CPU profile of query' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

const streamsPerToken = 20;
const probes = 10;
const probeIntervalMs = 500;
const settlingMs = 5000;

/** Where the vehicles of the load are (payloads.ts). */
const city = { west: 2.285, south: 48.806, width: 0.134, height: 0.1 };
/** Share of the city's width and height that a browser shows. */
const shown = 0.25;

/** Spreads the vehicles without uploads over the country, and names the probes. */
async function fillFleet({ pool }: Engines, { vehicles }: BenchFleet, rate: number): Promise<void> {
  const ids = vehicles.map(({ vehicleId }) => vehicleId);
  await pool.query(
    `insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
    select id, now(), jsonb_build_object('latitude', 43 + random() * 6, 'longitude', -1 + random() * 8, 'angle', 90), now(),
      '{"ignition": false}', now(), now() from unnest($1::integer[]) as id`,
    [ids.slice(rate + probes)],
  );
  await pool.query(`update vehicle set plate = '${probePlate}' || id where id = any($1::integer[])`, [
    ids.slice(rate, rate + probes),
  ]);
  await pool.query('vacuum analyze vehicle, vehicle_latest, device_link');
}

/** The view of one browser; all of them follow the probes. */
function queryOf(index: number, followed: string): string {
  if (index % 10 === 0) return `zoom=5&vehicles=${followed}`;
  const [right, up] = [(index % 13) / 13, (index % 7) / 7];
  const west = city.west + right * (1 - shown) * city.width;
  const south = city.south + up * (1 - shown) * city.height;
  const bbox = [west, south, west + shown * city.width, south + shown * city.height];
  return `bbox=${bbox.map((degrees) => degrees.toFixed(4)).join(',')}&zoom=13&vehicles=${followed}`;
}

/** Opens sessions of the application: each may have a limited number of streams. @returns their access tokens */
async function createTokens({ pool }: Engines, { applicationId }: BenchFleet, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => createSecret());
  await pool.query(
    `with opened as (insert into session (application_id) values ($1) returning id)
    insert into access_token (token_sha256, session_id, expires_at) select token, opened.id, now() + interval '1 day'
    from opened, unnest($2::bytea[]) as token`,
    [applicationId, tokens.map(hashSecret)],
  );
  return tokens;
}

async function openBrowsers(
  engines: Engines,
  fleet: BenchFleet,
  query: ServiceProcess,
  { streams, rate }: Settings,
  pubacks: ReadonlyMap<string, number>,
): Promise<Received> {
  const received: Received = { bytes: 0, events: 0, delays: new TimeHistogram() };
  const followed = fleet.vehicles.slice(rate, rate + probes).map(({ vehicleId }) => vehicleId);
  const tokens = await createTokens(engines, fleet, Math.ceil(streams / streamsPerToken));
  const start = performance.now();
  for (let index = 0; index < streams; index += 1) {
    const url = new URL(`/v1/x/events?${queryOf(index, followed.join(','))}`, query.httpUrl);
    const token = tokens[index % tokens.length] ?? '';
    const close = await openEventStream(url, token, { received, pubacks });
    engines.onStop('live stream', close);
    if (index === 0) console.log(`first snapshot, with the load of the fleet: ${figure(performance.now() - start)} ms`);
  }
  return received;
}

/** Measures an interval in which the load is constant. */
async function measure(
  platform: Contender,
  query: ServiceProcess,
  received: Received,
  { seconds, streams, rate }: Settings,
): Promise<void> {
  const uploads = rate * (seconds + (2 * settlingMs) / 1000);
  const loading = platform.generator.ask({ kind: 'load', ...planLoad(uploads, rate, rate) });
  await delay(settlingMs);
  const before = { ...received, cpu: (await query.usage()).cpuSeconds, at: performance.now() };
  const delays = new TimeHistogram();
  received.delays = delays;
  await delay(seconds * 1000);
  const { cpuSeconds, residentBytes } = await query.usage();
  const elapsed = (performance.now() - before.at) / 1000;
  printTable([
    ['PUBACK to browser, p50, ms', figure(delays.quantile(0.5))],
    ['PUBACK to browser, p99, ms (goal: under 500)', figure(delays.quantile(0.99))],
    ['CPU of query, share of a core', figure((cpuSeconds - before.cpu) / elapsed)],
    ['resident memory of query, MiB', figure(residentBytes / 1024 ** 2)],
    ['events a second, of each stream', figure((received.events - before.events) / elapsed / streams)],
    ['kB a second, of each stream', figure((received.bytes - before.bytes) / elapsed / streams / 1000)],
    ['load average of the last minute', figure(loadavg()[0] ?? Number.NaN)],
  ]);
  await loading;
}

async function measureStreams(settings: Settings): Promise<void> {
  const { rate, vehicles, streams, profile } = settings;
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, Math.max(vehicles, rate + probes));
    await fillFleet(engines, fleet, rate);
    const shape = { connections: rate, inFlight: 4, ingestProcesses: 1, profile: '' };
    const platform = await startOdograph(engines, fleet, shape);
    const query = await startServices(engines, ['query'], {
      profile,
      settings: { HTTP_CONNECTIONS_PER_ADDRESS: '10000' },
    });
    const pubacks = new Map<string, number>();
    for (const { deviceId } of fleet.vehicles.slice(rate, rate + probes)) {
      const probe = { port: platform.port, deviceId, secret: fleet.secret };
      engines.onStop('probe', await startProbe(probe, pubacks, probeIntervalMs));
    }
    console.log(
      `${streams} streams, ${figure(vehicles)} vehicles, ${figure(rate)} uploads a second of as many vehicles`,
    );
    const received = await openBrowsers(engines, fleet, query, settings, pubacks);
    await measure(platform, query, received, settings);
  });
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  const { part } = settings;
  const parts = part === 'all' ? ['streams', ...screenParts] : [part];
  const unknown = parts.find((one) => one !== 'streams' && !screenParts.includes(one));
  if (unknown !== undefined)
    throw new UsageError(`--part must be streams, ${screenParts.join(', ')} or all, not ${unknown}`);
  if (parts.includes('streams')) await measureStreams(settings);
  if (parts.some((one) => one !== 'streams')) await measureScreens(parts, settings);
}

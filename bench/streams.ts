import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { defineBenchmark } from './parts/benchmark.ts';
import { planLoad, startOdograph } from './parts/contenders.ts';
import type { Engines } from './parts/engines.ts';
import { type BenchFleet, createFleet, spreadFleet } from './parts/fleet.ts';
import { startProbe } from './parts/mqtt.ts';
import { startServices } from './parts/processes.ts';
import { figure, printTable, TimeHistogram } from './parts/report.ts';

const options = {
  streams: [200, 'browsers; a tenth of them see the whole fleet as cells, the others part of a city'],
  vehicles: [50_000, 'vehicles of the fleet'],
  rate: [2000, 'uploads/s, each for a different vehicle in that city'],
  seconds: [30, 'duration, seconds'],
} as const;

const streamsPerToken = 20;
const probes = 10;
const probeIntervalMs = 500;
const settlingMs = 5000;
/** Prefix of the probes' license plates; finds them in the bytes of a stream without parsing. */
const probePlate = 'PROBE-';

/** Area of the vehicles under load (payloadTemplate). */
const city = { west: 2.285, south: 48.806, width: 0.134, height: 0.1 };
/** Share of the city's width and height that a browser shows. */
const shown = 0.25;

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

/** Events received by all streams. */
interface Received {
  bytes: number;
  events: number;
  /** Time from the PUBACK of a probe's upload until a stream has its position. */
  delays: TimeHistogram;
}

/** Opens a live stream and resolves when it has its first snapshot. @param pubacks by device time, ISO 8601 */
async function openEventStream(
  url: URL,
  token: string,
  { received, pubacks }: { received: Received; pubacks: ReadonlyMap<string, number> },
): Promise<() => void> {
  const request = get(url, { agent: false, headers: { 'x-service-token': token } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => undefined);
  if (response.statusCode !== 200) throw new Error(`a live stream was answered with ${response.statusCode}`);
  response.setEncoding('latin1');
  let rest = '';
  let isComplete: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => {
    isComplete = resolve;
  });
  response.on('data', (chunk: string) => {
    received.bytes += chunk.length;
    const text = rest + chunk;
    const end = text.lastIndexOf('\n\n') + 2;
    rest = text.slice(end);
    readEvents(text.slice(0, end), received, pubacks);
    if (text.includes('"complete":true')) isComplete();
  });
  await complete;
  return () => request.destroy();
}

function readEvents(text: string, received: Received, pubacks: ReadonlyMap<string, number>): void {
  const now = performance.now();
  for (let at = text.indexOf('\ndata:'); at !== -1; at = text.indexOf('\ndata:', at + 1)) received.events += 1;
  for (let at = text.indexOf(probePlate); at !== -1; at = text.indexOf(probePlate, at + 1)) {
    const time = /"time":"([^"]+)"/.exec(text.slice(at, at + 500))?.[1];
    const pubackAt = time === undefined ? undefined : pubacks.get(time);
    if (pubackAt !== undefined) received.delays.record(now - pubackAt);
  }
}

export const benchmark = defineBenchmark(
  'live streams: latency from the PUBACK of an upload to each browser',
  options,
  async (engines, { streams, vehicles, rate, seconds }) => {
    const fleet = await createFleet(engines.pool, Math.max(vehicles, rate + probes));
    const probed = fleet.vehicles.slice(rate, rate + probes);
    const ids = probed.map(({ vehicleId }) => vehicleId);
    await engines.pool.query(`update vehicle set plate = '${probePlate}' || id where id = any($1::integer[])`, [ids]);
    await spreadFleet(engines.pool);
    const shape = { connections: rate, inFlight: 4 };
    const platform = await startOdograph(engines, fleet, shape);
    // Behind a proxy, one address may open any number of connections.
    const query = await startServices(engines, ['query'], { HTTP_TRUST_PROXY: '1' });
    const pubacks = new Map<string, number>();
    const onPuback = (timeMs: number) => void pubacks.set(new Date(timeMs).toISOString(), performance.now());
    for (const { deviceId } of probed) {
      const device = { port: platform.port, clientId: deviceId, password: fleet.secret };
      const probe = await startProbe(device, probeIntervalMs, { timeOf: () => Date.now(), onPuback });
      engines.onStop('probe', () => {
        probe.stop();
        probe.close();
      });
    }
    console.log(
      `${streams} streams, ${figure(vehicles)} vehicles, ${figure(rate)} uploads a second of as many vehicles`,
    );
    const received: Received = { bytes: 0, events: 0, delays: new TimeHistogram() };
    const tokens = await createTokens(engines, fleet, Math.ceil(streams / streamsPerToken));
    const start = performance.now();
    let snapshotMs = Number.NaN;
    for (let index = 0; index < streams; index += 1) {
      const url = new URL(`/v1/x/events?${queryOf(index, ids.join(','))}`, query.httpUrl);
      const close = await openEventStream(url, tokens[index % tokens.length] ?? '', { received, pubacks });
      engines.onStop('live stream', close);
      if (index === 0) snapshotMs = performance.now() - start;
    }

    const plan = planLoad(rate * (seconds + (2 * settlingMs) / 1000), rate, shape);
    const loading = platform.generator.ask({ kind: 'load', ...plan });
    await delay(settlingMs);
    const before = { ...received, cpu: (await query.usage()).cpuSeconds, at: performance.now() };
    received.delays = new TimeHistogram();
    await delay(seconds * 1000);
    const { cpuSeconds, residentBytes } = await query.usage();
    const elapsed = (performance.now() - before.at) / 1000;
    printTable(
      ['live streams', 'measured'],
      [
        ['first snapshot, with the load of the fleet, ms', snapshotMs],
        ['PUBACK to browser, p50, ms', received.delays.quantile(0.5)],
        ['PUBACK to browser, p99, ms (goal: under 500)', received.delays.quantile(0.99)],
        ['CPU of query, share of a core', (cpuSeconds - before.cpu) / elapsed],
        ['resident memory of query, MiB', residentBytes / 1024 ** 2],
        ['events a second, of each stream', (received.events - before.events) / elapsed / streams],
        ['kB a second, of each stream', (received.bytes - before.bytes) / elapsed / streams / 1000],
        ['load average of the last minute', loadavg()[0] ?? Number.NaN],
      ],
    );
    await loading;
  },
);

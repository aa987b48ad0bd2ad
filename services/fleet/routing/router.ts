import type { Position } from '@odograph/database/addresses';
import type { Config } from '@odograph/runtime/config';
import type { Redis } from '@odograph/runtime/redis';
import {
  awaitSlot,
  elementsOf,
  membersOf,
  type RateLimit,
  requestUpstream,
  textOf,
  UpstreamRefusal,
} from '../common/upstream.ts';

const maxAnswerBytes = 2 * 1024 ** 2;

/** A measured position; time in UNIX seconds. */
export interface TimedPosition extends Position {
  readonly time: number;
}

/** A line as in GeoJSON. */
export type Line = readonly (readonly [longitude: number, latitude: number])[];

/** Positions snapped to roads; each line ends where no road was matched. Distance in metres. */
export interface SnappedLines {
  readonly lines: readonly Line[];
  readonly metres: number;
}

export type RouterConfig = Pick<Config, 'ROUTER_URL' | 'ROUTER_KIND' | 'ROUTER_REQUESTS_PER_SECOND' | 'QUEUE_PREFIX'>;

/** Decodes an encoded polyline with six decimals (https://valhalla.github.io/valhalla/decoding). */
function decodePolyline(text: string): Line {
  const line: [number, number][] = [];
  let [index, latitude, longitude] = [0, 0, 0];
  const next = () => {
    let [shift, bits] = [0, 0];
    for (let byte = 0x20; byte >= 0x20; shift += 5) {
      byte = text.charCodeAt(index) - 63;
      if (!(byte >= 0 && byte < 64) || shift > 30) throw new Error('the router responded with an invalid polyline');
      bits |= (byte & 0x1f) << shift;
      index += 1;
    }
    return bits & 1 ? ~(bits >> 1) : bits >> 1;
  };
  while (index < text.length) {
    latitude += next();
    longitude += next();
    line.push([longitude / 1e6, latitude / 1e6]);
  }
  return line;
}

/** Reads the coordinates of a GeoJSON LineString. @throws Error for anything else */
function lineOf(geometry: unknown): Line {
  return elementsOf(membersOf(geometry)['coordinates']).map((point) => {
    const [longitude, latitude] = elementsOf(point);
    if (typeof longitude === 'number' && typeof latitude === 'number') return [longitude, latitude] as const;
    throw new Error('the router responded with an invalid line');
  });
}

function numberIn(value: unknown, name: string): number {
  const { [name]: number } = membersOf(value);
  if (typeof number === 'number') return number;
  throw new Error(`the router responded without ${name}`);
}

const degrees = (position: Position) => `${position.longitude.toFixed(6)},${position.latitude.toFixed(6)}`;

interface Router {
  /** Maximum positions in one request. */
  readonly maxPositions: number;
  snap(url: string, positions: readonly TimedPosition[]): Promise<SnappedLines>;
  /** Returns the driving time in seconds; undefined without a route. */
  drivingSeconds(url: string, from: Position, to: Position): Promise<number | undefined>;
}

const routers: Readonly<Record<Config['ROUTER_KIND'], Router>> = {
  // https://project-osrm.org/docs, "Match service" and "Route service"
  osrm: {
    // Default of --max-matching-size; the server rejects more.
    maxPositions: 100,
    async snap(url, positions) {
      const query = {
        ...{ geometries: 'geojson', overview: 'full', gaps: 'ignore', tidy: 'true' },
        timestamps: positions.map(({ time }) => Math.round(time)).join(';'),
      };
      const path = `match/v1/driving/${positions.map(degrees).join(';')}`;
      const matchings = elementsOf(membersOf(await requestUpstream({ url, path, query, maxAnswerBytes }))['matchings']);
      return {
        lines: matchings.map((matching) => lineOf(membersOf(matching)['geometry'])),
        metres: matchings.reduce((sum: number, matching) => sum + numberIn(matching, 'distance'), 0),
      };
    },
    async drivingSeconds(url, from, to) {
      const path = `route/v1/driving/${degrees(from)};${degrees(to)}`;
      const answer = await requestUpstream({ url, path, query: { overview: 'false' }, maxAnswerBytes });
      const [route] = elementsOf(membersOf(answer)['routes']);
      return route === undefined ? undefined : numberIn(route, 'duration');
    },
  },
  // https://valhalla.github.io/valhalla/api, "Map Matching" and "Turn-by-turn"
  valhalla: {
    // Valhalla rejects traces over 200 km by default (service_limits.trace.max_distance). Requests of 100 of the at most 300
    // positions cover trips of up to 600 km.
    maxPositions: 100,
    async snap(url, positions) {
      const shape = positions.map(({ latitude: lat, longitude: lon, time }) => ({ lat, lon, time: Math.round(time) }));
      const body = { shape, costing: 'auto', shape_match: 'map_snap', directions_type: 'none' };
      const { trip } = membersOf(await requestUpstream({ url, path: 'trace_route', body, maxAnswerBytes }));
      const legs = elementsOf(membersOf(trip)['legs']);
      return {
        lines: legs.map((leg) => decodePolyline(textOf(membersOf(leg)['shape']))),
        metres: numberIn(membersOf(trip)['summary'], 'length') * 1000,
      };
    },
    async drivingSeconds(url, from, to) {
      const locations = [from, to].map(({ latitude: lat, longitude: lon }) => ({ lat, lon }));
      const body = { locations, costing: 'auto', directions_type: 'none' };
      const { trip } = membersOf(await requestUpstream({ url, path: 'route', body, maxAnswerBytes }));
      return numberIn(membersOf(trip)['summary'], 'time');
    },
  },
};

const routerLimit = (redis: Redis, config: RouterConfig): RateLimit => ({
  ...{ redis, key: `${config.QUEUE_PREFIX}:router:turn`, perSecond: config.ROUTER_REQUESTS_PER_SECOND },
});

/** Returns a default value if the router found no road. */
const unlessRefused =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (error instanceof UpstreamRefusal) return value;
    throw error;
  };

/** Splits positions into requests, each of which begins with the last position of the one before. */
function chunksOf(positions: readonly TimedPosition[], size: number): TimedPosition[][] {
  const chunks: TimedPosition[][] = [];
  for (let start = 0; start < positions.length - 1; start += size - 1)
    chunks.push(positions.slice(start, start + size));
  return chunks;
}

/**
 * Snaps a part of a trip to roads, within the rate limit.
 * @throws Failure TOO_MANY_REQUESTS, OVERLOADED; Error if a request fails
 */
export async function snapToRoads(
  redis: Redis,
  config: RouterConfig,
  positions: readonly TimedPosition[],
): Promise<SnappedLines> {
  const { ROUTER_URL: url = '', ROUTER_KIND: kind } = config;
  const { snap, maxPositions } = routers[kind];
  const lines: Line[] = [];
  let metres = 0;
  for (const chunk of chunksOf(positions, maxPositions)) {
    await awaitSlot(routerLimit(redis, config), 'router');
    const snapped = await snap(url, chunk).catch(unlessRefused({ lines: [], metres: 0 }));
    lines.push(...snapped.lines.filter(({ length }) => length > 1));
    metres += snapped.metres;
  }
  return { lines, metres };
}

/**
 * Requests the driving time in seconds, within the rate limit.
 * @returns undefined without a route
 * @throws Failure TOO_MANY_REQUESTS, OVERLOADED; Error if the request fails
 */
export async function findDrivingSeconds(redis: Redis, config: RouterConfig, from: Position, to: Position) {
  await awaitSlot(routerLimit(redis, config), 'router');
  const { ROUTER_URL: url = '', ROUTER_KIND: kind } = config;
  return routers[kind].drivingSeconds(url, from, to).catch(unlessRefused(undefined));
}

import {
  addressQueueKey,
  addressSourceKey,
  centreOf,
  hasAnswer,
  type Position,
  parseCell,
  storeAddress,
} from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import { platformVersion } from '@odograph/runtime/platform-version';
import type { Redis } from '@odograph/runtime/redis';

const requestTimeoutMs = 5000;
const maxAnswerBytes = 64 * 1024;
const maxAddressLength = 200;
/** Cells are queued for this long after the last turn of a geocoder. */
const sourceSeconds = 60;

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the properties of the first feature of a GeoJSON response. */
function firstProperties(answer: Members): Members {
  const { features } = answer;
  return membersOf(membersOf(Array.isArray(features) ? features[0] : undefined)['properties']);
}

const joinTexts = (separator: string, ...texts: unknown[]): string => texts.map(textOf).filter(Boolean).join(separator);

/** The supported APIs: path and query of a reverse search, and how to read the address from the response. */
const kinds = {
  // https://github.com/komoot/photon, "Reverse geocode a coordinate"
  photon: {
    path: 'reverse',
    query: (lat: string, lon: string) => ({ lat, lon, limit: '1' }),
    read(answer: Members): string {
      const { name, street, housenumber, postcode, city, country } = firstProperties(answer);
      return joinTexts(', ', joinTexts(' ', street, housenumber) || name, joinTexts(' ', postcode, city), country);
    },
  },
  // https://nominatim.org/release-docs/latest/api/Reverse
  nominatim: {
    path: 'reverse',
    query: (lat: string, lon: string) => ({ lat, lon, format: 'jsonv2' }),
    read: (answer: Members): string => textOf(answer['display_name']),
  },
  // https://github.com/pelias/documentation, "Reverse geocoding"
  pelias: {
    path: 'v1/reverse',
    query: (lat: string, lon: string) => ({ 'point.lat': lat, 'point.lon': lon, size: '1' }),
    read: (answer: Members): string => textOf(firstProperties(answer)['label']),
  },
} as const;
type Kind = keyof typeof kinds;

/** Reduces untrusted text to one short line without control characters. */
const toLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, maxAddressLength);

/** Reads a JSON response. @throws Error for an unexpected status, size or format */
async function readAnswer(response: Response): Promise<Members> {
  if (!response.ok) throw new Error(`the geocoder responded with status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`the response of the geocoder exceeds ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return membersOf(JSON.parse(Buffer.concat(chunks).toString()));
}

interface GeocoderOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly metrics: Registry;
}

/**
 * Geocodes the queued cells (packages/database/addresses.ts), newest first, with the geocoder of GEOCODER_URL. All processes
 * share the rate limit GEOCODER_REQUESTS_PER_SECOND. A failed cell is dropped from the queue until it is requested again.
 * @returns a function that stops geocoding
 */
export async function startGeocoder({
  db,
  redis,
  config,
  logger,
  metrics,
}: GeocoderOptions): Promise<() => Promise<void>> {
  const { GEOCODER_URL: url, GEOCODER_KIND: kind, QUEUE_PREFIX: prefix } = config;
  if (url === undefined) return async () => undefined;
  const pauseMs = Math.ceil(1000 / config.GEOCODER_REQUESTS_PER_SECOND);
  const counter = new Counter({
    name: 'odograph_fleet_geocoder_failures_total',
    help: 'Requests to the geocoder that failed; their addresses are missing',
    labelNames: ['task'],
    registers: [metrics],
  });
  const failures = new BackgroundFailures({ geocoder: 'addresses are missing' }, logger, counter);
  const stopping = new AbortController();
  const announce = () => redis.set(addressSourceKey(prefix), kind, 'EX', sourceSeconds);
  const tick = async (): Promise<void> => {
    try {
      if ((await redis.set(`${prefix}:addresses:turn`, '1', 'PX', pauseMs, 'NX')) === null) return;
      await announce();
      const [wanted] = await redis.zpopmax(addressQueueKey(prefix));
      if (wanted === undefined) return;
      const cell = parseCell(wanted);
      if (await hasAnswer(db, cell)) return;
      const address = await askGeocoder(url, kind, centreOf(cell), stopping.signal);
      await storeAddress(db, cell, address || undefined);
      failures.succeeded('geocoder');
    } catch (error) {
      if (!stopping.signal.aborted) failures.failed('geocoder', error);
    }
  };
  await announce().catch(() => undefined);
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(tick);
  }, pauseMs);
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}

/** Requests the address of a position. @returns an empty string if there is none @throws Error if the request fails */
async function askGeocoder(
  url: string,
  kind: Kind,
  { latitude, longitude }: Position,
  stopping: AbortSignal,
): Promise<string> {
  const { path, query, read } = kinds[kind];
  const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
  for (const [name, value] of Object.entries(query(latitude.toFixed(4), longitude.toFixed(4)))) {
    target.searchParams.set(name, value);
  }
  const response = await fetch(target, {
    headers: { accept: 'application/json', 'user-agent': `Odograph/${platformVersion()}` },
    redirect: 'error',
    signal: AbortSignal.any([stopping, AbortSignal.timeout(requestTimeoutMs)]),
  });
  return toLine(read(await readAnswer(response)));
}

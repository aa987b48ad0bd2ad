import type { Position } from '@odograph/database/addresses';
import type { Config } from '@odograph/runtime/config';
import { platformVersion } from '@odograph/runtime/platform-version';
import type { Redis } from '@odograph/runtime/redis';

const requestTimeoutMs = 5000;
const maxAnswerBytes = 64 * 1024;
const maxAddressLength = 200;

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

type GeocoderConfig = Pick<Config, 'GEOCODER_URL' | 'GEOCODER_KIND' | 'GEOCODER_REQUESTS_PER_SECOND' | 'QUEUE_PREFIX'>;

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

/** Takes the next turn of all processes together, if it has come. @throws if Redis is unavailable */
export async function takeTurn(redis: Redis, config: GeocoderConfig): Promise<boolean> {
  const pauseMs = Math.ceil(1000 / config.GEOCODER_REQUESTS_PER_SECOND);
  return (await redis.set(`${config.QUEUE_PREFIX}:addresses:turn`, '1', 'PX', pauseMs, 'NX')) !== null;
}

/** Requests the address of a position. @returns undefined if there is none @throws Error if the request fails */
export async function askGeocoder(
  { GEOCODER_URL: url = '', GEOCODER_KIND: kind }: GeocoderConfig,
  { latitude, longitude }: Position,
  stopping: AbortSignal,
): Promise<string | undefined> {
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
  return toLine(read(await readAnswer(response))) || undefined;
}

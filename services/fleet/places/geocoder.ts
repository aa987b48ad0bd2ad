import type { Position } from '@odograph/database/addresses';
import type { Config } from '@odograph/runtime/config';
import { platformVersion } from '@odograph/runtime/platform-version';
import type { Redis } from '@odograph/runtime/redis';

const requestTimeoutMs = 5000;
const maxAnswerBytes = 64 * 1024;
const maxAddressLength = 200;
/** Places of a search. */
export const maxFound = 5;

type Members = Readonly<Record<string, unknown>>;
const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const joinTexts = (separator: string, ...texts: unknown[]): string => texts.map(textOf).filter(Boolean).join(separator);

/** A place that a geocoder found; the degrees may be anything. */
interface Found {
  readonly address: string;
  readonly latitude: unknown;
  readonly longitude: unknown;
}

/** Reads the features of a GeoJSON answer (RFC 7946). */
const featuresIn =
  (addressOf: (properties: Members) => string) =>
  (answer: unknown): Found[] => {
    const { features } = membersOf(answer);
    return (Array.isArray(features) ? features : []).map((feature: unknown) => {
      const { coordinates } = membersOf(membersOf(feature)['geometry']);
      const [longitude, latitude]: unknown[] = Array.isArray(coordinates) ? coordinates : [];
      return { address: addressOf(membersOf(membersOf(feature)['properties'])), latitude, longitude };
    });
  };

/** Reads the place of a reverse search, or the list of a search. */
const nominatimPlaces = (answer: unknown): Found[] =>
  [answer].flat().map((one: unknown) => {
    const { display_name: name, lat, lon } = membersOf(one);
    return { address: textOf(name), latitude: Number(lat), longitude: Number(lon) };
  });

function photonAddress({ name, street, housenumber, postcode, city, country }: Members): string {
  const house = joinTexts(' ', street, housenumber);
  return joinTexts(', ', house || name, joinTexts(' ', postcode, city), country);
}

/** The supported APIs: path and query of a request for the address of a position and of a search, and their answers. */
const kinds = {
  // https://github.com/komoot/photon, "Search API" and "Reverse geocode a coordinate"
  photon: {
    reverse: ['reverse', (lat: string, lon: string) => ({ lat, lon, limit: '1' }), featuresIn(photonAddress)],
    search: [
      'api',
      (q: string) => ({ q, limit: String(maxFound) }),
      featuresIn((properties) => {
        const [name, address] = [textOf(properties['name']), photonAddress(properties)];
        return address.startsWith(name) ? address : joinTexts(', ', name, address);
      }),
    ],
  },
  // https://nominatim.org/release-docs/latest/api/Reverse and …/Search
  nominatim: {
    reverse: ['reverse', (lat: string, lon: string) => ({ lat, lon, format: 'jsonv2' }), nominatimPlaces],
    search: ['search', (q: string) => ({ q, format: 'jsonv2', limit: String(maxFound) }), nominatimPlaces],
  },
  // https://github.com/pelias/documentation, "Reverse geocoding" and "Search"
  pelias: {
    reverse: [
      'v1/reverse',
      (lat: string, lon: string) => ({ 'point.lat': lat, 'point.lon': lon, size: '1' }),
      featuresIn(({ label }) => textOf(label)),
    ],
    search: [
      'v1/search',
      (text: string) => ({ text, size: String(maxFound) }),
      featuresIn(({ label }) => textOf(label)),
    ],
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
async function readAnswer(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`the geocoder responded with status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error(`the response of the geocoder exceeds ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function request(
  { GEOCODER_URL: url = '' }: GeocoderConfig,
  path: string,
  query: Readonly<Record<string, string>>,
  stopping?: AbortSignal,
): Promise<unknown> {
  const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  const response = await fetch(target, {
    headers: { accept: 'application/json', 'user-agent': `Odograph/${platformVersion()}` },
    redirect: 'error',
    signal: AbortSignal.any([...(stopping ? [stopping] : []), AbortSignal.timeout(requestTimeoutMs)]),
  });
  return readAnswer(response);
}

/** Takes the next turn of all processes together, if it has come. @throws if Redis is unavailable */
export async function takeTurn(redis: Redis, config: GeocoderConfig): Promise<boolean> {
  const pauseMs = Math.ceil(1000 / config.GEOCODER_REQUESTS_PER_SECOND);
  return (await redis.set(`${config.QUEUE_PREFIX}:addresses:turn`, '1', 'PX', pauseMs, 'NX')) !== null;
}

/** Requests the address of a position. @returns undefined if there is none @throws Error if the request fails */
export async function askGeocoder(
  config: GeocoderConfig,
  { latitude, longitude }: Position,
  stopping: AbortSignal,
): Promise<string | undefined> {
  const [path, query, read] = kinds[config.GEOCODER_KIND].reverse;
  const answer = await request(config, path, query(latitude.toFixed(4), longitude.toFixed(4)), stopping);
  return toLine(read(answer)[0]?.address ?? '') || undefined;
}

/** Searches places by a text, at most 5. @throws Error if the request fails */
export async function searchGeocoder(config: GeocoderConfig, text: string) {
  const [path, query, read] = kinds[config.GEOCODER_KIND].search;
  const answer = await request(config, path, query(text));
  return read(answer)
    .slice(0, maxFound)
    .flatMap(({ address, latitude, longitude }) => {
      const name = toLine(address);
      if (typeof latitude !== 'number' || typeof longitude !== 'number' || name === '') return [];
      return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [{ name, latitude, longitude }] : [];
    });
}

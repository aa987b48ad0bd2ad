import type { Position } from '@odograph/database/addresses';
import type { Config } from '@odograph/runtime/config';
import type { Redis } from '@odograph/runtime/redis';
import { elementsOf, type Members, membersOf, type RateLimit, requestUpstream, textOf } from '../common/upstream.ts';

const maxAnswerBytes = 64 * 1024;
const maxAddressLength = 200;
/** Maximum results of a search. */
export const maxFound = 5;

const joinTexts = (separator: string, ...texts: unknown[]): string => texts.map(textOf).filter(Boolean).join(separator);

/** A place returned by a geocoder; its coordinates are not validated. */
interface Found {
  readonly address: string;
  readonly latitude: unknown;
  readonly longitude: unknown;
}

/** Reads the features of a GeoJSON answer (RFC 7946). */
const featuresIn =
  (addressOf: (properties: Members) => string) =>
  (answer: unknown): Found[] => {
    return elementsOf(membersOf(answer)['features']).map((feature) => {
      const [longitude, latitude] = elementsOf(membersOf(membersOf(feature)['geometry'])['coordinates']);
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

/** The rate limit of the geocoder. */
export const geocoderLimit = (redis: Redis, config: GeocoderConfig): RateLimit => ({
  ...{ redis, key: `${config.QUEUE_PREFIX}:addresses:turn`, perSecond: config.GEOCODER_REQUESTS_PER_SECOND },
});

/** Requests the address of a position. @returns undefined if there is none @throws Error if the request fails */
export async function reverseGeocode(
  { GEOCODER_URL: url = '', GEOCODER_KIND: kind }: GeocoderConfig,
  { latitude, longitude }: Position,
  stopping: AbortSignal,
): Promise<string | undefined> {
  const [path, queryOf, read] = kinds[kind].reverse;
  const query = queryOf(latitude.toFixed(4), longitude.toFixed(4));
  const [found] = read(await requestUpstream({ url, path, query, maxAnswerBytes, stopping }));
  return toLine(found?.address ?? '') || undefined;
}

/** Searches places by text; returns at most 5. @throws Error if the request fails */
export async function searchGeocoder({ GEOCODER_URL: url = '', GEOCODER_KIND: kind }: GeocoderConfig, text: string) {
  const [path, queryOf, read] = kinds[kind].search;
  return read(await requestUpstream({ url, path, query: queryOf(text), maxAnswerBytes }))
    .slice(0, maxFound)
    .flatMap(({ address, latitude, longitude }) => {
      const name = toLine(address);
      if (typeof latitude !== 'number' || typeof longitude !== 'number' || name === '') return [];
      return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [{ name, latitude, longitude }] : [];
    });
}

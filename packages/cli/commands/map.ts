import { resolve } from 'node:path';
import { type Config, mapPath, mapSettingOf } from '@odograph/runtime/config';
import type { Bounds } from '../map/extract.ts';
import { type AdminApi, UsageFailure } from '../server/admin-api.ts';
import { command, flag, optional } from './command.ts';

const maxMercatorLatitude = 85.05;

/** @throws UsageFailure */
function parseBounds(text: string): Bounds {
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = numbers;
  const isArea = west >= -180 && west < east && east <= 180 && south >= -90 && south < north && north <= 90;
  if (numbers.length !== 4 || !isArea) {
    throw new UsageFailure('--bbox must be west,south,east,north in degrees, such as -5.2,41.3,9.6,51.1');
  }
  return [west, Math.max(south, -maxMercatorLatitude), east, Math.min(north, maxMercatorLatitude)];
}

/** @throws UsageFailure */
function parseZoom(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,2}$/.test(text) || Number(text) > 22)
    throw new UsageFailure('--max-zoom must be a whole number from 0 to 22');
  return Number(text);
}

/** @throws Error when no vehicle has a position */
async function findFleet(api: AdminApi): Promise<Bounds> {
  const { bbox } = (await api.get('/v1/x/vehicles/area')) as { bbox?: string };
  if (bbox === undefined) throw new Error('no vehicle has a position yet; give the area with --bbox');
  return parseBounds(bbox);
}

function warnOfOtherMap(config: Config): void {
  const name = mapSettingOf(config);
  if (name !== undefined) process.stderr.write(`${name} is set: the console shows that map until you unset it\n`);
}

/** Overwrites the progress line of a terminal. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** The map of the console. */
export const mapCommands = [
  command({
    name: 'map download',
    summary: 'download the street map of an area into DATA_DIR/map.pmtiles; run it again to resume',
    examples: ['map download --around-fleet', 'map download --bbox 9.4,47.0,9.7,47.3 --max-zoom 14'],
    options: {
      bbox: optional('area as west,south,east,north in degrees; disclosed to the map server'),
      'around-fleet': flag('the area of the latest positions, as the platform reports it'),
      from: optional('URL of a PMTiles archive; by default the newest Protomaps build'),
      'max-zoom': optional('highest zoom level, 0 to 22; by default, and at most, that of the archive'),
    },
    async run({ api, config }, { bbox, 'around-fleet': isAroundFleet, from, 'max-zoom': zoom }) {
      if ((bbox === undefined) === !isAroundFleet) throw new UsageFailure('give either --bbox or --around-fleet');
      if (from !== undefined && !/^https?:\/\//.test(from))
        throw new UsageFailure('--from must be an http or https URL');
      const maxZoom = parseZoom(zoom);
      const bounds = bbox === undefined ? await findFleet(api) : parseBounds(bbox);
      warnOfOtherMap(config);
      const { downloadMap } = await import('../map/download.ts');
      try {
        return await downloadMap(resolve(mapPath(config)), { bounds, maxZoom, from }, showProgress);
      } finally {
        showProgress('');
      }
    },
  }),
];

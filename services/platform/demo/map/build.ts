// Makes the streets of the demo from an extract of OpenStreetMap: the tiles that the console draws and the roads that the
// simulated vehicles follow. Needs the Debian packages tilemaker and osmium-tool.
//   node scripts/run.mjs services/platform/demo/map/build.ts liechtenstein.osm.pbf
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeArchive, type Tile } from '@odograph/map-tiles/archive';
import { encodeRoads, type RoadFeature } from './encode-roads.ts';

const folder = import.meta.dirname;
const attribution = '© OpenStreetMap contributors';

interface TilemakerConfig {
  layers: Record<string, object>;
  settings: { minzoom: number; maxzoom: number; bounding_box: [number, number, number, number] };
}

function readTiles(directory: string): Tile[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
    const [, z, x, y] = /^(\d+)\/(\d+)\/(\d+)\.pbf$/.exec(path) ?? [];
    return y === undefined
      ? []
      : [{ z: Number(z), x: Number(x), y: Number(y), data: readFileSync(join(directory, path)) }];
  });
}

const configPath = join(folder, 'tilemaker.json');
const { layers, settings } = JSON.parse(readFileSync(configPath, 'utf8')) as TilemakerConfig;

function buildTiles(extract: string, work: string): Buffer {
  const directory = join(work, 'tiles');
  const files = ['--input', extract, '--output', `${directory}/`];
  execFileSync('tilemaker', [...files, '--config', configPath, '--process', join(folder, 'profile.lua')]);
  const { minzoom: minZoom, maxzoom: maxZoom, bounding_box: bounds } = settings;
  // No tile has the land: the outlines of countries below it have.
  const vectorLayers = ['earth', ...Object.keys(layers)].map((id) => ({ id, fields: {} }));
  const metadata = { attribution, name: 'Streets of the demo', vector_layers: vectorLayers };
  return Buffer.concat(encodeArchive({ tileType: 1, minZoom, maxZoom, bounds, metadata }, readTiles(directory)));
}

/** Reads the roads for motor vehicles, with every node of each. */
function readRoads(extract: string, work: string): RoadFeature[] {
  const filtered = join(work, 'roads.osm.pbf');
  const classes = 'motorway,motorway_link,trunk,trunk_link,primary,primary_link,secondary,secondary_link,tertiary';
  const filter = `w/highway=${classes},tertiary_link,unclassified,residential,living_street,service`;
  const cut = join(work, 'cut.osm.pbf');
  execFileSync('osmium', ['extract', '--bbox', settings.bounding_box.join(','), extract, '-o', cut]);
  execFileSync('osmium', ['tags-filter', cut, filter, '-o', filtered]);
  const lines = execFileSync('osmium', ['export', '--geometry-types=linestring', '-f', 'geojsonseq', filtered], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  return lines
    .split('\u001e')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as RoadFeature);
}

const [extract = ''] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'odograph-demo-map-'));
writeFileSync(join(folder, 'streets.pmtiles'), buildTiles(extract, work));
writeFileSync(join(folder, 'roads.json'), `${JSON.stringify(encodeRoads(readRoads(extract, work), attribution))}\n`);
rmSync(work, { recursive: true });

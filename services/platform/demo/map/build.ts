// Makes the streets of the demo from an extract of OpenStreetMap: the tiles that the console draws and the roads that the
// simulated vehicles follow. Needs the Debian packages tilemaker and osmium-tool.
//   node scripts/run.mjs services/platform/demo/map/build.ts liechtenstein.osm.pbf
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeArchive, type Tile } from '@odograph/map-tiles/archive';
import type { RoadMap } from '@odograph/simulator/roads';

/** A road of OpenStreetMap as GeoJSON. */
interface RoadFeature {
  readonly geometry: { readonly coordinates: readonly (readonly [longitude: number, latitude: number])[] };
  readonly properties: Readonly<Record<string, string | undefined>>;
}

/** Speeds at which people drive where no limit is signed, km/h. */
const usualSpeeds: Readonly<Record<string, number>> = {
  ...{ motorway: 110, trunk: 90, primary: 70, secondary: 60, tertiary: 50 },
  ...{ unclassified: 45, residential: 30, living_street: 20, service: 15 },
};

function isOpen({ access, motor_vehicle: vehicles, service }: RoadFeature['properties']): boolean {
  return (
    !['no', 'private', 'forestry'].some((value) => value === access || value === vehicles) && service !== 'driveway'
  );
}

function speedOf({ highway = '', maxspeed = '' }: RoadFeature['properties']): number {
  return /^\d+$/.test(maxspeed) ? Number(maxspeed) : (usualSpeeds[highway.replace(/_link$/, '')] ?? 30);
}

/** Lists the nodes of the largest strongly connected component; a route to or from another node may not exist. */
function connectedNodes(edges: readonly (readonly [from: number, to: number])[]): Set<number> {
  const next = new Map<number, number[]>();
  const previous = new Map<number, number[]>();
  for (const [from, to] of edges) {
    for (const [lists, key, value] of [[next, from, to] as const, [previous, to, from] as const]) {
      const list = lists.get(key);
      if (list) list.push(value);
      else lists.set(key, [value]);
    }
  }
  const reach = (lists: ReadonlyMap<number, readonly number[]>, start: number): Set<number> => {
    const found = new Set([start]);
    // Iterating a set also yields the elements added meanwhile.
    for (const node of found) for (const other of lists.get(node) ?? []) found.add(other);
    return found;
  };
  const seen = new Set<number>();
  let largest = new Set<number>();
  for (const start of next.keys()) {
    if (seen.has(start)) continue;
    const before = reach(previous, start);
    const part = new Set([...reach(next, start)].filter((node) => before.has(node)));
    for (const node of part) seen.add(node);
    if (part.size > largest.size) largest = part;
  }
  return largest;
}

/** Builds the roads of the demo from those of OpenStreetMap: the ones that are open to cars and lead somewhere and back. */
function encodeRoads(features: readonly RoadFeature[], attribution: string): RoadMap {
  const indexes = new Map<string, number>();
  const positions: (readonly [number, number])[] = [];
  const indexOf = (position: readonly [number, number]): number => {
    const rounded = position.map((degrees) => Math.round(degrees * 1e5)) as [number, number];
    const key = rounded.join();
    const index = indexes.get(key) ?? positions.push(rounded) - 1;
    indexes.set(key, index);
    return index;
  };
  const all = features
    .filter(({ properties }) => isOpen(properties))
    .map(({ geometry, properties }) => ({
      nodes: geometry.coordinates.map(indexOf).filter((node, index, nodes) => node !== nodes[index - 1]),
      isOneWay: properties['oneway'] === 'yes' || properties['junction'] === 'roundabout',
      speedKmh: speedOf(properties),
      name: properties['name'] ?? properties['ref'],
    }));
  const connected = connectedNodes(
    all.flatMap(({ nodes, isOneWay }) =>
      nodes.slice(1).flatMap((to, index) => {
        const from = nodes[index] ?? to;
        return isOneWay ? [[from, to] as const] : [[from, to] as const, [to, from] as const];
      }),
    ),
  );
  const kept = all.filter(({ nodes }) => nodes.length > 1 && nodes.every((node) => connected.has(node)));
  const renumbered = new Map([...new Set(kept.flatMap(({ nodes }) => nodes))].map((node, index) => [node, index]));
  return {
    attribution,
    nodes: [...renumbered.keys()].flatMap((node) => positions[node] ?? []),
    roads: kept.map(({ nodes, isOneWay, name, speedKmh }) => ({
      ...(name !== undefined && { name }),
      speedKmh,
      ...(isOneWay && { oneWay: true }),
      nodes: nodes.map((node) => renumbered.get(node) ?? 0),
    })),
  };
}

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

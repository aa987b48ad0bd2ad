import { type FileHandle, open } from 'node:fs/promises';
import { VectorTile, type VectorTileFeature, type VectorTileLayer } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { type Header, PMTiles, type RangeResponse, type Source } from 'pmtiles';
import { vectorTiles } from './metadata.ts';

/** A named place of a map; decimal degrees. */
export interface MapPlace {
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** A position in the square of Web Mercator: from 0 in the northwest to 1 in the southeast. */
interface Point {
  readonly x: number;
  readonly y: number;
}

interface Locality extends Point {
  readonly name: string;
  /** Weight, from 0.25 for a hamlet to 4 for a city. */
  readonly size: number;
}

interface NearLocality {
  readonly locality: Locality;
  /** In the unit of Point. */
  readonly distance: number;
}

interface TileId extends Point {
  readonly z: number;
}

/** Maximum distance of a position from the road that names it. */
const maxRoadMetres = 50;
/** Minimum distance that is appended to the name of a locality. */
const minShownKm = 3;
/** Roads for motor vehicles (Protomaps basemap, layer "roads"). */
const roadKinds: readonly unknown[] = ['highway', 'major_road', 'minor_road'];
/** Weights of localities: a city names positions at a greater distance than a hamlet does. */
const sizes: Readonly<Record<string, number>> = { city: 4, town: 2, village: 1 };
const equatorMetres = 40_075_017;
/** Zoom at which the search for a locality starts, in tiles 3 km wide at 48 degrees; continues in larger tiles. */
const localityZoom = 13;
const maxCachedTiles = 2000;
/** Maximum tiles read to list all localities. */
const maxListedTiles = 400;

const toPoint = (latitude: number, longitude: number): Point => ({
  x: (longitude + 180) / 360,
  y: (1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2,
});
const toPlace = ({ name, x, y }: Locality): MapPlace => ({
  name,
  latitude: (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI,
  longitude: x * 360 - 180,
});
const tileOf = ({ x, y }: Point, z: number): TileId => ({ z, x: Math.floor(x * 2 ** z), y: Math.floor(y * 2 ** z) });

/** Folds case and diacritics, so that "Zurich" finds "Zürich". */
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** Computes the distance to a line. */
function distanceTo(point: Point, line: readonly Point[]): number {
  let nearest = Number.POSITIVE_INFINITY;
  let from = line[0] ?? point;
  for (const to of line) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const squared = dx * dx + dy * dy;
    const along = squared === 0 ? 0 : ((point.x - from.x) * dx + (point.y - from.y) * dy) / squared;
    const share = Math.min(1, Math.max(0, along));
    nearest = Math.min(nearest, Math.hypot(from.x + share * dx - point.x, from.y + share * dy - point.y));
    from = to;
  }
  return nearest;
}

function* featuresOf(layer: VectorTileLayer | undefined): Generator<VectorTileFeature> {
  for (let index = 0; layer !== undefined && index < layer.length; index += 1) yield layer.feature(index);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

class FileSource implements Source {
  readonly #file: FileHandle;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  getKey(): string {
    return 'file';
  }

  async getBytes(offset: number, length: number): Promise<RangeResponse> {
    const { buffer, bytesRead } = await this.#file.read(new Uint8Array(length), 0, length, offset);
    return { data: buffer.buffer.slice(0, bytesRead) };
  }
}

/**
 * Reads the names of roads and localities from a PMTiles archive (https://docs.protomaps.com/basemaps/layers, version 4).
 * Reads the version of the file that was opened, even after the file is replaced.
 */
export class MapNames {
  readonly #file: FileHandle;
  readonly #archive: PMTiles;
  readonly #header: Header;
  readonly #localities = new Map<string, readonly Locality[]>();
  #all: Promise<readonly Locality[]> | undefined;

  private constructor(file: FileHandle, archive: PMTiles, header: Header) {
    this.#file = file;
    this.#archive = archive;
    this.#header = header;
  }

  /** Opens an archive. @returns undefined if it has no vector tiles @throws if it cannot be read */
  static async open(path: string): Promise<MapNames | undefined> {
    const file = await open(path);
    try {
      const archive = new PMTiles(new FileSource(file));
      const header = await archive.getHeader();
      if (header.tileType === vectorTiles) return new MapNames(file, archive, header);
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    return undefined;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** Names a position: a road within 50 m and the nearest locality, from 3 km on with its distance; undefined for none. */
  async nameOf(latitude: number, longitude: number): Promise<string | undefined> {
    const point = toPoint(latitude, longitude);
    const metresPerUnit = equatorMetres * Math.cos((latitude * Math.PI) / 180);
    const road = await this.#findRoad(point, maxRoadMetres / metresPerUnit);
    const found = await this.#findLocality(point);
    const km = found === undefined ? 0 : Math.round((found.distance * metresPerUnit) / 1000);
    const locality = km >= minShownKm ? `${found?.locality.name} (${km} km)` : found?.locality.name;
    return [road, locality].filter((name) => name !== undefined).join(', ') || undefined;
  }

  /** Finds localities whose name contains a text; names that begin with it first, then the larger places. */
  async find(text: string, limit: number): Promise<MapPlace[]> {
    this.#all ??= this.#listLocalities().catch((error: unknown) => {
      this.#all = undefined;
      throw error;
    });
    const wanted = fold(text);
    const found = (await this.#all).flatMap((locality) => {
      const index = fold(locality.name).indexOf(wanted);
      return index < 0 ? [] : [{ locality, isStart: index === 0 }];
    });
    found.sort((one, other) => Number(other.isStart) - Number(one.isStart) || other.locality.size - one.locality.size);
    return found.slice(0, limit).map(({ locality }) => toPlace(locality));
  }

  /** Lists the localities of the largest zoom at which at most 400 tiles cover the archive. */
  async #listLocalities(): Promise<readonly Locality[]> {
    const { minZoom, maxZoom, minLon, minLat, maxLon, maxLat } = this.#header;
    const [northWest, southEast] = [toPoint(maxLat, minLon), toPoint(minLat, maxLon)];
    const size = (z: number) => {
      const [first, last] = [tileOf(northWest, z), tileOf(southEast, z)];
      return (last.x - first.x + 1) * (last.y - first.y + 1);
    };
    let z = Math.min(maxZoom, localityZoom);
    while (z > minZoom && size(z) > maxListedTiles) z -= 1;
    const [first, last] = [tileOf(northWest, z), tileOf(southEast, z)];
    const all = new Map<string, Locality>();
    for (let { x } = first; x <= last.x; x += 1) {
      for (let { y } = first; y <= last.y; y += 1) {
        // Adjacent tiles share the localities near their edge.
        for (const one of await this.#localitiesOf({ z, x, y })) {
          all.set(`${one.name} ${one.x.toFixed(4)} ${one.y.toFixed(4)}`, one);
        }
      }
    }
    return [...all.values()];
  }

  async #findRoad(point: Point, reach: number): Promise<string | undefined> {
    const tile = tileOf(point, this.#header.maxZoom);
    let nearest: { readonly name: string; readonly distance: number } | undefined;
    for (const feature of featuresOf((await this.#readTile(tile))?.layers['roads'])) {
      const { kind, name, ref } = feature.properties;
      const shown = textOf(name) ?? textOf(ref);
      if (shown === undefined || !roadKinds.includes(kind)) continue;
      for (const line of feature.loadGeometry()) {
        const points = line.map((one) => placeIn(tile, feature.extent, one));
        const distance = distanceTo(point, points);
        if (distance <= (nearest?.distance ?? reach)) nearest = { name: shown, distance };
      }
    }
    return nearest?.name;
  }

  /** Searches the tiles around a position, then larger ones, until a locality is within the width of a tile. */
  async #findLocality(point: Point): Promise<NearLocality | undefined> {
    const { minZoom, maxZoom } = this.#header;
    for (let z = Math.min(maxZoom, localityZoom); z >= minZoom; z -= 2) {
      const nearest = await this.#findLocalityAround(point, z);
      if (nearest !== undefined) return nearest;
    }
    return undefined;
  }

  /** Finds the locality within the width of a tile that is nearest relative to its weight. */
  async #findLocalityAround(point: Point, z: number): Promise<NearLocality | undefined> {
    const { x, y } = tileOf(point, z);
    const tiles = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => ({ z, x: x + dx, y: y + dy })));
    let nearest: NearLocality | undefined;
    for (const tile of tiles) {
      for (const locality of await this.#localitiesOf(tile)) {
        const distance = Math.hypot(locality.x - point.x, locality.y - point.y);
        const isNearer = !nearest || distance / locality.size < nearest.distance / nearest.locality.size;
        if (isNearer && distance < 2 ** -z) nearest = { locality, distance };
      }
    }
    return nearest;
  }

  async #localitiesOf(tile: TileId): Promise<readonly Locality[]> {
    const key = `${tile.z}/${tile.x}/${tile.y}`;
    const known = this.#localities.get(key);
    if (known !== undefined) return known;
    const found: Locality[] = [];
    for (const feature of featuresOf((await this.#readTile(tile))?.layers['places'])) {
      const { kind, kind_detail: size, name } = feature.properties;
      const [shown, point] = [textOf(name), feature.loadGeometry()[0]?.[0]];
      if (kind !== 'locality' || shown === undefined || point === undefined) continue;
      found.push({ name: shown, size: sizes[String(size)] ?? 0.25, ...placeIn(tile, feature.extent, point) });
    }
    const [oldest] = this.#localities.keys();
    if (this.#localities.size >= maxCachedTiles && oldest !== undefined) this.#localities.delete(oldest);
    this.#localities.set(key, found);
    return found;
  }

  async #readTile({ z, x, y }: TileId): Promise<VectorTile | undefined> {
    const tiles = 2 ** z;
    if (y < 0 || y >= tiles) return undefined;
    const read = await this.#archive.getZxy(z, (x + tiles) % tiles, y);
    return read && new VectorTile(new PbfReader(new Uint8Array(read.data)));
  }
}

/** Converts a point in a tile to a position on the map. */
const placeIn = ({ z, x, y }: TileId, extent: number, point: Point): Point => ({
  x: (x + point.x / extent) / 2 ** z,
  y: (y + point.y / extent) / 2 ** z,
});

import { invalidParameter } from '@odograph/contracts/failures';

/** A point in decimal degrees, WGS 84. */
export interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** A part of the map in decimal degrees; one whose `west` is greater than its `east` crosses the 180th meridian. */
export interface Area {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

const maxLongitude = 540;

/** Brings a longitude into [-180, 180]. */
const wrapped = (longitude: number): number =>
  Math.abs(longitude) <= 180 ? longitude : ((((longitude + 180) % 360) + 360) % 360) - 180;

/**
 * Parses `west,south,east,north`. Longitudes up to ±540 are accepted, since maps that repeat the world count on.
 * @throws Failure INVALID_PARAMETER
 */
export function parseArea(text: string): Area {
  const numbers = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = numbers;
  const areLongitudes = [west, east].every((longitude) => Math.abs(longitude) <= maxLongitude);
  if (numbers.length !== 4 || !areLongitudes || !(south >= -90 && south <= north && north <= 90)) {
    throw invalidParameter('bbox', 'must be west,south,east,north in decimal degrees, south not above north');
  }
  if (east - west >= 360) return { west: -180, south, east: 180, north };
  return { west: wrapped(west), south, east: wrapped(east), north };
}

/** Degrees of longitude that an area spans. */
const widthOf = ({ west, east }: Area): number => (west <= east ? east - west : east - west + 360);

/** Whether a point is in an area or on its border. The 180th meridian has two longitudes. */
export function contains({ west, south, east, north }: Area, { latitude, longitude }: Point): boolean {
  if (latitude < south || latitude > north) return false;
  return isBetween(west, longitude, east) || (Math.abs(longitude) === 180 && isBetween(west, -longitude, east));
}

function isBetween(west: number, longitude: number, east: number): boolean {
  return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east;
}

/** Cells across a tile of the map of 512 pixels: a cell is 64 pixels wide. */
const cellLevels = 3;
/** An area has at most 64 cells across, whatever the zoom. */
const maxLevelsAcross = 6;
const maxLevel = 24;
/** The latitude at which the Web Mercator projection of maps ends. */
const mercatorLatitude = 85.051_128;

const worldArea: Area = { west: -180, south: -90, east: 180, north: 90 };

/** A grid of cells on the map: 2^level cells around the world in each direction, in Web Mercator. */
export class Cells {
  readonly #across: number;

  /** @param zoom of the map; without it, that at which the area is one tile wide */
  constructor(area: Area = worldArea, zoom?: number) {
    const ofArea = Math.floor(Math.log2(360 / Math.max(widthOf(area), 360 / 2 ** maxLevel)));
    const level = Math.min(Math.floor(zoom ?? ofArea) + cellLevels, ofArea + maxLevelsAcross, maxLevel);
    this.#across = 2 ** level;
  }

  /** Numbers the cell of a point. */
  cellOf({ latitude, longitude }: Point): number {
    const radians = (Math.max(-mercatorLatitude, Math.min(mercatorLatitude, latitude)) * Math.PI) / 180;
    const y = (1 - Math.asinh(Math.tan(radians)) / Math.PI) / 2;
    return this.#clamp(y) * this.#across + (this.#clamp((longitude + 180) / 360) % this.#across);
  }

  /** Returns the centre of a cell, rounded to 0.1 m. */
  centreOf(cell: number): Point {
    const y = (Math.floor(cell / this.#across) + 0.5) / this.#across;
    const x = ((cell % this.#across) + 0.5) / this.#across;
    const rounded = (degrees: number) => Math.round(degrees * 1e6) / 1e6;
    const latitude = (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;
    return { latitude: rounded(latitude), longitude: rounded(x * 360 - 180) };
  }

  #clamp(share: number): number {
    return Math.max(0, Math.min(this.#across - 1, Math.floor(share * this.#across)));
  }
}

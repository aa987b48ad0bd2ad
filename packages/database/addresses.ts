import { setTimeout as delay } from 'node:timers/promises';
import { type GeofenceShape, locateBy } from '@odograph/contracts/geofences';
import type { Config } from '@odograph/runtime/config';
import type { Redis } from '@odograph/runtime/redis';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** A position, decimal degrees. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** A position of a vehicle; never one from a privacy interval. */
export interface VehiclePosition extends Position {
  readonly vehicleId: string | number;
}

const cellsPerDegree = 10_000;
/** Distance within which a vehicle is at a parking spot. */
const spotMetres = 50;
/** Maximum cells of one request, and in the queue. */
const maxCells = 10_000;
/** Maximum wait of a report for missing addresses. */
export const maxReportWaitMs = 10_000;
const pollMs = 250;

/** A place of an application, rounded to ten-thousandths of a degree. */
export interface Cell {
  readonly applicationId: number;
  readonly latitudeCell: number;
  readonly longitudeCell: number;
}

const toCell = (degrees: number): number => Math.round(degrees * cellsPerDegree);

/** Returns the centre of a cell. */
export const centreOf = ({ latitudeCell, longitudeCell }: Cell): Position => ({
  latitude: latitudeCell / cellsPerDegree,
  longitude: longitudeCell / cellsPerDegree,
});

/** Formats a cell as a member of the queue. */
const writeCell = ({ applicationId, latitudeCell, longitudeCell }: Cell) =>
  `${applicationId},${latitudeCell},${longitudeCell}`;

/** Parses a member of the queue. */
export function parseCell(text: string): Cell {
  const [applicationId = 0, latitudeCell = 0, longitudeCell = 0] = text.split(',').map(Number);
  return { applicationId, latitudeCell, longitudeCell };
}

/** Returns the key of the sorted set of cells to name, scored by the time of the last request. */
export const addressQueueKey = (prefix: string): string => `${prefix}:addresses:wanted`;

/** Returns the key that exists while a process names cells of the queue. */
export const addressSourceKey = (prefix: string): string => `${prefix}:addresses:source`;

/** Finds the application of each vehicle. */
async function findApplications(db: Database, vehicleIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; applicationId: number }>`
    select id::text, application_id as "applicationId" from vehicle where id = any (${[...vehicleIds]}::integer[])`.execute(
    db,
  );
  return new Map(rows.map(({ id, applicationId }) => [id, applicationId]));
}

interface OwnPlace {
  readonly applicationId: number;
  readonly name: string;
  readonly shape: GeofenceShape;
}

/** Reads the parking spots and geofences of applications, except corridors, smallest first. */
async function readOwnPlaces(db: Database, applicationIds: readonly number[]): Promise<OwnPlace[]> {
  const { rows } = await sql<OwnPlace>`
    with place as (
      select application_id, name, 0 as size, jsonb_build_object('type', 'Point',
        'coordinates', jsonb_build_array(longitude, latitude), 'radiusMetres', ${spotMetres}::integer) as shape
      from parking where latitude is not null
      union all
      select application_id, name, coalesce(radius_metres, 1000000),
        jsonb_strip_nulls(geometry || jsonb_build_object('radiusMetres', radius_metres))
      from geofence where width_metres is null)
    select application_id as "applicationId", name, shape from place
    where application_id = any (${[...applicationIds]}::integer[]) order by size, name`.execute(db);
  return rows;
}

interface StoredAddress {
  readonly address: string | null;
  /** Whether no lookup is needed: the address is from the current source and not stale. */
  readonly isKnown: boolean;
}

/** A geocoder replaces names of the map; without one, they are read again after a week, from a map that may be newer. */
type SourceConfig = Pick<Config, 'GEOCODER_URL'>;

/** Reads the stored address of each cell in order. */
async function readStored(
  db: Database,
  cells: readonly Cell[],
  { GEOCODER_URL: url }: SourceConfig,
): Promise<StoredAddress[]> {
  const column = (name: keyof Cell) => sql`${cells.map((cell) => cell[name])}::integer[]`;
  const { rows } = await sql<StoredAddress>`
    select place_address.address, coalesce(not from_map or ${url === undefined} and answered_at > now() - interval '7 days',
      false) as "isKnown"
    from unnest(${column('applicationId')}, ${column('latitudeCell')}, ${column('longitudeCell')})
      with ordinality as wanted (application_id, latitude_cell, longitude_cell, rank)
    left join place_address using (application_id, latitude_cell, longitude_cell) order by rank`.execute(db);
  return rows;
}

/**
 * Finds addresses of vehicle positions: the name of a parking spot or geofence, else the address from a geocoder or the map.
 */
export class Addresses {
  readonly #redis: Redis | undefined;
  readonly #config: SourceConfig & Pick<Config, 'QUEUE_PREFIX'>;

  /** Without Redis, missing addresses are not looked up. */
  constructor(redis?: Redis, config: SourceConfig & Pick<Config, 'QUEUE_PREFIX'> = { QUEUE_PREFIX: '' }) {
    this.#redis = redis;
    this.#config = config;
  }

  /**
   * Finds the addresses of positions, of at most 10,000 distinct cells. Missing ones are queued.
   * @param waitMs maximum wait for missing addresses; without it, a later call returns them
   * @returns addresses in the order of the positions; undefined for an unknown one
   */
  async find(db: Database, positions: readonly VehiclePosition[], waitMs = 0): Promise<(string | undefined)[]> {
    if (positions.length === 0) return [];
    const owners = await findApplications(db, [...new Set(positions.map(({ vehicleId }) => String(vehicleId)))]);
    const keys = positions.map(({ vehicleId, latitude, longitude }) => {
      const applicationId = owners.get(String(vehicleId)) ?? 0;
      return writeCell({ applicationId, latitudeCell: toCell(latitude), longitudeCell: toCell(longitude) });
    });
    const cells = [...new Set(keys)].slice(0, maxCells).map(parseCell);
    const found = await this.#findOwn(db, cells);
    let missing = cells.filter((cell) => !found.has(writeCell(cell)));
    let requested: Promise<boolean> | undefined;
    for (const endMs = performance.now() + waitMs; missing.length > 0; await delay(pollMs)) {
      const stored = await readStored(db, missing, this.#config);
      for (const [index, cell] of missing.entries()) {
        const address = stored[index]?.address;
        if (address) found.set(writeCell(cell), address);
      }
      missing = missing.filter((_, index) => stored[index]?.isKnown !== true);
      requested ??= this.#request(missing);
      // A snapshot must not wait for Redis.
      if (performance.now() + pollMs > endMs || !(await requested)) break;
    }
    return keys.map((key) => found.get(key));
  }

  /** Adds the member `address` to positions whose address is known; undefined positions are skipped. */
  async addTo(db: Database, positions: readonly (readonly [vehicleId: string | number, Position | undefined])[]) {
    const known = positions.flatMap(([vehicleId, position]) => (position ? [{ vehicleId, position }] : []));
    const found = await this.find(
      db,
      known.map(({ vehicleId, position }) => ({ ...position, vehicleId })),
    );
    for (const [index, { position }] of known.entries()) {
      const address = found[index];
      if (address !== undefined) Object.assign(position, { address });
    }
  }

  async #findOwn(db: Database, cells: readonly Cell[]): Promise<Map<string, string>> {
    const places = await readOwnPlaces(db, [...new Set(cells.map(({ applicationId }) => applicationId))]);
    const located = places.map(({ shape, ...place }) => ({ ...place, locate: locateBy(shape, 0) }));
    const found = cells.flatMap((cell): [string, string][] => {
      const { latitude, longitude } = centreOf(cell);
      const place = located.find(
        ({ applicationId, locate }) => applicationId === cell.applicationId && locate(latitude, longitude) === 'inside',
      );
      return place ? [[writeCell(cell), place.name]] : [];
    });
    return new Map(found);
  }

  /**
   * Queues cells and drops the oldest beyond the limit. A Redis failure only delays addresses.
   * @returns false if no process names cells
   */
  async #request(cells: readonly Cell[]): Promise<boolean> {
    if (this.#redis === undefined || cells.length === 0) return false;
    const { QUEUE_PREFIX: prefix } = this.#config;
    const key = addressQueueKey(prefix);
    try {
      if ((await this.#redis.exists(addressSourceKey(prefix))) === 0) return false;
      const members = cells.flatMap((cell) => [Date.now(), writeCell(cell)]);
      await this.#redis
        .multi()
        .zadd(key, ...members)
        .zremrangebyrank(key, 0, -maxCells - 1)
        .exec();
      return true;
    } catch {
      return false;
    }
  }
}

/** Formats a place for display: its address, else its coordinates. */
export const describePlace = ({ latitude, longitude }: Position, address: string | undefined): string =>
  address ?? `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;

/** Tests whether a cell is named; it may be queued again while it is looked up. */
export async function isNamed(db: Database, cell: Cell, config: SourceConfig): Promise<boolean> {
  const [stored] = await readStored(db, [cell], config);
  return stored?.isKnown === true;
}

/**
 * Stores the address of a cell. Ignores cells of applications that are deleted, or are being moved: `purge` deletes their
 * addresses first, and cells may be queued for hours.
 * @param address undefined if there is none
 */
export async function storeAddress(
  db: Database,
  cell: Cell,
  address: string | undefined,
  isFromMap = false,
): Promise<void> {
  const { applicationId, latitudeCell, longitudeCell } = cell;
  await sql`insert into place_address (application_id, latitude_cell, longitude_cell, address, from_map)
    select id, ${latitudeCell}, ${longitudeCell}, ${address ?? null}, ${isFromMap} from application
    where id = ${applicationId} and deleted_at is null and moving_since is null
    on conflict (application_id, latitude_cell, longitude_cell)
    do update set address = excluded.address, from_map = excluded.from_map, answered_at = excluded.answered_at`.execute(
    db,
  );
}

import { type GeofenceShape, locateBy } from '@odograph/contracts/geofences';
import type { Config } from '@odograph/runtime/config';
import type { Redis } from '@odograph/runtime/redis';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** A position of a vehicle, decimal degrees; never one from a privacy interval. */
export interface VehiclePosition {
  readonly vehicleId: string | number;
  readonly latitude: number;
  readonly longitude: number;
}

const cellsPerDegree = 10_000;
type Cell = readonly [latitude: number, longitude: number];
/** Distance within which a vehicle is at a parking spot. */
const spotMetres = 50;
const maxQueuedCells = 10_000;

/** Returns the key of the sorted set of cells to geocode, scored by the time of the last request. */
export const geocodingQueueKey = (prefix: string): string => `${prefix}:addresses:wanted`;

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

/** Finds addresses of vehicle positions: the name of a parking spot or geofence, else the address from a geocoder. */
export class Addresses {
  readonly #redis: Redis | undefined;
  readonly #config: Pick<Config, 'GEOCODER_URL' | 'QUEUE_PREFIX'> | undefined;

  /** Without Redis, the geocoder is not asked for addresses that are missing. */
  constructor(redis?: Redis, config?: Pick<Config, 'GEOCODER_URL' | 'QUEUE_PREFIX'>) {
    this.#redis = redis;
    this.#config = config;
  }

  /**
   * Finds the stored address of each position. Missing addresses are queued for the geocoder, for a later call.
   * @returns addresses in the order of the positions; undefined for an unknown one
   */
  async find(db: Database, positions: readonly VehiclePosition[]): Promise<(string | undefined)[]> {
    if (positions.length === 0) return [];
    const own = await this.#findOwn(db, positions);
    const cells = positions.map(({ latitude, longitude }): Cell => [toCell(latitude), toCell(longitude)]);
    const { rows } = await sql<{ address: string | null; isKnown: boolean }>`
      select place_address.address, place_address.answered_at is not null as "isKnown"
      from unnest(${cells.map(([latitude]) => latitude)}::integer[], ${cells.map(([, longitude]) => longitude)}::integer[])
        with ordinality as wanted (latitude_cell, longitude_cell, rank)
      left join place_address using (latitude_cell, longitude_cell) order by rank`.execute(db);
    const missing = cells.filter((_, index) => own[index] === undefined && rows[index]?.isKnown === false);
    await this.#enqueue(missing);
    return rows.map(({ address }, index) => own[index] ?? address ?? undefined);
  }

  async #findOwn(db: Database, positions: readonly VehiclePosition[]): Promise<(string | undefined)[]> {
    const owners = await findApplications(db, [...new Set(positions.map(({ vehicleId }) => String(vehicleId)))]);
    const places = await readOwnPlaces(db, [...new Set(owners.values())]);
    const located = places.map(({ shape, ...place }) => ({ ...place, locate: locateBy(shape, 0) }));
    return positions.map(({ vehicleId, latitude, longitude }) => {
      const owner = owners.get(String(vehicleId));
      return located.find((one) => one.applicationId === owner && one.locate(latitude, longitude) === 'inside')?.name;
    });
  }

  /** Queues cells for the geocoder and drops the oldest beyond the limit. A Redis failure only delays addresses. */
  async #enqueue(cells: readonly Cell[]): Promise<void> {
    if (this.#redis === undefined || this.#config?.GEOCODER_URL === undefined || cells.length === 0) return;
    const key = geocodingQueueKey(this.#config.QUEUE_PREFIX);
    const members = cells.slice(0, maxQueuedCells).flatMap((cell) => [Date.now(), cell.join(',')]);
    await this.#redis
      .multi()
      .zadd(key, ...members)
      .zremrangebyrank(key, 0, -maxQueuedCells - 1)
      .exec()
      .catch(() => undefined);
  }
}

const toCell = (degrees: number): number => Math.round(degrees * cellsPerDegree);

/** Returns the centre of a cell in decimal degrees. */
export const fromCell = (cell: number): number => cell / cellsPerDegree;

/** Tests whether a cell is already geocoded; it may be queued again while its request is in flight. */
export async function hasAnswer(db: Database, [latitudeCell, longitudeCell]: Cell): Promise<boolean> {
  const { rows } = await sql`select from place_address
    where latitude_cell = ${latitudeCell} and longitude_cell = ${longitudeCell}`.execute(db);
  return rows.length > 0;
}

/** Stores the address of a cell, and deletes addresses older than a year. @param address undefined if there is none */
export async function storeAddress(
  db: Database,
  [latitudeCell, longitudeCell]: Cell,
  address: string | undefined,
): Promise<void> {
  await sql`delete from place_address where answered_at < now() - interval '1 year'`.execute(db);
  await sql`insert into place_address (latitude_cell, longitude_cell, address)
    values (${latitudeCell}, ${longitudeCell}, ${address ?? null})
    on conflict (latitude_cell, longitude_cell)
    do update set address = excluded.address, answered_at = excluded.answered_at`.execute(db);
}

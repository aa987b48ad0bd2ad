import { createHash } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import type { GbfsSettings } from '@odograph/contracts/gbfs';
import type { GeofenceShape } from '@odograph/contracts/geofences';
import { inSnapshot } from '@odograph/database/batches';
import type { Tables } from '@odograph/database/tables';
import type { Kysely } from 'kysely';
import {
  findShapes,
  findSpots,
  findSystem,
  findVehicles,
  type GbfsSystem,
  type Spot,
  type SystemVehicle,
} from './queries.ts';
import { type PublishedVehicle, publish, writeMultiPolygon } from './rules.ts';

/** The files of GBFS 3.0 that a system can have. */
export const feedNames = [
  ...['gbfs', 'gbfs_versions', 'system_information', 'vehicle_types', 'vehicle_status', 'station_information'],
  ...['station_status', 'system_pricing_plans', 'geofencing_zones'],
] as const;
export type FeedName = (typeof feedNames)[number];

/** A feed as it is answered. */
interface Feed {
  readonly text: string;
  readonly etag: string;
  readonly ttlSeconds: number;
}

/** Data of one snapshot from which the feeds of a system are written. */
interface SystemContent {
  readonly system: GbfsSystem;
  readonly vehicles: readonly SystemVehicle[];
  readonly spots: readonly Spot[];
  readonly shapes: ReadonlyMap<string, GeofenceShape>;
  readonly readAt: Date;
}

const version = '3.0';
const standardTtlSeconds = 30;
/** For feeds that change with the settings. */
const settingsTtlSeconds = 300;
const liveFeeds: ReadonlySet<string> = new Set(['vehicle_status', 'station_status']);
/** Feeds with parking spots and geofences, which change without the settings. */
const tableFeeds: ReadonlySet<string> = new Set(['station_information', 'geofencing_zones']);

/** Returns the seconds between two computations of a system. */
const ttlOf = ({ settings }: GbfsSystem): number => settings.ttlSeconds ?? standardTtlSeconds;

const localize = ({ system }: GbfsSettings, text: string) => system.languages.map((language) => ({ text, language }));

function vehicleTypes({ vehicleTypes: types }: GbfsSettings): object {
  // JSON leaves out members that are undefined.
  return { vehicle_types: types.map((type) => ({ ...type, match: undefined, rangeIfUnknownMeters: undefined })) };
}

function vehicleStatus(vehicles: readonly PublishedVehicle[]): object {
  // The order of the vehicles' numbers would tell which new id is which old one.
  const byId = [...vehicles].sort((one, other) => (one.vehicle_id < other.vehicle_id ? -1 : 1));
  return { vehicles: byId };
}

function stationInformation({ system: { settings }, spots }: SystemContent): object {
  const stations = spots.map(({ shortId, name, address, zipcode, latitude, longitude }) => ({
    ...{ station_id: shortId, name: localize(settings, name), lat: latitude, lon: longitude },
    ...{ address, post_code: zipcode, is_virtual_station: true },
  }));
  return { stations };
}

function stationStatus({ system: { settings }, spots, readAt }: SystemContent, vehicles: readonly PublishedVehicle[]) {
  const atStation = new Map<string, PublishedVehicle[]>(spots.map(({ shortId }) => [shortId, []]));
  for (const vehicle of vehicles) atStation.get(vehicle.station_id ?? '')?.push(vehicle);
  const stations = [...atStation].map(([shortId, here]) => {
    const countOf = (typeId: string) => here.filter((vehicle) => vehicle.vehicle_type_id === typeId).length;
    return {
      ...{ station_id: shortId, num_vehicles_available: here.length },
      vehicle_types_available: settings.vehicleTypes.map(({ vehicle_type_id }) => ({
        vehicle_type_id,
        count: countOf(vehicle_type_id),
      })),
      ...{ is_installed: true, is_renting: true, is_returning: true, last_reported: readAt.toISOString() },
    };
  });
  return { stations };
}

function geofencingZones({ system: { settings }, shapes }: SystemContent): object | undefined {
  if (!settings.geofencing) return undefined;
  const features = settings.geofencing.zones.flatMap(({ geofenceId, ...properties }) => {
    const shape = shapes.get(geofenceId.toLowerCase());
    return shape ? [{ type: 'Feature', geometry: writeMultiPolygon(shape), properties }] : [];
  });
  const { globalRules } = settings.geofencing;
  return { geofencing_zones: { type: 'FeatureCollection', features }, global_rules: globalRules };
}

function dataOf(content: SystemContent): Map<FeedName, object> {
  const { system, vehicles, spots } = content;
  const { settings } = system;
  const spotsById = new Map(spots.map((spot) => [spot.shortId, spot]));
  const published = vehicles
    .map((vehicle) => publish(system, vehicle, spotsById))
    .filter((vehicle) => typeof vehicle !== 'string');
  const zones = geofencingZones(content);
  const data = new Map<FeedName, object>([
    ['system_information', settings.system],
    ['vehicle_types', vehicleTypes(settings)],
    ['vehicle_status', vehicleStatus(published)],
    ...(settings.stations === 'none'
      ? []
      : ([
          ['station_information', stationInformation(content)],
          ['station_status', stationStatus(content, published)],
        ] as const)),
    ...(settings.pricingPlans?.length ? ([['system_pricing_plans', { plans: settings.pricingPlans }]] as const) : []),
    ...(zones ? ([['geofencing_zones', zones]] as const) : []),
  ]);
  const root = `${settings.publicUrl.replace(/\/+$/, '')}/v1/x/gbfs/${settings.system.system_id}`;
  data.set('gbfs_versions', { versions: [{ version, url: `${root}/gbfs.json` }] });
  data.set('gbfs', { feeds: [...data.keys()].map((name) => ({ name, url: `${root}/${name}.json` })) });
  return data;
}

const tagOf = (content: string) => `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;

/**
 * Writes the feeds of a system. Feeds about the moment have a new tag with each computation. The others keep theirs until
 * their data changes, so clients need not read them again.
 */
function writeFeeds(content: SystemContent): ReadonlyMap<FeedName, Feed> {
  const { system, readAt } = content;
  const written = [...dataOf(content)].map(([name, data]): [FeedName, Feed] => {
    const json = JSON.stringify(data);
    const isLive = liveFeeds.has(name);
    const ttlSeconds = isLive ? ttlOf(system) : settingsTtlSeconds;
    const updatedAt = isLive || tableFeeds.has(name) ? readAt : system.updatedAt;
    const head = `{"last_updated":"${updatedAt.toISOString()}","ttl":${ttlSeconds},"version":"${version}"`;
    const text = `${head},"data":${json}}`;
    return [name, { text, etag: isLive ? tagOf(text) : `W/${tagOf(json)}`, ttlSeconds }];
  });
  return new Map(written);
}

type Feeds = ReadonlyMap<FeedName, Feed>;

interface Computation {
  readonly feeds: Promise<Feeds>;
  /** Monotonic clock; infinite while it is under way. */
  validUntilMs: number;
}

/** Computes the feeds of each system at most once in its TTL, however many clients ask. */
export class FeedCache {
  readonly #db: Kysely<Tables>;
  readonly #bySystem = new Map<string, Computation>();

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** Returns the feeds of a system. @throws Failure NOT_FOUND if nothing is published under the id */
  read(systemId: string): Promise<Feeds> {
    const known = this.#bySystem.get(systemId);
    if (known && performance.now() < known.validUntilMs) return known.feeds;
    const computation: Computation = { feeds: this.#compute(systemId), validUntilMs: Number.POSITIVE_INFINITY };
    this.#bySystem.set(systemId, computation);
    // Failures are not kept: the next request tries again. Nor are ids that nobody publishes, which anyone can make up.
    computation.feeds.then(
      (feeds) => {
        const ttlSeconds = feeds.get('vehicle_status')?.ttlSeconds ?? 0;
        computation.validUntilMs = performance.now() + ttlSeconds * 1000;
      },
      () => this.#bySystem.delete(systemId),
    );
    return computation.feeds;
  }

  async #compute(systemId: string): Promise<Feeds> {
    return inSnapshot(this.#db, async (snapshot) => {
      const system = await findSystem(snapshot, { systemId });
      if (!system) throw new Failure('NOT_FOUND', 'no such system');
      const readAt = new Date();
      const vehicles = await findVehicles(snapshot, system, true);
      const spots = await findSpots(snapshot, system);
      const shapes = await findShapes(snapshot, system);
      return writeFeeds({ system, vehicles, spots, shapes, readAt });
    });
  }
}

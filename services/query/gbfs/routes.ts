import { createHash } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { type GbfsSettings, systemIdPattern } from '@odograph/contracts/gbfs';
import type { GeofenceArea } from '@odograph/contracts/geofences';
import { findApplicationId } from '@odograph/database/accounts';
import { inSnapshot } from '@odograph/database/batches';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendJson } from '@odograph/http/paging';
import { AppId, answers, checkedWord, moment, VehicleId, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import {
  findShapes,
  findSpots,
  findSystem,
  findVehicles,
  type GbfsSystem,
  hiddenStates,
  type Spot,
  type SystemVehicle,
} from './queries.ts';
import { type PublishedVehicle, publish, writeMultiPolygon } from './rules.ts';

/** The files of GBFS 3.0 that a system can have. */
const feedNames = [
  ...['gbfs', 'gbfs_versions', 'system_information', 'vehicle_types', 'vehicle_status', 'station_information'],
  ...['station_status', 'system_pricing_plans', 'geofencing_zones'],
] as const;
type FeedName = (typeof feedNames)[number];

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
  readonly shapes: ReadonlyMap<string, GeofenceArea>;
  readonly readAt: Date;
}

const version = '3.0';
const defaultTtlSeconds = 30;
/** For feeds that change with the settings. */
const settingsTtlSeconds = 300;
const liveFeeds: ReadonlySet<string> = new Set(['vehicle_status', 'station_status']);
/** Feeds with parking spots and geofences, which change without the settings. */
const tableFeeds: ReadonlySet<string> = new Set(['station_information', 'geofencing_zones']);

/** Returns the seconds between two computations of a system. */
const ttlOf = ({ settings }: GbfsSystem): number => settings.ttlSeconds ?? defaultTtlSeconds;

const localize = ({ system }: GbfsSettings, text: string) => system.languages.map((language) => ({ text, language }));

function vehicleTypes({ vehicleTypes: types }: GbfsSettings): object {
  // JSON leaves out members that are undefined.
  return { vehicle_types: types.map((type) => ({ ...type, match: undefined, rangeIfUnknownMeters: undefined })) };
}

function vehicleStatus(vehicles: readonly PublishedVehicle[]): object {
  // The order of the vehicles' numbers would reveal which new id replaces which old one.
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
 * Writes the feeds of a system. Live feeds have a new tag with each computation. The others keep theirs until
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
  /** Monotonic clock; infinite while the computation is in flight. */
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
    // Failures are not cached, so the next request retries; nor are unpublished ids, which a client can make up.
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

const SystemId = Type.String({ examples: ['example_paris'], documentedAs: { pattern: systemIdPattern } });
const File = checkedWord(feedNames.map((name) => `${name}.json`));
const FeedAnswer = Type.Object(
  {
    last_updated: moment('the moment that the data is of'),
    ttl: Type.Integer({ description: 'seconds for which it is valid', examples: [30] }),
    version: Type.String({ examples: ['3.0'] }),
    data: Type.Object({}, { additionalProperties: true, description: 'as GBFS 3.0 defines it for this file' }),
  },
  { title: 'GbfsFeed' },
);

/** Tests whether a client has this tag already (RFC 9110, "If-None-Match": weak comparison). */
function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, '');
  return ifNoneMatch?.split(',').some((tag) => bare(tag) === '*' || bare(tag) === bare(etag)) ?? false;
}

/** The feeds of GBFS 3.0, for everyone. */
export function gbfsRoutes(db: Kysely<Tables>): RoutePlugin {
  const cache = new FeedCache(db);
  return (http) => {
    http.get(
      '/v1/x/gbfs/:systemId/:file',
      {
        schema: {
          tags: ['gbfs'],
          summary: 'A file of the GBFS 3.0 feeds of a sharing system, without a token',
          security: [],
          params: Type.Object({ systemId: SystemId, file: File }),
          headers: Type.Object({ 'if-none-match': Type.Optional(Type.String({ maxLength: 1024 })) }),
          answerHeaders: { ETag: { type: 'string', description: 'names this state of the file' } },
          response: { ...answers(FeedAnswer, 'NOT_FOUND'), 304: Type.Null({ description: 'unchanged' }) },
        },
      },
      async ({ params: { systemId, file }, headers }, reply) => {
        const name = feedNames.find((one): one is FeedName => file === `${one}.json`);
        if (!name) throw new Failure('NOT_FOUND', 'no such file');
        const feed = (await cache.read(systemId)).get(name);
        if (!feed) throw new Failure('NOT_FOUND', 'the system has no such file');
        reply.headers({
          etag: feed.etag,
          'cache-control': `public, max-age=${feed.ttlSeconds}`,
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'ETag',
          'cross-origin-resource-policy': 'cross-origin',
        });
        if (hasTag(headers['if-none-match'], feed.etag)) return reply.code(304).send(null);
        return sendJson(reply, feed.text);
      },
    );
  };
}

const Reason = word([...hiddenStates, 'NO_TYPE', 'RANGE_UNKNOWN'], { description: 'why it is not published' });
const maxVehicles = 1000;

/** Shows operators which vehicles of an application are in its feeds now, and why the others are not. */
export function gbfsOperatorRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/gbfs/:appId/vehicles',
      {
        schema: {
          summary:
            'Show how many vehicles of an application its GBFS feeds publish now, and why the others are not in them',
          params: Type.Object({ appId: AppId }),
          response: answers(
            Type.Object({
              published: Type.Integer({ description: 'number of vehicles in vehicle_status.json', examples: [12] }),
              hidden: Type.Array(
                Type.Object({ vehicleId: VehicleId, plate: Type.String({ examples: ['AB-123-CD'] }), reason: Reason }),
                {
                  description: `the others, at most ${maxVehicles}`,
                },
              ),
            }),
            ...(['UNKNOWN_APPLICATION', 'NOT_FOUND'] as const),
          ),
        },
      },
      async ({ params: { appId }, operator }) => {
        const applicationId = await findApplicationId(db, appId, operator.applicationIds);
        return inSnapshot(db, async (snapshot) => {
          const system = await findSystem(snapshot, { applicationId });
          if (!system) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
          const spots = new Map((await findSpots(snapshot, system)).map((spot) => [spot.shortId, spot]));
          const vehicles = await findVehicles(snapshot, system, false);
          const hidden = vehicles.flatMap((vehicle) => {
            const published = publish(system, vehicle, spots);
            if (typeof published !== 'string') return [];
            return [{ vehicleId: String(vehicle.id), plate: vehicle.plate, reason: published }];
          });
          return { published: vehicles.length - hidden.length, hidden: hidden.slice(0, maxVehicles) };
        });
      },
    );
  };
}

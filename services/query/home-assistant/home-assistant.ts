import type { Database } from '@odograph/database/database';
import { privacyIsOn } from '@odograph/database/reading-json';
import { within } from '@odograph/runtime/clock';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { messageOf } from '@odograph/runtime/message-of';
import { Counter, Gauge, type Registry } from '@odograph/runtime/metrics';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { type RawBuilder, sql } from 'kysely';
import { connect, type MqttClient } from 'mqtt';
import { ChangeReader } from '../shared/change-reader.ts';
import { repeat } from '../shared/repeat.ts';

const number = (group: string, key: string) =>
  sql`(vehicle_latest.${sql.ref(group)}->>${sql.lit(key)})::double precision`;
/** Positions of private vehicles do not leave the database. */
const unlessPrivate = (value: RawBuilder<unknown>) => sql`case when not ${sql.raw(privacyIsOn)} then ${value} end`;

/**
 * Finds the vehicles that are neither archived nor deleted and whose application is not deleted. Checking the vehicle
 * is not enough: the vehicles of a deleted application are deleted in several transactions.
 * @param ids the vehicles to look for; all without it
 */
async function findShownVehicles(
  db: Database,
  appIds: readonly string[],
  ids?: readonly number[],
): Promise<ShownVehicle[]> {
  const among = ids ? sql`vehicle.id = any(${ids}::integer[])` : sql`true`;
  const { rows } = await sql<ShownVehicle>`
    select vehicle.id, application.app_id as "appId", vehicle.plate, vehicle.brand, vehicle.model,
      ${unlessPrivate(number('location', 'latitude'))} as latitude,
      ${unlessPrivate(number('location', 'longitude'))} as longitude,
      coalesce(${number('electric', 'soc')}, ${number('fleet', 'ChargeLevel')}) as battery,
      coalesce(${number('status', 'autonomy')}, ${number('fleet', 'RemainingRange')}) as range,
      vehicle_latest.fleet->>'lock' as lock
    from vehicle
    join application on application.id = vehicle.application_id
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.deleted_at is null and vehicle.archived_at is null and application.deleted_at is null
      and application.app_id = any(${appIds}::text[]) and ${among}
    order by vehicle.id`.execute(db);
  return rows;
}

/** Changes are published together. */
const intervalMs = 1000;
/** All vehicles are read this often, so that a lost announcement is made good. */
const reloadMs = 60_000;
/** A publication waits no longer, also for a broker that went away meanwhile. */
const publishMs = 5000;

interface HomeAssistantOptions {
  readonly db: Database;
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly metrics: Registry;
}

/** A vehicle as it was last published. */
interface PublishedVehicle {
  readonly vehicle: ShownVehicle;
  readonly announced: string;
  readonly state: string;
}

/**
 * Starts to publish the vehicles of HOME_ASSISTANT_APPLICATIONS to HOME_ASSISTANT_MQTT_URL; does nothing without that setting.
 * @returns ends it
 */
export function startHomeAssistant(options: HomeAssistantOptions): () => Promise<void> {
  const { HOME_ASSISTANT_MQTT_URL: url, HOME_ASSISTANT_APPLICATIONS: applications = '' } = options.config;
  if (url === undefined) return async () => undefined;
  const publisher = new HomeAssistant(options, url, applications.split(','));
  return () => publisher.stop();
}

/**
 * Keeps Home Assistant informed: announces each vehicle, retained, and publishes its state when it changes. States are not
 * retained, so that no position stays at the other broker; they are published again when Home Assistant or the broker returns.
 */
class HomeAssistant {
  readonly #options: HomeAssistantOptions;
  readonly #appIds: readonly string[];
  readonly #client: MqttClient;
  readonly #redis: Redis;
  readonly #reader: ChangeReader;
  readonly #failures: Counter;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  readonly #published = new Map<number, PublishedVehicle>();
  /** Vehicles whose announcements the other broker has. */
  readonly #announced = new Map<number, VehicleKey>();
  #reloadedAt = Number.NEGATIVE_INFINITY;
  #failure: string | undefined;

  constructor(options: HomeAssistantOptions, url: string, appIds: readonly string[]) {
    const { config, logger, metrics } = options;
    this.#options = options;
    this.#appIds = appIds;
    const registers = [metrics];
    this.#failures = new Counter({
      name: 'odograph_home_assistant_failures_total',
      help: 'Failed connections and updates of Home Assistant',
      registers,
    });
    this.#client = connect(url, {
      will: { topic: availabilityTopic, payload: Buffer.from('offline'), qos: 1, retain: true },
      reconnectPeriod: 2000,
      connectTimeout: 10_000,
      reconnectOnConnackError: true,
      resubscribe: false,
      queueQoSZero: false,
    });
    const client = this.#client;
    new Gauge({
      name: 'odograph_home_assistant_connected',
      help: '1 while the broker of Home Assistant is connected',
      registers,
      collect() {
        this.set(client.connected ? 1 : 0);
      },
    });
    this.#redis = connectRedis(config.REDIS_URL, logger);
    this.#reader = new ChangeReader(this.#redis, config.QUEUE_PREFIX);
    this.#listen();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#redis.disconnect();
    await this.#running;
    if (this.#client.connected)
      await this.#retain([{ topic: availabilityTopic, text: 'offline' }]).catch(() => undefined);
    await this.#client.endAsync(true);
  }

  #listen(): void {
    const birthTopic = `${discoveryPrefix}/status`;
    this.#client.on('connect', () => {
      const topics = this.#appIds.map((appId) => announcedTopics(appId));
      this.#client.subscribeAsync([birthTopic, ...topics], { qos: 1 }).catch((error: unknown) => this.#fail(error));
      this.#retain([{ topic: availabilityTopic, text: 'online' }]).catch((error: unknown) => this.#fail(error));
      this.#startAgain();
    });
    this.#client.on('error', (error) => this.#fail(error));
    this.#client.on('close', () => {
      if (!this.#stopped.signal.aborted) this.#fail(new Error('no connection to its broker'));
    });
    this.#client.on('message', (topic, payload) => {
      const announced = parseAnnounced(topic);
      if (announced && payload.length > 0) this.#announced.set(announced.id, announced);
      if (announced && payload.length === 0) this.#announced.delete(announced.id);
      if (topic === birthTopic && payload.toString() === 'online') this.#startAgain();
    });
  }

  #startAgain(): void {
    this.#published.clear();
    this.#reloadedAt = Number.NEGATIVE_INFINITY;
  }

  #run(): Promise<void> {
    return repeat({
      signal: this.#stopped.signal,
      intervalMs,
      step: async () => {
        await this.#step();
        this.#recover();
      },
      onFailure: async (error) => {
        this.#fail(error);
        this.#reloadedAt = Number.NEGATIVE_INFINITY;
      },
    });
  }

  async #step(): Promise<void> {
    if (!this.#client.connected) return;
    if (performance.now() - this.#reloadedAt > reloadMs) {
      this.#reloadedAt = performance.now();
      try {
        // Before the vehicles, so that no change is missed.
        await this.#reader.readRecent();
      } finally {
        // Without Redis, too: a vehicle may have become private.
        await this.#update([...this.#published.keys()], await findShownVehicles(this.#options.db, this.#appIds));
      }
    } else {
      const { vehicleIds } = await this.#reader.read();
      const ids = [...vehicleIds];
      if (ids.length > 0) await this.#update(ids, await findShownVehicles(this.#options.db, this.#appIds, ids));
    }
    for (const vehicle of this.#announced.values()) {
      // Home Assistant or its broker restarted meanwhile: #published is incomplete until the next full read.
      if (this.#reloadedAt === Number.NEGATIVE_INFINITY) return;
      if (!this.#published.has(vehicle.id)) await this.#retain(remove(vehicle));
    }
  }

  /** @param ids of the vehicles that were read; those that were not found are removed */
  async #update(ids: readonly number[], vehicles: readonly ShownVehicle[]): Promise<void> {
    await this.#publish(vehicles);
    const found = new Set(vehicles.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) await this.#forget(id);
  }

  async #publish(vehicles: readonly ShownVehicle[]): Promise<void> {
    for (const vehicle of vehicles) {
      const before = this.#published.get(vehicle.id);
      const messages = announce(vehicle);
      const announced = JSON.stringify(messages);
      const state = writeState(vehicle);
      if (before?.announced !== announced) await this.#retain(messages);
      if (before?.state !== state) {
        await within(publishMs, this.#client.publishAsync(stateTopic(vehicle), state, { qos: 0 }));
      }
      this.#published.set(vehicle.id, { vehicle, announced, state });
    }
  }

  /** Removes a vehicle that was deleted, archived or moved to another application. */
  async #forget(id: number): Promise<void> {
    const published = this.#published.get(id);
    if (!published) return;
    await this.#retain(remove(published.vehicle));
    this.#published.delete(id);
  }

  async #retain(messages: readonly Message[]): Promise<void> {
    for (const { topic, text } of messages) {
      await within(publishMs, this.#client.publishAsync(topic, text, { qos: 1, retain: true }));
    }
  }

  #fail(error: unknown): void {
    this.#failures.inc();
    const reason = messageOf(error);
    if (this.#failure === undefined) this.#options.logger.warn({ reason }, 'Home Assistant not up to date; retrying');
    this.#failure = reason;
  }

  #recover(): void {
    if (this.#failure === undefined || !this.#client.connected) return;
    this.#failure = undefined;
    this.#options.logger.info('Home Assistant up to date again');
  }
}

/** A vehicle as Home Assistant shows it; null is unknown, and a private vehicle has no position. */
interface ShownVehicle {
  readonly id: number;
  readonly appId: string;
  readonly plate: string;
  readonly brand: string;
  readonly model: string;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly battery: number | null;
  readonly range: number | null;
  readonly lock: string | null;
}

/** A retained message; an empty text removes it. */
interface Message {
  readonly topic: string;
  readonly text: string;
}

const root = 'odograph';
const availabilityTopic = `${root}/status`;

/** Each entity of a vehicle: its component of Home Assistant and its settings (Home Assistant, "MQTT discovery"). */
const entities: Readonly<Record<string, { component: string; settings: Readonly<Record<string, unknown>> }>> = {
  // Its name is that of the vehicle.
  position: { component: 'device_tracker', settings: { name: null, source_type: 'gps' } },
  battery: {
    component: 'sensor',
    settings: { name: 'Battery', device_class: 'battery', state_class: 'measurement', unit_of_measurement: '%' },
  },
  range: {
    component: 'sensor',
    settings: { name: 'Range', device_class: 'distance', state_class: 'measurement', unit_of_measurement: 'km' },
  },
  // On means open.
  lock: {
    component: 'binary_sensor',
    settings: { name: 'Lock', device_class: 'lock', payload_on: 'UNLOCKED', payload_off: 'LOCKED' },
  },
};
type VehicleKey = Pick<ShownVehicle, 'id' | 'appId'>;

/** The topic of the state of a vehicle. */
function stateTopic({ appId, id }: VehicleKey): string {
  return `${root}/${appId}/${id}`;
}

/** Home Assistant's default discovery prefix. */
const discoveryPrefix = 'homeassistant';

function configTopic(name: string, { appId, id }: VehicleKey): string {
  return `${discoveryPrefix}/${entities[name]?.component}/${root}_${appId}/${id}_${name}/config`;
}

/** The subscription that finds the vehicles of an application that were once announced to Home Assistant. */
function announcedTopics(appId: string): string {
  return configTopic('position', { appId, id: 0 }).replace('0_position', '+');
}

/** Reads the vehicle of a topic of `announcedTopics`. */
function parseAnnounced(topic: string): VehicleKey | undefined {
  const [, appId, id] = /\/odograph_([^/]+)\/(\d+)_position\/config$/.exec(topic) ?? [];
  return appId === undefined ? undefined : { appId, id: Number(id) };
}

/** The messages that announce a vehicle with its entities. */
function announce(vehicle: ShownVehicle): Message[] {
  const { id, plate, brand, model } = vehicle;
  const state = stateTopic(vehicle);
  const device = { identifiers: [`${root}_${id}`], name: plate, manufacturer: brand, model };
  return Object.entries(entities).map(([name, { component, settings }]) => ({
    topic: configTopic(name, vehicle),
    text: JSON.stringify({
      ...settings,
      unique_id: `${root}_${id}_${name}`,
      ...(component === 'device_tracker'
        ? { json_attributes_topic: state }
        : { state_topic: state, value_template: `{{ value_json.${name} }}` }),
      availability_topic: availabilityTopic,
      device,
      origin: { name: 'Odograph' },
    }),
  }));
}

/** The messages that remove a vehicle with its entities. */
function remove(vehicle: VehicleKey): Message[] {
  return Object.keys(entities).map((name) => ({ topic: configTopic(name, vehicle), text: '' }));
}

/** The state of a vehicle. Without a position, Home Assistant shows it as unknown. */
function writeState({ latitude, longitude, battery, range, lock }: ShownVehicle): string {
  const position = latitude === null || longitude === null ? {} : { latitude, longitude };
  return JSON.stringify({ ...position, battery, range, lock });
}

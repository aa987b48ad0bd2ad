/** A vehicle as Home Assistant shows it; null is unknown, and a private vehicle has no position. */
export interface ShownVehicle {
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

/** A message that is retained, or with an empty text removed. */
export interface Message {
  readonly topic: string;
  readonly text: string;
}

const root = 'odograph';
export const availabilityTopic = `${root}/status`;

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
export type VehicleKey = Pick<ShownVehicle, 'id' | 'appId'>;

/** The topic of the state of a vehicle. */
export function stateTopic({ appId, id }: VehicleKey): string {
  return `${root}/${appId}/${id}`;
}

/** The prefix that Home Assistant reads unless it is told another one. */
export const discoveryPrefix = 'homeassistant';

function configTopic(name: string, { appId, id }: VehicleKey): string {
  return `${discoveryPrefix}/${entities[name]?.component}/${root}_${appId}/${id}_${name}/config`;
}

/** The subscription that finds the vehicles of an application that were once announced to Home Assistant. */
export function announcedTopics(appId: string): string {
  return configTopic('position', { appId, id: 0 }).replace('0_position', '+');
}

/** Reads the vehicle of a topic of `announcedTopics`. */
export function parseAnnounced(topic: string): VehicleKey | undefined {
  const [, appId, id] = /\/odograph_([^/]+)\/(\d+)_position\/config$/.exec(topic) ?? [];
  return appId === undefined ? undefined : { appId, id: Number(id) };
}

/** The messages that announce a vehicle with its entities. */
export function announce(vehicle: ShownVehicle): Message[] {
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
export function remove(vehicle: VehicleKey): Message[] {
  return Object.keys(entities).map((name) => ({ topic: configTopic(name, vehicle), text: '' }));
}

/** The state of a vehicle. Without a position, Home Assistant shows it as unknown. */
export function writeState({ latitude, longitude, battery, range, lock }: ShownVehicle): string {
  const position = latitude === null || longitude === null ? {} : { latitude, longitude };
  return JSON.stringify({ ...position, battery, range, lock });
}

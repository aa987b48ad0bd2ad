import { positionKeyPattern } from '@odograph/contracts/positions';
import { type RawBuilder, sql } from 'kysely';
import { allCanValues } from './can-values.ts';

// SQL that writes readings and vehicles as JSON text by concatenation: PostgreSQL takes less than half the time of
// json_build_object, and this process only forwards the text. Fields that were never reported get an empty value (interface
// specification, general convention 4); only an unknown location is left out.

/**
 * SQL text that is true while the positions of a vehicle are private; needs the table vehicle. An interval counts before its
 * start, too: the clock of a replica, or of a transaction that began just before, may be behind.
 */
export const privacyIsOn = `exists (select from privacy_period where privacy_period.vehicle_id = vehicle.id
  and coalesce(upper(privacy_period.period), 'infinity') > now())`;

/** SQL that is true if a privacy interval of its vehicle covers the row of `reading`. */
export const readingIsPrivate = sql<boolean>`exists (select from privacy_period
  where privacy_period.vehicle_id = reading.vehicle_id and privacy_period.period @> reading.time)`;

const withoutPositions = (data: string) => `(select coalesce(jsonb_agg(datum order by place), '[]')
  from jsonb_array_elements(${data}) with ordinality as list (datum, place)
  where datum->>'key' !~* '${positionKeyPattern}')`;

/** SQL text of the latest CAN data and sensors; while privacy is on, without data whose key denotes a position. */
export const latestLists = {
  can: `case when vehicle_latest.can is not null and ${privacyIsOn}
    then ${withoutPositions('vehicle_latest.can')} else vehicle_latest.can end`,
  sensors: `case when vehicle_latest.sensors is not null and ${privacyIsOn}
    then (select coalesce(jsonb_agg(jsonb_set(sensor, '{data}', ${withoutPositions("sensor->'data'")}) order by rank), '[]')
      from jsonb_array_elements(vehicle_latest.sensors) with ordinality as sensor_list (sensor, rank))
    else vehicle_latest.sensors end`,
} as const;

interface Field {
  readonly key: string;
  readonly column: string;
  readonly missing: '0' | 'false';
}

const number = (key: string, column = key): Field => ({ key, column, missing: '0' });
const boolean = (key: string): Field => ({ key, column: key, missing: 'false' });

const statusFields = [boolean('ignition'), boolean('movement'), number('mileage'), number('autonomy')];
const locationExtras = [number('angle'), number('altitude')];
const electricFields = [
  number('soh'),
  number('soc'),
  number('current'),
  number('voltage'),
  number('energy'),
  number('maxEnergy', 'max_energy'),
  number('minCellVoltage', 'min_cell_voltage'),
  number('maxCellVoltage', 'max_cell_voltage'),
  number('temperature'),
  number('minCellTemperature', 'min_cell_temperature'),
  number('maxCellTemperature', 'max_cell_temperature'),
  number('lifetimePowerUse', 'lifetime_power_use'),
  number('lifetimeChargePower', 'lifetime_charge_power'),
];
const stateFlags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'].map(boolean);

/** Returns SQL of the JSON text of a field, never null. */
type FieldValue = (field: Field) => string;

/** Reads a field from its own column. */
const ofColumn =
  (table: string): FieldValue =>
  ({ column, missing }) =>
    missing === 'false'
      ? `case when ${table}.${column} then 'true' else 'false' end`
      : `coalesce(${table}.${column}, 0)`;

/** Reads a number or boolean from a group that is stored as a JSON object; its text is its JSON. */
const ofGroup =
  (group: string): FieldValue =>
  ({ key, missing }) =>
    `coalesce(vehicle_latest.${group}->>'${key}', '${missing}')`;

const concat = (parts: readonly string[]): string => `concat(${parts.join(', ')})`;

function members(fields: readonly Field[], value: FieldValue): string[] {
  return fields.flatMap((field, index) => [`'${index === 0 ? '' : ','}"${field.key}":'`, value(field)]);
}

function group(name: string, fields: readonly Field[], value: FieldValue): string {
  return concat([`',"${name}":{'`, ...members(fields, value), `'}'`]);
}

function location(latitude: string, longitude: string, value: FieldValue): string {
  const known = concat([
    `',"location":{"latitude":', ${latitude}, ',"longitude":', ${longitude}, ','`,
    ...members(locationExtras, value),
    `'}'`,
  ]);
  return `case when ${latitude} is not null and ${longitude} is not null then ${known} end`;
}

/** UNIX seconds to the microsecond, as an exact decimal. */
const timestamp = (table: string): string =>
  concat([`',"timestamp":'`, `trim_scale(extract(epoch from ${table}.time))`]);

const list = (name: string, value: string): string => concat([`',"${name}":'`, `coalesce(${value}, '[]')`]);

const ofReading = ofColumn('reading');
const reading = {
  timestamp: timestamp('reading'),
  location: location('reading.latitude', 'reading.longitude', ofReading),
  status: group('status', statusFields, ofReading),
  electric: group('electric', electricFields, ofReading),
  can: list('can', allCanValues),
  sensors: list('sensors', 'reading.sensors'),
};
const latest = {
  timestamp: timestamp('vehicle_latest'),
  location: `case when not ${privacyIsOn} then ${location(
    "(vehicle_latest.location->>'latitude')",
    "(vehicle_latest.location->>'longitude')",
    ofGroup('location'),
  )} end`,
  status: group('status', statusFields, ofGroup('status')),
  electric: group('electric', electricFields, ofGroup('electric')),
  can: list('can', latestLists.can),
  sensors: list('sensors', latestLists.sensors),
  state: group('state', stateFlags, ofColumn('vehicle')),
};

const texts = ['plate', 'vin', 'brand', 'model'] as const;
const vehicle = concat([
  `'"vehicle":{"id":"', vehicle.id, '"'`,
  ...texts.map((name) => `',"${name}":', to_json(vehicle.${name})`),
  `'}'`,
]);

const fragment = (...parts: string[]): RawBuilder<string> => sql.raw<string>(concat(parts));

/** The member `"vehicle":{…}`; needs the table vehicle. */
export const vehicleMember = fragment(vehicle);

/** Members behind the vehicle in a reading of a history; needs the table reading. */
export const historyMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.status,
  reading.electric,
  reading.sensors,
);

/** Members behind the vehicle in a reading of a customcan history; needs the table reading. */
export const customCanMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.can,
  reading.status,
  reading.sensors,
);

/** Members behind the vehicle in a reading of the change feed; needs the table reading. */
export const changeMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.can,
  reading.status,
  reading.electric,
  reading.sensors,
);

const latestReading = [vehicle, latest.timestamp, latest.location, latest.status, latest.electric, latest.sensors];

/**
 * All members of the latest state of a vehicle, by answer; need the tables vehicle and vehicle_latest. The location is left
 * out while it is private.
 */
export const latestMembers = {
  brief: fragment(vehicle, latest.timestamp, latest.location, latest.status),
  customCan: fragment(vehicle, latest.timestamp, latest.location, latest.can, latest.status, latest.sensors),
  full: fragment(...latestReading, latest.state),
  stateless: fragment(...latestReading),
} as const;

/** Members of the fleet vehicle record; needs the tables vehicle and device, the latter outer joined. */
export const fleetMembers = fragment(
  concat([
    `'"id":"', vehicle.id, '","builder":', to_json(vehicle.brand), ',"model":', to_json(vehicle.model)`,
    `',"plate":', to_json(vehicle.plate), ',"deviceId":', to_json(coalesce(device.id, ''))`,
    `',"deviceModel":', to_json(coalesce(device.model_id, '')), ',"energy":', to_json(vehicle.energy)`,
    `',"bluetoothName":', to_json(coalesce(device.bluetooth_name, '')), ',"seats":', vehicle.seats`,
    `',"gearbox":', to_json(vehicle.gearbox), ',"kind":', to_json(vehicle.kind)`,
    `',"archived":', case when vehicle.archived_at is null then 'false' else 'true' end`,
    `',"accessories":', to_json(vehicle.accessories)`,
  ]),
);

import { type RawBuilder, sql } from 'kysely';
import { allCanValues } from './can-values.ts';
import { sensorsWithoutPositions, withoutPositions } from './private-values.ts';

// SQL that writes readings and vehicles as JSON text by concatenation: PostgreSQL takes less than half the time of
// json_build_object, and this process only forwards the text. Fields that were never reported get an empty value (interface
// specification, general convention 4); only an unknown location is left out.

const privacyLasts = "coalesce(upper(privacy_period.period), 'infinity') > now()";

/**
 * SQL text that is true while the positions of a vehicle are private; needs the table vehicle. An interval counts before its
 * start, too: the clock of a replica, or of a transaction that began just before, may be behind.
 */
export const privacyIsOn = `exists (select from privacy_period where privacy_period.vehicle_id = vehicle.id
  and ${privacyLasts})`;

/**
 * The same for lists: PostgreSQL reads all private vehicles once. The estimated cost of a subquery for each vehicle
 * would outweigh that of the joins, which PostgreSQL would then plan badly.
 */
const privacyIsOnInList = `(vehicle.id in (select privacy_period.vehicle_id from privacy_period where ${privacyLasts}))`;

/** SQL that is true if a privacy interval of its vehicle covers the row of `reading`. */
export const readingIsPrivate = sql<boolean>`exists (select from privacy_period
  where privacy_period.vehicle_id = reading.vehicle_id and privacy_period.period @> reading.time)`;

const listsWithout = (isPrivate: string) => ({
  can: `case when vehicle_latest.can is not null and ${isPrivate}
    then ${withoutPositions('vehicle_latest.can')} else vehicle_latest.can end`,
  sensors: `case when vehicle_latest.sensors is not null and ${isPrivate}
    then ${sensorsWithoutPositions('vehicle_latest.sensors')}
    else vehicle_latest.sensors end`,
});

/** SQL text of the latest CAN data and sensors; while privacy is on, without what discloses a position. */
export const latestLists = listsWithout(privacyIsOn);

interface Field {
  readonly key: string;
  readonly column: string;
  readonly missing: '0' | 'false';
}

const number = (key: string, column = key): Field => ({ key, column, missing: '0' });
const boolean = (key: string): Field => ({ key, column: key, missing: 'false' });

const statusFields = [boolean('ignition'), boolean('movement'), number('mileage'), number('autonomy')];
const locationExtras = [number('angle'), number('altitude')];
const electricFields = [number('soh'), number('soc'), number('current'), number('voltage'), number('energy')];
/** Many vehicles report none of these. */
const rareElectricFields = [
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

/** Where fields are stored. */
interface Source {
  /** Returns SQL of the JSON text of a field, never null. */
  value(field: Field): string;
  /** Returns SQL that is true if a number among the fields is not null. */
  hasAny(fields: readonly Field[]): string;
}

/** Fields in columns of their own. */
const columnsOf = (table: string): Source => ({
  value: ({ column, missing }) =>
    missing === 'false'
      ? `case when ${table}.${column} then 'true' else 'false' end`
      : `coalesce(${table}.${column}, 0)`,
  hasAny: (fields) => `num_nonnulls(${fields.map(({ column }) => `${table}.${column}`).join(', ')}) > 0`,
});

/** Numbers and booleans in a group that is stored as a JSON object; the text of a value is its JSON. */
const groupOf = (name: string): Source => ({
  value: ({ key, missing }) => `coalesce(vehicle_latest.${name}->>'${key}', '${missing}')`,
  hasAny: (fields) => `vehicle_latest.${name} ?| '{${fields.map(({ key }) => key).join(',')}}'`,
});

/** A part of a JSON text: fixed text, or SQL. */
type Part = { readonly fixed: string } | { readonly sql: string };
const fixed = (text: string): Part => ({ fixed: text });
const computed = (value: string): Part => ({ sql: value });

/** Builds SQL that concatenates parts. Adjacent texts are joined: PostgreSQL copies each argument of concat twice. */
function concat(parts: readonly Part[]): string {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last && 'fixed' in last && 'fixed' in part) joined[joined.length - 1] = fixed(last.fixed + part.fixed);
    else joined.push(part);
  }
  return `concat(${joined.map((part) => ('fixed' in part ? `'${part.fixed}'` : part.sql)).join(', ')})`;
}

/** Members of an object, each with a comma before it. */
const members = (fields: readonly Field[], source: Source): Part[] =>
  fields.flatMap((field) => [fixed(`,"${field.key}":`), computed(source.value(field))]);

/** Members that are one fixed text unless a field is reported. */
const rareMembers = (fields: readonly Field[], source: Source): Part =>
  computed(`case when ${source.hasAny(fields)} then ${concat(members(fields, source))}
    else '${fields.map(({ key, missing }) => `,"${key}":${missing}`).join('')}' end`);

function group(name: string, [first, ...others]: readonly Field[], source: Source, rare: readonly Part[] = []): Part[] {
  if (!first) throw new Error(`the group ${name} has no fields`);
  const start = [fixed(`,"${name}":{"${first.key}":`), computed(source.value(first))];
  return [...start, ...members(others, source), ...rare, fixed('}')];
}

const electric = (source: Source) =>
  group('electric', electricFields, source, [rareMembers(rareElectricFields, source)]);

function location(latitude: string, longitude: string, source: Source, condition = 'true'): Part {
  const position = [fixed(',"location":{"latitude":'), computed(latitude), fixed(',"longitude":'), computed(longitude)];
  return computed(`case when ${condition} and ${latitude} is not null and ${longitude} is not null
    then ${concat([...position, ...members(locationExtras, source), fixed('}')])} end`);
}

/** UNIX seconds to the microsecond, as an exact decimal. */
const timestamp = (table: string): Part[] => [
  fixed(',"timestamp":'),
  computed(`trim_scale(extract(epoch from ${table}.time))`),
];

const list = (name: string, value: string): Part[] => [fixed(`,"${name}":`), computed(`coalesce(${value}, '[]')`)];

const ofReading = columnsOf('reading');
const reading = {
  timestamp: timestamp('reading'),
  location: [location('reading.latitude', 'reading.longitude', ofReading)],
  status: group('status', statusFields, ofReading),
  electric: electric(ofReading),
  can: list('can', allCanValues),
  sensors: list('sensors', 'reading.sensors'),
};
const latestOf = (isPrivate: string) => ({
  timestamp: timestamp('vehicle_latest'),
  location: [
    location(
      "(vehicle_latest.location->>'latitude')",
      "(vehicle_latest.location->>'longitude')",
      groupOf('location'),
      `not ${isPrivate}`,
    ),
  ],
  status: group('status', statusFields, groupOf('status')),
  electric: electric(groupOf('electric')),
  can: list('can', listsWithout(isPrivate).can),
  sensors: list('sensors', listsWithout(isPrivate).sensors),
  state: group('state', stateFlags, columnsOf('vehicle')),
});
const latest = latestOf(privacyIsOn);
const listed = latestOf(privacyIsOnInList);

/** Members of texts and other JSON values. */
const jsonMembers = (values: Readonly<Record<string, string>>): Part[] =>
  Object.entries(values).flatMap(([key, value]) => [fixed(`,"${key}":`), computed(`to_json(${value})`)]);

const vehicle = [
  fixed('"vehicle":{"id":"'),
  computed('vehicle.id'),
  fixed('"'),
  ...jsonMembers({ plate: 'vehicle.plate', vin: 'vehicle.vin', brand: 'vehicle.brand', model: 'vehicle.model' }),
  fixed('}'),
];

const fragment = (...parts: readonly (readonly Part[])[]): RawBuilder<string> => sql.raw<string>(concat(parts.flat()));

/** The member `"vehicle":{…}`; needs the table vehicle. */
export const vehicleMember = fragment(vehicle);

/** Members behind the vehicle in a reading of a history; needs `reading_in_units as reading`. */
export const historyMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.status,
  reading.electric,
  reading.sensors,
);

/** Members behind the vehicle in a reading of a customcan history; needs `reading_in_units as reading`. */
export const customCanMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.can,
  reading.status,
  reading.sensors,
);

/** Members behind the vehicle in a reading of the change feed; needs `reading_in_units as reading`. */
export const changeMembers = fragment(
  reading.timestamp,
  reading.location,
  reading.can,
  reading.status,
  reading.electric,
  reading.sensors,
);

const latestReading = ({ timestamp, location, status, electric, sensors }: typeof latest) =>
  [vehicle, timestamp, location, status, electric, sensors] as const;

/**
 * All members of the latest state of a vehicle, by answer; brief and full are for lists. They need the tables vehicle
 * and vehicle_latest. The location is left out while it is private.
 */
export const latestMembers = {
  brief: fragment(vehicle, listed.timestamp, listed.location, listed.status),
  customCan: fragment(vehicle, latest.timestamp, latest.location, latest.can, latest.status, latest.sensors),
  full: fragment(...latestReading(listed), listed.state),
  stateless: fragment(...latestReading(latest)),
} as const;

/** Members of the fleet vehicle record; needs the tables vehicle and device, the latter outer joined. */
export const fleetMembers = fragment(
  [fixed('"id":"'), computed('vehicle.id'), fixed('"')],
  jsonMembers({
    builder: 'vehicle.brand',
    model: 'vehicle.model',
    plate: 'vehicle.plate',
    deviceId: "coalesce(device.id, '')",
    deviceModel: "coalesce(device.model_id, '')",
    energy: 'vehicle.energy',
    bluetoothName: "coalesce(device.bluetooth_name, '')",
    seats: 'vehicle.seats',
    gearbox: 'vehicle.gearbox',
    kind: 'vehicle.kind',
    archived: 'vehicle.archived_at is not null',
    accessories: 'vehicle.accessories',
  }),
);

import { alarmKinds } from '@odograph/contracts/alarms';
import type { Viewer } from '@odograph/contracts/caller';
import { listPattern } from '@odograph/contracts/text-patterns';
import { kindsOfOpenAlarms } from '@odograph/database/alarms';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { privacyIsOn } from '@odograph/database/reading-json';
import { visibleTo } from '@odograph/database/vehicle-access';
import { isDescribedBy, isMoving, lastSpeed, maxPause, outOfService } from '@odograph/database/vehicle-conditions';
import { GroupFilter, moment, word } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { number, text } from '../shared/schemas.ts';

/** The states of a vehicle in the table; those of the live stream, and `archived`. */
export const tableStates = ['moving', 'parked', 'silent', 'private', 'archived'] as const;
const flags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;

export const TableVehicle = Type.Object(
  {
    id: text('vehicle identifier', '1000000001'),
    appId: text('the application that the vehicle belongs to', 'app-0001'),
    plate: text('license plate', 'AB-123-CD'),
    vin: text('vehicle identification number', 'VF1AG000000000001'),
    brand: text('make', 'Renault'),
    model: text('commercial name', 'Zoe'),
    energy: text('energy, registration-certificate nomenclature', 'EL'),
    deviceId: text('the linked device, empty without one', 'unit-0001'),
    state: word(tableStates),
    flags: Type.Array(word(flags), { description: 'raised state flags' }),
    alarms: Type.Array(word(alarmKinds), { description: 'the kinds of its open alarms' }),
    lastContact: Type.Optional(moment('when the platform last received a reading; left out if it never did')),
    time: Type.Optional(moment('device time of the newest reading')),
    location: Type.Optional(
      Type.Object(
        {
          latitude: number('decimal degrees', 48.8566),
          longitude: number('decimal degrees', 2.3522),
          time: moment('device time of the position'),
          address: Type.Optional(text('with `address=true`, as far as it is known', 'Depot')),
        },
        { title: 'TableLocation', description: 'left out while it is private' },
      ),
    ),
    speed: Type.Optional(number('km/h; left out while positions are private', 52)),
    mileage: Type.Optional(number('km', 15230.4)),
    soc: Type.Optional(number('charge level, %', 80)),
    range: Type.Optional(number('km', 210)),
    ignition: Type.Optional(Type.Boolean({ description: 'true engine running', examples: [false] })),
    parkedSince: Type.Optional(moment('device time at which the ignition was switched off')),
  },
  { title: 'TableVehicle', additionalProperties: false },
);
export type TableVehicle = Static<typeof TableVehicle>;

export const VehicleTable = Type.Object(
  {
    vehicles: Type.Array(TableVehicle),
    total: Type.Optional(
      Type.Integer({ description: 'vehicles on all pages; on the first page only', minimum: 0, examples: [1] }),
    ),
  },
  { title: 'VehicleTable' },
);

/** The columns of the table by which it can be sorted. */
export const sortColumns = [
  ...(['plate', 'vin', 'brand', 'model', 'energy', 'appId', 'deviceId', 'state', 'id'] as const),
  ...(['lastContact', 'time', 'speed', 'mileage', 'soc', 'range', 'parkedSince'] as const),
] as const;
export type SortColumn = (typeof sortColumns)[number];

/** The columns of the table as CSV. */
export const csvColumns = [...sortColumns, 'ignition', 'flags', 'latitude', 'longitude', 'address'] as const;
export type CsvColumn = (typeof csvColumns)[number];

const filter = (description: string) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$', description }));

export const VehicleTableQuery = Type.Object({
  q: filter('part of a plate, a VIN, a device id, make and model, or an identifier; in any case'),
  state: Type.Optional(
    Type.String({
      pattern: listPattern(tableStates),
      description: `separated by commas, of ${tableStates.join(', ')}; by default all but archived`,
      examples: ['moving,parked'],
    }),
  ),
  flag: Type.Optional(word(flags, { description: 'only vehicles with this state flag' })),
  appId: filter('only vehicles of this application'),
  group: GroupFilter,
  brand: filter('make, in any case'),
  model: filter('commercial name, in any case'),
  energy: filter('energy, in any case'),
  sort: Type.Optional(
    word([...sortColumns, ...sortColumns.map((column) => `-${column}` as const)], {
      description: 'column, by default plate; with a minus sign in descending order. Unknown values come last in both',
    }),
  ),
  address: Type.Optional(Type.Boolean({ description: 'adds known addresses to locations; to CSV as a column' })),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'vehicles on a page' }),
  after: filter('continues behind a vehicle; from the Link of the page before'),
  format: Type.Optional(word(['json', 'csv'], { description: 'csv: all vehicles that match, without limit' })),
  columns: Type.Optional(
    Type.String({
      pattern: listPattern(csvColumns),
      description: `columns of the CSV, separated by commas, of ${csvColumns.join(', ')}; by default all, \`address\` only with \`address=true\``,
      examples: ['plate,state,lastContact'],
    }),
  ),
});
export type VehicleTableQuery = Static<typeof VehicleTableQuery>;

/** The value of the sort column of a vehicle, null if unknown, and its id: where a page ends. */
export interface TableKey {
  readonly value: string | null;
  readonly id: number;
}

/** Which vehicles the table shows, and in what order. */
export interface TableRequest {
  readonly viewer: Viewer;
  /** Part of a plate, VIN, device id, make and model or identifier, in lower case. */
  readonly search?: string | undefined;
  readonly states: readonly TableVehicle['state'][];
  readonly flag?: TableVehicle['flags'][number] | undefined;
  readonly appId?: string | undefined;
  readonly brand?: string | undefined;
  readonly model?: string | undefined;
  readonly energy?: string | undefined;
  readonly sort: { readonly column: SortColumn; readonly isDescending: boolean };
}

export const isPrivate = sql.raw<boolean>(privacyIsOn);
const jsonNumber = (group: string, key: string) =>
  sql<number>`(vehicle_latest.${sql.ref(group)}->>${sql.lit(key)})::float8`;

const state = sql<TableVehicle['state']>`case when vehicle.archived_at is not null then 'archived'
  when ${isPrivate} then 'private'
  when vehicle_latest.received_at is null or now() >= vehicle_latest.received_at + ${maxPause} then 'silent'
  when ${isMoving} then 'moving' else 'parked' end`;

const unlessPrivate = (value: RawBuilder<unknown>) => sql`case when not ${isPrivate} then ${value} end`;
const isMileageOfFleet = sql`(vehicle_latest.fleet ? 'mileage'
  and (not coalesce(vehicle_latest.status ? 'mileage', false) or vehicle_latest.fleet_time >= vehicle_latest.status_time))`;
const parkedSince = sql`case when vehicle_latest.parked_location is not null and not ${isMoving} and not ${isPrivate}
  then vehicle_latest.parked_at end`;
const values = {
  speed: unlessPrivate(lastSpeed),
  mileage: sql`case when ${isMileageOfFleet} then ${jsonNumber('fleet', 'mileage')} else ${jsonNumber('status', 'mileage')} end`,
  soc: sql`coalesce(${jsonNumber('electric', 'soc')}, ${jsonNumber('fleet', 'ChargeLevel')})`,
  range: sql`coalesce(${jsonNumber('status', 'autonomy')}, ${jsonNumber('fleet', 'RemainingRange')})`,
};

/** How values of a sort column are compared: texts regardless of case, by their characters; an empty one is unknown. */
type SortType = 'text' | 'float8' | 'timestamptz';
interface SortKey {
  readonly type: SortType;
  /** Null if unknown. */
  readonly key: RawBuilder<unknown>;
}
const textKey = (column: string): SortKey => ({
  type: 'text',
  key: sql`nullif(lower(${sql.ref(column)}), '') collate "C"`,
});
const timeKey = (key: RawBuilder<unknown>): SortKey => ({ type: 'timestamptz', key });
const numberKey = (key: RawBuilder<unknown>): SortKey => ({ type: 'float8', key });

const sortKeys: Readonly<Record<SortColumn, SortKey>> = {
  id: numberKey(sql`vehicle.id::float8`),
  // as in the index vehicle_order
  plate: { type: 'text', key: sql`lower(vehicle.plate) collate "C"` },
  vin: textKey('vehicle.vin'),
  brand: textKey('vehicle.brand'),
  model: textKey('vehicle.model'),
  energy: textKey('vehicle.energy'),
  appId: textKey('application.app_id'),
  deviceId: textKey('linked.device_id'),
  state: { type: 'text', key: sql`(${state}) collate "C"` },
  lastContact: timeKey(sql`vehicle_latest.received_at`),
  time: timeKey(sql`vehicle_latest.time`),
  parkedSince: timeKey(parkedSince),
  speed: numberKey(values.speed),
  mileage: numberKey(values.mileage),
  soc: numberKey(values.soc),
  range: numberKey(values.range),
};

/** The type of the values of a sort column in PostgreSQL. */
export const sortTypeOf = (column: SortColumn): SortType => sortKeys[column].type;

/** PostgreSQL leaves out the outer joins that a statement does not use, except for the links. */
function tablesOf({ sort }: Pick<TableRequest, 'sort'>): RawBuilder<unknown> {
  return sql`vehicle left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    left join application on application.id = vehicle.application_id
    ${
      sort.column === 'deviceId'
        ? sql`left join (select vehicle_id, device_id from device_link where period @> now()) as linked
      on linked.vehicle_id = vehicle.id`
        : sql``
    }`;
}

function contains(search: string): RawBuilder<boolean> {
  const isId = /^\d+$/.test(search) ? sql`or strpos(vehicle.id::text, ${search}) = 1` : sql``;
  return sql<boolean>`(${isDescribedBy(search)} ${isId} or vehicle.id in (
    select vehicle_id from device_link where strpos(lower(device_id), ${search}) > 0 and period @> now()))`;
}

/** Conditions that need the latest state only if a state other than archived is asked for on its own. */
function isInStates(states: TableRequest['states']): RawBuilder<boolean> {
  const asked = new Set(states);
  const living = ['moving', 'parked', 'silent', 'private'] as const;
  if (living.every((one) => asked.has(one))) {
    return asked.has('archived') ? sql<boolean>`true` : sql<boolean>`vehicle.archived_at is null`;
  }
  if (!living.some((one) => asked.has(one))) return sql<boolean>`vehicle.archived_at is not null`;
  return sql<boolean>`${state} = any(${[...states]}::text[])`;
}

function isRequested(request: TableRequest): RawBuilder<boolean> {
  const { viewer, search, states, flag, appId } = request;
  const equal = (['brand', 'model', 'energy'] as const).flatMap((column) => {
    const value = request[column];
    return value === undefined ? [] : [sql<boolean>`lower(${sql.ref(`vehicle.${column}`)}) = lower(${value})`];
  });
  const conditions = [
    visibleTo(viewer),
    isInStates(states),
    ...equal,
    ...(flag === undefined ? [] : [sql<boolean>`${sql.ref(`vehicle.${flag}`)}`]),
    ...(appId === undefined ? [] : [sql<boolean>`application.app_id = ${appId}`]),
    ...(search === undefined ? [] : [contains(search)]),
  ];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

/** Values of a page's end as the parameter `after` has them: times in microseconds. */
const comparable: Readonly<Record<SortType, (value: string) => RawBuilder<unknown>>> = {
  text: (value) => sql`${value}::text`,
  float8: (value) => sql`${value}::float8`,
  timestamptz: (value) => sql`timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`,
};
const written = (type: SortType) =>
  type === 'timestamptz' ? sql`(extract(epoch from page.key) * 1000000)::bigint::text` : sql`page.key::text`;

/** True for the rows of `found` that follow a key in the order of the table: unknown values last, equal ones by id. */
function isAfter({ sort: { column, isDescending } }: TableRequest, { value, id }: TableKey): RawBuilder<boolean> {
  const follows = isDescending ? sql`<` : sql`>`;
  if (value === null) return sql<boolean>`(found.key is null and found.id ${follows} ${id})`;
  const known = comparable[sortKeys[column].type](value);
  const rest = sql<boolean>`(found.key, found.id) ${follows} (${known}, ${id}::integer)`;
  return column === 'plate' ? rest : sql<boolean>`(${rest} or found.key is null)`;
}

/** Selects the ids of vehicles in order, with the values of the sort column. */
function selectIds(request: TableRequest, after: TableKey | undefined, limit: number | undefined) {
  const { column, isDescending } = request.sort;
  const direction = isDescending ? sql`desc` : sql`asc`;
  // A plate is never unknown, so its index has both orders. Other values are computed once for each vehicle, not again for
  // each comparison: "offset 0" keeps PostgreSQL from moving them into the condition.
  const [nulls, once] = column === 'plate' ? [sql``, sql``] : [sql`nulls last`, sql`offset 0`];
  return sql`select found.id, found.key
    from (select vehicle.id, ${sortKeys[column].key} as key from ${tablesOf(request)}
      where ${isRequested(request)} ${once}) as found
    where ${after ? isAfter(request, after) : sql`true`}
    order by found.key ${direction} ${nulls}, found.id ${direction}
    limit ${limit === undefined ? sql`all` : sql`${limit}::integer`}`;
}

/** The fields of TableVehicle; those that are null are left out. */
const vehicleJson = sql<TableVehicle>`json_strip_nulls(json_build_object(
  'id', vehicle.id::text, 'appId', application.app_id, 'plate', vehicle.plate, 'vin', vehicle.vin,
  'brand', vehicle.brand, 'model', vehicle.model, 'energy', vehicle.energy,
  'deviceId', coalesce((select device_id from device_link where device_link.vehicle_id = vehicle.id
    and device_link.period @> now()), ''),
  'state', ${state}, 'flags', array_remove(${outOfService}, 'archived'),
  'alarms', ${kindsOfOpenAlarms},
  'lastContact', ${isoTime('vehicle_latest.received_at')}, 'time', ${isoTime('vehicle_latest.time')},
  'location', ${unlessPrivate(sql`case when vehicle_latest.location is not null then json_build_object(
    'latitude', vehicle_latest.location->'latitude', 'longitude', vehicle_latest.location->'longitude',
    'time', ${isoTime('vehicle_latest.location_time')}) end`)},
  'speed', ${values.speed}, 'mileage', ${values.mileage}, 'soc', ${values.soc}, 'range', ${values.range},
  'ignition', vehicle_latest.status->'ignition', 'parkedSince', ${isoTime(parkedSince)}))`;

/** Reads a page of the table. @returns the vehicles, each with its key */
export async function readTable(
  db: Database,
  request: TableRequest,
  after: TableKey | undefined,
  limit: number,
): Promise<{ vehicle: TableVehicle; key: TableKey }[]> {
  const { rows } = await sql<{ vehicle: TableVehicle; value: string | null }>`
    with page as materialized (select row_number() over () as place, ids.* from (${selectIds(request, after, limit)}) as ids)
    select ${vehicleJson} as vehicle, ${written(sortKeys[request.sort.column].type)} as value
    from page join vehicle on vehicle.id = page.id
    join application on application.id = vehicle.application_id
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    order by page.place`.execute(db);
  return rows.map(({ vehicle, value }) => ({ vehicle, key: { value, id: Number(vehicle.id) } }));
}

/** Counts the vehicles of the whole table. */
export async function countTable(db: Database, request: TableRequest): Promise<number> {
  const { rows } = await sql<{
    total: number;
  }>`select count(*) as total from ${tablesOf({ sort: { column: 'id', isDescending: false } })}
    where ${isRequested(request)}`.execute(db);
  return rows[0]?.total ?? 0;
}

const vehiclesPerRead = 1000;

/**
 * Reads the whole table, in the order at the time of the call; no connection is held between parts. Vehicles that are no
 * longer visible when their part is read are left out.
 */
export async function* readWholeTable(db: Database, request: TableRequest): AsyncGenerator<TableVehicle[]> {
  const { rows } = await sql<{ ids: number[] }>`
    select coalesce(array_agg(id), '{}') as ids from (${selectIds(request, undefined, undefined)}) as ids`.execute(db);
  const ids = rows[0]?.ids ?? [];
  for (let start = 0; start < ids.length; start += vehiclesPerRead) {
    const part = ids.slice(start, start + vehiclesPerRead);
    const read = await sql<{ vehicle: TableVehicle }>`
      select ${vehicleJson} as vehicle
      from unnest(${part}::integer[]) with ordinality as part (id, place) join vehicle on vehicle.id = part.id
      join application on application.id = vehicle.application_id
      left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
      where ${visibleTo(request.viewer)} order by part.place`.execute(db);
    yield read.rows.map(({ vehicle }) => vehicle);
  }
}

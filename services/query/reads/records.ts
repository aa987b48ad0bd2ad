import { type FieldFacts, type quantityFields, readingFields } from '@odograph/contracts/fields';
import { isoMicroseconds, type Microseconds, parseOptionalTimestamp } from '@odograph/contracts/timestamps';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { latestLists, privacyIsOn } from '@odograph/database/reading-json';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { canField, columnFields, columnOf, sensorField, unitOf } from '../shared/fields.ts';
import { findKeyUnits } from '../shared/key-units.ts';
import { VehicleParameters } from '../shared/schemas.ts';

const DeviceId = Type.String({ description: 'device identifier', examples: ['unit-0001'] });

const VehicleLink = Type.Object(
  {
    deviceId: DeviceId,
    from: Type.Optional(moment('start, inclusive; left out for a link that reaches back without bound')),
    until: Type.Optional(moment('end, exclusive; left out while the device is linked')),
  },
  { title: 'VehicleLink' },
);
type VehicleLink = Static<typeof VehicleLink>;

const LatestValue = Type.Object(
  {
    group: Type.String({
      description: 'location, status, electric, fleet, alarms, can, or sensors',
      examples: ['can'],
    }),
    name: Type.String({
      description: 'the name within the group; of a sensor, its name and the key',
      examples: ['rpm'],
    }),
    value: Type.Unsafe<string | number | boolean>({
      anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
      description: 'as the device reported it; CAN data and sensors are texts',
      examples: ['2100'],
    }),
    unit: Type.String({ description: 'empty if it has none or is unknown', examples: [''] }),
    time: moment('device time of the last report of the group'),
    field: Type.Optional(
      Type.String({
        description: 'name of the field in GET /v1/x/vehicle/{id}/series; left out without one',
        examples: ['can.rpm'],
      }),
    ),
  },
  { title: 'LatestValue' },
);
type LatestValue = Static<typeof LatestValue>;

const members = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description, examples: [{}] }));
const list = (description: string) => Type.Optional(Type.Array(Type.Unknown(), { description, examples: [[]] }));

const RecordedReading = Type.Object(
  {
    time: moment('device time, to the microsecond'),
    receivedAt: moment('when the platform received it'),
    deviceId: DeviceId,
    sequence: Type.Optional(Type.Integer({ description: 'the number that the device gave it', examples: [17] })),
    location: members('position, speed and satellites; without a position in a privacy interval'),
    status: members('as in the status object'),
    electric: members('as in the electric object'),
    can: list('CAN data'),
    sensors: list('sensors'),
    fleet: members('what the device reported of the fleet vehicle status record'),
    alarms: members('alarms of the device'),
  },
  { title: 'RecordedReading', description: 'what was not reported is left out' },
);
type RecordedReading = Static<typeof RecordedReading>;

const RecordsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'readings in the answer' }),
  before: Type.Optional(timestamp('only readings with an earlier device time')),
});

/** A field group of the latest state, as stored, with its device time. */
interface LatestGroup {
  readonly group: string;
  readonly time: string;
  readonly content: unknown;
}

interface Datum {
  readonly key: string;
  readonly value: string;
}
interface Sensor {
  readonly name: string;
  readonly data: readonly Datum[];
}

const isValue = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

type Groups = Readonly<Record<string, Readonly<Record<string, FieldFacts>>>>;

/** Lists the values of a group one by one; lists within a group, such as cards, as JSON. */
function valuesOf({ group, time, content }: LatestGroup, unitsByKey: ReadonlyMap<string, string>): LatestValue[] {
  const facts: Readonly<Record<string, FieldFacts>> = (readingFields as Groups)[group] ?? {};
  const row = (name: string, value: LatestValue['value'], field: string | undefined): LatestValue => ({
    ...{ group, name, value, unit: facts[name]?.unit ?? unitOf(field ?? '', unitsByKey), time },
    ...(field !== undefined && { field }),
  });
  if (group === 'can') return (content as Datum[]).map(({ key, value }) => row(key, value, canField(key)));
  if (group === 'sensors') {
    return (content as Sensor[]).flatMap(({ name, data }) =>
      data.map(({ key, value }) => row(`${name} ${key}`, value, sensorField(name, key))),
    );
  }
  return Object.entries(content as object).map(([name, value]) => {
    const hasSeries = group !== 'fleet' && columnFields.some((field) => field === name);
    return row(name, isValue(value) ? value : JSON.stringify(value), hasSeries ? name : undefined);
  });
}

const maxLinks = 1000;

/** Lists the devices that were linked to a vehicle, the newest link first, at most 1,000. */
async function listLinks(db: Database, vehicleId: number): Promise<VehicleLink[]> {
  const { rows } = await sql<{ link: VehicleLink }>`
    select json_strip_nulls(json_build_object('deviceId', device_id,
      'from', ${isoTime(sql`nullif(lower(period), '-infinity')`)}, 'until', ${isoTime(sql`nullif(upper(period), 'infinity')`)})) as link
    from device_link where vehicle_id = ${vehicleId}
    order by lower(period) desc nulls last limit ${maxLinks}::integer`.execute(db);
  return rows.map(({ link }) => link);
}

const groups = ['location', 'status', 'electric', 'fleet', 'alarms', 'can', 'sensors'] as const;

/** Reads the latest field groups of a vehicle; while privacy is on, without its position and data whose key denotes one. */
async function readLatestGroups(db: Database, vehicleId: number): Promise<LatestGroup[]> {
  const contentOf = (group: (typeof groups)[number]): RawBuilder<unknown> => {
    if (group === 'can' || group === 'sensors') return sql`(${sql.raw(latestLists[group])})`;
    const content = sql.ref(`vehicle_latest.${group}`);
    return group === 'location' ? sql`case when not ${sql.raw(privacyIsOn)} then ${content} end` : content;
  };
  const listed = groups.map(
    (group) => sql`(${sql.lit(group)}, ${isoTime(`vehicle_latest.${group}_time`)}, ${contentOf(group)})`,
  );
  const { rows } = await sql<LatestGroup>`
    select latest.* from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    cross join lateral (values ${sql.join(listed)}) as latest ("group", time, content)
    where vehicle.id = ${vehicleId} and latest.content is not null`.execute(db);
  return rows;
}

const object = (group: Readonly<Record<string, FieldFacts>>) =>
  sql.join(
    Object.keys(group).flatMap((field) => [sql.lit(field), sql.ref(columnOf(field as keyof typeof quantityFields))]),
  );
const unlessEmpty = (content: RawBuilder<unknown>) => sql`nullif(jsonb_strip_nulls(${content}), '{}')`;

/** Reads the newest readings of a vehicle as they are stored, the newest first. @param before device time; undefined for all */
export async function readNewest(
  db: Database,
  vehicleId: number,
  before: Microseconds | undefined,
  limit: number,
): Promise<RecordedReading[]> {
  const isEarlier = before === undefined ? sql`true` : sql`time < ${isoMicroseconds(before)}::timestamptz`;
  const { rows } = await sql<{ reading: RecordedReading }>`
    select jsonb_strip_nulls(jsonb_build_object('time', ${isoTime('time', 'microseconds')}, 'receivedAt', ${isoTime('received_at')},
      'deviceId', device_id, 'sequence', sequence))
      || jsonb_strip_nulls(jsonb_build_object(
        'location', ${unlessEmpty(sql`jsonb_build_object(${object(readingFields.location)})`)},
        'status', ${unlessEmpty(sql`jsonb_build_object(${object(readingFields.status)})`)},
        'electric', ${unlessEmpty(sql`jsonb_build_object(${object(readingFields.electric)})`)},
        'can', ${sql.raw(allCanValues)}, 'sensors', sensors, 'fleet', fleet, 'alarms', alarms)) as reading
    from reading_in_units as reading where vehicle_id = ${vehicleId} and ${isEarlier}
    order by time desc limit ${limit}::integer`.execute(db);
  return rows.map(({ reading }) => reading);
}

/** Additions to the interface: what the platform has of a vehicle, value by value, reading by reading, and from which device. */
export function recordRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/values',
      {
        schema: {
          tags: ['latest'],
          summary: 'Every latest value of a vehicle with its time and unit',
          params: VehicleParameters,
          response: answers(Type.Object({ values: Type.Array(LatestValue) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        const [groups, unitsByKey] = await Promise.all([readLatestGroups(db, vehicleId), findKeyUnits(db, vehicleId)]);
        return { values: groups.flatMap((group) => valuesOf(group, unitsByKey)) };
      },
    );

    http.get(
      '/v1/x/vehicle/:id/readings',
      {
        schema: {
          tags: ['history'],
          summary: 'The newest readings of a vehicle as they are stored, with device, sequence and time of receipt',
          params: VehicleParameters,
          querystring: RecordsQuery,
          response: answers(Type.Object({ readings: Type.Array(RecordedReading) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params, query: { limit, before } }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        return { readings: await readNewest(db, vehicleId, parseOptionalTimestamp('before', before), limit) };
      },
    );

    http.get(
      '/v1/x/vehicle/:id/links',
      {
        schema: {
          tags: ['vehicles and devices'],
          summary: 'The devices that are or were linked to a vehicle, the newest link first',
          params: VehicleParameters,
          response: answers(Type.Object({ links: Type.Array(VehicleLink) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params }) => ({ links: await listLinks(db, await findVisibleVehicle(db, viewer, params.id)) }),
    );
  };
}

import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp, word } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import {
  canField,
  columnFields,
  columnOf,
  type Field,
  numberPattern,
  parseFields,
  parseInterval,
  type SeriesInterval,
  sensorField,
  unitOf,
} from '../shared/fields.ts';
import { findKeyUnits } from '../shared/key-units.ts';
import { instant } from '../shared/reading-keys.ts';
import { VehicleParameters } from '../shared/schemas.ts';

const FieldName = Type.String({
  description: 'name of a field: a quantity, can.KEY or sensors.NAME.KEY, with percent encoding within the parts',
  examples: ['speed'],
});
const numbers = (description: string, example: number) =>
  Type.Array(Type.Number({ examples: [example] }), { description });

export const Series = Type.Object(
  {
    field: FieldName,
    times: numbers('device time of the first value of each bucket, UNIX seconds, ascending', 1772440200.25),
    minimum: numbers('smallest value of each bucket', 48),
    maximum: numbers('largest value of each bucket', 52),
    mean: numbers('arithmetic mean of the values of each bucket', 50),
    count: numbers('values in each bucket', 10),
  },
  { title: 'Series' },
);
export type Series = Static<typeof Series>;

const SeriesAnswer = Type.Object(
  {
    from: moment('start, inclusive'),
    until: moment('end, exclusive'),
    method: word(['READINGS', 'BUCKETS', 'SAMPLES'], {
      description:
        `READINGS: each reading is a bucket of its own; BUCKETS: all readings, in buckets; SAMPLES: buckets over
        windows of time that are evenly spread, because the readings are too many to read all`.replace(/\s+/g, ' '),
    }),
    bucketSeconds: Type.Number({ description: 'length of a bucket; the first starts at from', examples: [60] }),
    series: Type.Array(Series, { description: 'in the order of the parameter; buckets without a value are left out' }),
  },
  { title: 'SeriesAnswer' },
);

const SeriesQuery = Type.Object({
  fields: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: 'names of up to 8 fields, separated by commas, as GET /v1/x/vehicle/{id}/fields lists them',
    examples: ['speed,soc'],
  }),
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 366 days after the start'),
  points: Type.Integer({ minimum: 1, maximum: 2000, default: 500, description: 'buckets in a series at most' }),
});

const FieldsAnswer = Type.Object(
  {
    fields: Type.Array(
      Type.Object(
        {
          field: FieldName,
          unit: Type.String({ description: 'empty if it has none or is unknown', examples: ['km/h'] }),
        },
        { title: 'Field' },
      ),
    ),
  },
  { title: 'Fields' },
);

/** The series of some fields in an interval, in at most `points` buckets of the same length each. */
interface SeriesRequest extends SeriesInterval {
  readonly vehicleId: number;
  readonly fields: readonly Field[];
  readonly points: number;
}

/** How the readings of an answer were chosen. */
type Method = 'READINGS' | 'BUCKETS' | 'SAMPLES';

const secondsOf = (microseconds: string) => Number(microseconds) / 1e6;
const microseconds = (time: RawBuilder<unknown>) => sql`(extract(epoch from ${time}) * 1000000)::bigint::text`;
const interval = (length: Microseconds) => sql`${String(length)}::bigint * interval '1 microsecond'`;
const isWithin = ({ vehicleId, from, until }: SeriesRequest) =>
  sql<boolean>`reading.vehicle_id = ${vehicleId} and reading.time >= ${instant(from)} and reading.time < ${instant(until)}`;

/** The values of the fields of a reading as `value_0`, `value_1`, … */
const valuesOf = (fields: readonly Field[]) =>
  sql.join(fields.map(({ value }, index) => sql`${value} as ${sql.ref(`value_${index}`)}`));

/** Reads the readings of an interval if they are at most `points`; undefined if they are more. */
async function readReadings(db: Database, request: SeriesRequest): Promise<Series[] | undefined> {
  const { fields, points } = request;
  // Without an order, the scan ends at the limit, however many readings the interval has.
  const { rows } = await sql<{ [value: `value_${number}`]: number | null; at: string }>`
    select ${microseconds(sql`time`)} as at, taken.*
    from (select reading.time, ${valuesOf(fields)} from reading_in_units as reading
      where ${isWithin(request)} limit ${points + 1}::integer) as taken`.execute(db);
  if (rows.length > points) return undefined;
  const sorted = rows.sort((one, other) => Number(one.at) - Number(other.at));
  return fields.map(({ name }, index) => {
    const known = sorted.flatMap(({ at, [`value_${index}` as const]: value }) =>
      typeof value === 'number' ? [{ at: secondsOf(at), value }] : [],
    );
    const values = known.map(({ value }) => value);
    const times = known.map(({ at }) => at);
    return { field: name, times, minimum: values, maximum: values, mean: values, count: values.map(() => 1) };
  });
}

/**
 * Cost limits of statements over all readings and over a sample, in readings of which one column is read. A sample of
 * many windows decompresses much more than it reads: below the limit it takes longer than reading everything.
 */
const costLimit = 4_000_000;
const sampleCost = 1_000_000;
/** Reading a value from JSON costs about as much as that many columns. */
const jsonCost = 20;
/** Windows of a sample: each costs an index search and the decompression of at least 1,000 readings. */
const sampleWindows = 2000;

const costOfReading = (fields: readonly Field[]) =>
  fields.reduce((sum, { isJson }) => sum + (isJson ? jsonCost : 0.25), 0.75);

/**
 * Estimates the readings of an interval from the counts by hour. Where they are not counted yet, it assumes one a second
 * as long as the vehicle has data.
 */
export async function estimateReadings(db: Database, { vehicleId, from, until }: SeriesRequest): Promise<number> {
  const { rows } = await sql<{ readings: number }>`
    with counted as (select coalesce(max(counted_until), '-infinity') as until from reading_settlement)
    select coalesce((select sum(coalesce(count, 3600)) from reading_count where vehicle_id = ${vehicleId}
        and hour > ${instant(from)} - interval '1 hour' and hour < ${instant(until)}), 0)::float8
      + coalesce((select greatest(0, extract(epoch from least(time, ${instant(until)})
          - greatest(earliest_time, counted.until, ${instant(from)})))
        from vehicle_latest where vehicle_id = ${vehicleId}), 0)::float8 as readings from counted`.execute(db);
  return rows[0]?.readings ?? 0;
}

/** Aggregates over the values of fields, and the time of the first value of each. */
const aggregates = (fields: readonly Field[]) =>
  sql.join(
    fields.map((_, index) => {
      const value = sql.ref(`value_${index}`);
      const first = sql`min(time) filter (where ${value} is not null)`;
      return sql`json_build_array(${microseconds(first)}, min(${value}), max(${value}), avg(${value}), count(${value}))
        as ${sql.ref(`value_${index}`)}`;
    }),
  );

type Bucket = readonly [first: string | null, minimum: number, maximum: number, mean: number, count: number];

/**
 * Reads the minimum, maximum, mean and count of each bucket.
 * @param share of the readings to read. Below 1, windows of the same length, evenly spread over the interval, are read as
 *   a whole, at least one for each bucket; what lies between them is not read
 */
export async function readBuckets(db: Database, request: SeriesRequest, share = 1): Promise<Series[]> {
  const { fields, from, until, points } = request;
  const length = ceilingOf(until - from, points);
  // Otherwise PostgreSQL would read JSON again for each aggregate.
  const fence = fields.some(({ isJson }) => isJson) ? sql`offset 0` : sql``;
  const all = sql`select reading.time, ${valuesOf(fields)} from reading_in_units as reading where ${isWithin(request)} ${fence}`;
  const { rows } = await sql<{ [value: `value_${number}`]: Bucket }>`
    select date_bin(${interval(length)}, time, ${instant(from)}) as bucket, ${aggregates(fields)}
    from (${share < 1 ? selectSample(request, length, share) : all}) as taken
    group by bucket order by bucket`.execute(db);
  return fields.map(({ name }, index) => {
    const buckets = rows.flatMap(({ [`value_${index}` as const]: bucket }) => (bucket?.[0] ? [bucket] : []));
    return {
      field: name,
      times: buckets.map(([first]) => secondsOf(first ?? '')),
      minimum: buckets.map(([, minimum]) => minimum),
      maximum: buckets.map(([, , maximum]) => maximum),
      mean: buckets.map(([, , , mean]) => mean),
      count: buckets.map(([, , , , count]) => count),
    };
  });
}

const ceilingOf = (dividend: bigint, divisor: number) => (dividend + BigInt(divisor) - 1n) / BigInt(divisor);

/** Selects the readings of the windows of a sample. */
function selectSample({ vehicleId, fields, from, until, points }: SeriesRequest, bucket: Microseconds, share: number) {
  const perBucket = Math.max(1, Math.floor(sampleWindows / points));
  const distance = ceilingOf(bucket, perBucket);
  const length = BigInt(Math.max(1, Math.round(Number(distance) * share)));
  // "offset 0" keeps the search of one window apart, which visits only its chunk. The least of both ends in one comparison
  // would decompress the whole chunk.
  return sql`select sample.* from generate_series(0, ${Number((until - from - 1n) / distance)}::integer) as window_number
    cross join lateral (select ${instant(from)} + window_number * ${interval(distance)} as start) as of_window
    cross join lateral (select reading.time, ${valuesOf(fields)} from reading_in_units as reading
      where reading.vehicle_id = ${vehicleId} and reading.time >= of_window.start
        and reading.time < of_window.start + ${interval(length)} and reading.time < ${instant(until)} offset 0) as sample`;
}

/** Reads series: the readings themselves if they are few, else buckets, from a sample if they are too many. */
async function readSeries(db: Database, request: SeriesRequest): Promise<{ method: Method; series: Series[] }> {
  const readings = await readReadings(db, request);
  if (readings) return { method: 'READINGS', series: readings };
  const cost = (await estimateReadings(db, request)) * costOfReading(request.fields);
  if (cost <= costLimit) return { method: 'BUCKETS', series: await readBuckets(db, request) };
  return { method: 'SAMPLES', series: await readBuckets(db, request, sampleCost / cost) };
}

const fieldWindows = 100;
const readingsPerWindow = 10;
const newestReadings = 500;

/**
 * Finds the fields for which a vehicle has data: those of its 500 newest readings, and of up to 1,000 readings evenly spread
 * over all its time. @returns names
 */
async function findFields(db: Database, vehicleId: number): Promise<string[]> {
  const bounds = await findBounds(db, vehicleId);
  if (!bounds) return [];
  const [from, until] = [isoMicroseconds(bounds.from), isoMicroseconds(bounds.until)];
  const columns = columnFields.map((field) => sql.ref(columnOf(field)));
  const can = sql`${sql.raw(allCanValues)} as can`;
  const { rows } = await sql<{ columns: boolean[]; can: string[]; sensors: [string, string][] }>`
    with sample as materialized (
      (select ${sql.join(columns)}, ${can}, sensors from reading_in_units as reading where vehicle_id = ${vehicleId}
        and time <= ${until}::timestamptz and time > ${until}::timestamptz - interval '7 days'
        order by time desc limit ${newestReadings}::integer)
      union all
      select taken.* from generate_series(0, ${fieldWindows - 1}::integer) as window_number
      cross join lateral (select ${columns.length === 0 ? sql`` : sql.join(columns)}, ${can}, sensors
        from reading_in_units as reading
        where vehicle_id = ${vehicleId}
          and time >= ${from}::timestamptz + window_number * (${until}::timestamptz - ${from}::timestamptz) / ${fieldWindows}::integer
          and time <= ${from}::timestamptz + (window_number + 1) * (${until}::timestamptz - ${from}::timestamptz) / ${fieldWindows}::integer
        limit ${readingsPerWindow}::integer) as taken),
    can_keys as (select distinct datum->>'key' as key from sample, jsonb_array_elements(can) as datum
      where datum->>'value' ~ ${numberPattern}),
    sensor_keys as (select distinct sensor->>'name' as name, datum->>'key' as key from sample,
      jsonb_array_elements(sensors) as sensor, jsonb_array_elements(sensor->'data') as datum
      where datum->>'value' ~ ${numberPattern})
    select array[${sql.join(columns.map((column) => sql`coalesce(bool_or(${column} is not null), false)`))}] as columns,
      (select coalesce(array_agg(key order by key), '{}') from can_keys) as can,
      (select coalesce(json_agg(json_build_array(name, key) order by name, key), '[]') from sensor_keys) as sensors
    from sample`.execute(db);
  const [row] = rows;
  if (!row) return [];
  return [
    ...columnFields.filter((_, index) => row.columns[index]),
    ...row.can.map(canField),
    ...row.sensors.map(([sensor, key]) => sensorField(sensor, key)),
  ];
}

/** Finds the times of the oldest and the newest reading of a vehicle. */
async function findBounds(
  db: Database,
  vehicleId: number,
): Promise<{ from: Microseconds; until: Microseconds } | undefined> {
  const { rows } = await sql<{ from: string; until: string }>`
    select ${microseconds(sql`coalesce(earliest_time, (select min(time) from reading where vehicle_id = ${vehicleId}), time)`)} as from,
      ${microseconds(sql`time`)} as until from vehicle_latest where vehicle_id = ${vehicleId}`.execute(db);
  const [row] = rows;
  return row && { from: BigInt(row.from), until: BigInt(row.until) };
}

/** An addition to the interface: charts of the fields of a vehicle. */
export function seriesRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/series',
      {
        schema: {
          tags: ['history'],
          summary: 'Fields of a vehicle over time, with minimum, maximum, mean and count in each bucket',
          params: VehicleParameters,
          querystring: SeriesQuery,
          response: answers(SeriesAnswer, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async ({ viewer, params, query }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        const { from, until } = parseInterval(query, 366);
        const { points } = query;
        const { method, series } = await readSeries(db, {
          vehicleId,
          fields: parseFields(query.fields),
          from,
          until,
          points,
        });
        return {
          ...{ from: isoMicroseconds(from), until: isoMicroseconds(until), method },
          ...{ bucketSeconds: Math.ceil(Number(until - from) / points) / 1e6, series },
        };
      },
    );

    http.get(
      '/v1/x/vehicle/:id/fields',
      {
        schema: {
          tags: ['history'],
          summary: 'The fields of a vehicle that have data',
          description:
            `From its newest 500 readings, and from 1,000 readings that are spread evenly over all its time; a field
            that was reported only now and then may be missing.`.replace(/\s+/g, ' '),
          params: VehicleParameters,
          response: answers(FieldsAnswer, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        const [fields, unitsByKey] = await Promise.all([findFields(db, vehicleId), findKeyUnits(db, vehicleId)]);
        return { fields: fields.map((field) => ({ field, unit: unitOf(field, unitsByKey) })) };
      },
    );
  };
}

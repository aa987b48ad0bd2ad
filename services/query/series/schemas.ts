import { moment, timestamp, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

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

export const SeriesAnswer = Type.Object(
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

export const SeriesQuery = Type.Object({
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

export const FieldsAnswer = Type.Object(
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

import { GroupFilter, moment, timestamp, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';
import { number } from '../shared/schemas.ts';

/** The subjects of an export. */
export const subjects = ['readings', 'trips', 'gaps'] as const;
export type ExportSubject = (typeof subjects)[number];

export const exportFormats = ['csv', 'ndjson', 'gpx', 'geojson', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The parameters of an export that are the same for a download and for a job. */
export const exportParameters = {
  of: Type.Optional(
    word(subjects, {
      description: 'readings by device time (default); trips by their start, gaps by when they were noticed',
    }),
  ),
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive'),
  format: word(exportFormats, { description: 'gpx and geojson: readings that have a position, and no trips or gaps' }),
  group: GroupFilter,
  address: Type.Optional(
    Type.Boolean({ description: 'for trips: adds the columns first_address and last_address, with known addresses' }),
  ),
  fields: Type.Optional(
    Type.String({
      maxLength: 4096,
      pattern: '^[^\\u0000]*$',
      description: `columns of the readings, separated by commas, for csv, geojson and parquet: quantities as GET
        /v1/x/vehicle/{id}/fields lists them, latitude, longitude, device, can.KEY, sensors.NAME.KEY, and can and sensors as
        JSON. By default all quantities that are columns, without can and sensors`.replace(/\s+/g, ' '),
      examples: ['latitude,longitude,speed,can.rpm'],
    }),
  ),
};

export const ExportQuery = Type.Object(exportParameters);
export type ExportQuery = Static<typeof ExportQuery>;

/** A job as its client sees it. */
export const ExportState = Type.Object(
  {
    id: Type.String({ examples: ['7d4f8c62-0c4b-4f0e-9a60-0c2f3d1b5a77'] }),
    state: word(['QUEUED', 'RUNNING', 'DONE', 'FAILED']),
    progress: number('from 0 to 1', 0.4),
    rows: number('written so far', 1_200_000),
    bytes: number('size of the file so far', 48_000_000),
    of: word(subjects),
    format: word(exportFormats),
    from: moment('start, inclusive'),
    until: moment('end, exclusive'),
    fields: Type.Optional(Type.String({ examples: ['latitude,longitude'] })),
    address: Type.Optional(Type.Boolean({ description: 'with addresses' })),
    vehicleId: Type.Optional(Type.String({ description: 'the only vehicle', examples: ['1000000001'] })),
    group: GroupFilter,
    createdAt: moment('when it was requested'),
    finishedAt: Type.Optional(moment('time of completion or failure')),
    expiresAt: Type.Optional(moment('when it is deleted, a day after its end')),
    reason: Type.Optional(
      Type.String({ description: 'why it failed', examples: ['exports have reached their limit of 20480 MiB'] }),
    ),
  },
  { title: 'ExportJob' },
);
export type ExportState = Static<typeof ExportState>;

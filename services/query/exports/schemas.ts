import { timestamp, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

/** What an export holds. */
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

import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import { VehicleParameters } from '../schemas.ts';
import { findFields, readSeries } from './queries.ts';
import { parseFields, parseInterval, unitOf } from './rules.ts';
import { FieldsAnswer, SeriesAnswer, SeriesQuery } from './schemas.ts';

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
        const fields = await findFields(db, await findVisibleVehicle(db, viewer, params.id));
        return { fields: fields.map((field) => ({ field, unit: unitOf(field) })) };
      },
    );
  };
}

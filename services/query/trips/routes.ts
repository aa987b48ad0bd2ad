import { failures, invalidParameter } from '@odograph/contracts/failures';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { sendJson, sendPage } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { findUsualWindow, hasTrips, listTrips } from './queries.ts';
import { writeTimestamp } from './rules.ts';

const maximumTrips = 1000;
const moment = (description: string) =>
  Type.Optional(Type.String({ description: `${description}: ISO 8601, UNIX seconds or milliseconds` }));
const count = (standard: number, description: string) => Type.Integer({ minimum: 0, default: standard, description });

/** The schema validator lets the word Infinity pass for an integer. */
function finite(field: string, value: number): number {
  if (!Number.isFinite(value)) throw invalidParameter(field, 'must be integer');
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

const TripsQuery = Type.Object({
  from: moment('earliest start, inclusive; without it the start of this month in the time zone of the application'),
  until: moment('latest start, inclusive; without it now'),
  offset: count(0, 'trips to skip'),
  limit: count(100, `trips in the answer, at most ${maximumTrips}`),
});

const number = (description: string) => Type.Number({ description });
const Position = Type.Object({ latitude: Type.Number(), longitude: Type.Number() });
const Trip = Type.Object({
  trip_id: Type.String({ description: 'keeps when late data changes the trip a little' }),
  timestamp: Type.String({ description: 'start, ISO 8601 UTC' }),
  distance: number('km'),
  duration: number('minutes'),
  cost: number('by the tariff of the application, 0 without one'),
  fuel_consumption: number('litres, 0 when unknown'),
  fuel_consumption_100km: number('litres, 0 below 1 km'),
  average_speed: number('km/h'),
  electric_consumption: number('kWh, 0 when unknown'),
  electric_consumption_100km: number('kWh, 0 below 1 km'),
  first_position: Type.Optional(Position),
  last_position: Type.Optional(Position),
});
const Trips = Type.Object({ trips: Type.Array(Trip) });
const NoTrips = Type.Object({
  trips: Type.Optional(Type.Array(Trip, { maxItems: 0, description: 'empty, with NO_DATA' })),
  error: Type.String({ description: 'UNKNOWN_VEHICLE, NO_DATA' }),
  message: Type.Optional(Type.String()),
});

/** Interface specification, "Dynamic data": the trips of a vehicle. */
export function addTripRoutes(http: Http, db: Database): void {
  http.get(
    '/v1/vehicle/:id/trips',
    {
      schema: {
        tags: ['trips'],
        summary: 'Trips of one vehicle that are over, by start',
        params: VehicleParameters,
        querystring: TripsQuery,
        response: { ...answers(Trips, 'UNKNOWN_VEHICLE', 'NO_DATA'), 404: NoTrips },
      },
    },
    async ({ caller, params: { id }, query }, reply) => {
      const from = query.from === undefined ? undefined : parseTimestamp('from', query.from);
      const until = query.until === undefined ? undefined : parseTimestamp('until', query.until);
      const vehicle = await findVehicle(db, caller, id);
      const usual = await findUsualWindow(db, caller.applicationId);
      const window = { from: from ?? usual.from, until: until ?? usual.until };
      const offset = finite('offset', query.offset);
      const limit = Math.min(finite('limit', query.limit), maximumTrips);
      const trips = await listTrips(db, vehicle.id, window, { offset, limit: limit + 1 });
      if (trips.length === 0 && !(offset > 0 && (await hasTrips(db, vehicle.id, window)))) {
        reply.code(failures.NO_DATA[0]);
        return sendJson(reply, JSON.stringify({ trips: [], error: 'NO_DATA', message: failures.NO_DATA[1] }));
      }
      const parameters = {
        from: writeTimestamp(window.from),
        until: writeTimestamp(window.until),
        offset: String(offset + limit),
        limit: String(limit),
      };
      const hasMore = trips.length > limit && limit > 0;
      const body = JSON.stringify({ trips: trips.slice(0, limit) });
      return sendPage(reply, body, hasMore ? { path: `/v1/vehicle/${id}/trips`, parameters } : undefined);
    },
  );
}

import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { findVehicle, requireManager } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { answers, checkedObject, Succeeded, text, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import * as queries from './queries.ts';
import { missingCodes, requireFilled, requireSpot } from './rules.ts';

const route = { tags: ['parking spots'] };
const field = (description: string, example: string) =>
  Type.Optional(text(0, 256, { description, examples: [example] }));
const degrees = (limit: number, description: string, example: number) =>
  Type.Optional(Type.Number({ minimum: -limit, maximum: limit, description, examples: [example] }));
const spotFields = {
  name: field('name', 'Station'),
  address: field('first line of the address', '1 Station Square'),
  address2: field('second line of the address, may be empty', 'Level 2'),
  zipcode: field('postal code', '75012'),
  city: field('city', 'Paris'),
  country: field('country', 'France'),
  latitude: degrees(90, 'latitude of the place, an addition to the interface', 48.8443),
  longitude: degrees(180, 'longitude of the place; given together with the latitude', 2.3735),
};
const SpotChange = Type.Object(spotFields);
const NewSpot = checkedObject(spotFields, ['name', 'address', 'zipcode', 'city', 'country']);
const SpotId = Type.String({
  description: 'parking spot identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000004'],
});
const ParkingSpot = Type.Object(
  {
    id: SpotId,
    shortId: Type.String({
      description: 'six letters and digits to be read out, unique in the application',
      examples: ['K7QX2M'],
    }),
    name: Type.String({ examples: ['Station'] }),
    address: Type.String({ examples: ['1 Station Square'] }),
    address2: Type.String({ description: 'second line of the address', examples: ['Level 2'] }),
    zipcode: Type.String({ examples: ['75012'] }),
    city: Type.String({ examples: ['Paris'] }),
    country: Type.String({ examples: ['France'] }),
    latitude: Type.Optional(Type.Number({ description: 'left out while it is not known', examples: [48.8443] })),
    longitude: Type.Optional(Type.Number({ examples: [2.3735] })),
  },
  { title: 'ParkingSpot' },
);
const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
const spotPath = Type.Object({ id: SpotId });
const vehiclePath = Type.Object({ id: VehicleId });

function addSpotReading(http: Http, db: Database): void {
  http.get(
    '/v1/parkings',
    {
      schema: {
        ...route,
        summary: 'List the parking spots of the application',
        response: answers(Type.Object({ parkings: Type.Array(ParkingSpot) })),
      },
    },
    async ({ caller }) => ({ parkings: await queries.listSpots(db, caller.applicationId) }),
  );

  http.get(
    '/v1/parkings/:id',
    {
      schema: {
        ...route,
        summary: 'Find a parking spot',
        params: spotPath,
        response: answers(ParkingSpot, 'NOT_FOUND'),
      },
    },
    async ({ caller, params }) => queries.findSpot(db, caller.applicationId, params.id),
  );
}

function addSpotChanges(http: Http, db: Database): void {
  http.post(
    '/v1/parkings',
    {
      schema: {
        ...route,
        summary: 'Create a parking spot',
        body: NewSpot,
        response: answers(Type.Object({ parking_id: SpotId }), 'UNAUTHORIZED', ...missingCodes),
      },
    },
    async ({ caller, body }) => {
      await requireManager(db, caller);
      return { parking_id: await queries.createSpot(db, caller.applicationId, requireSpot(body)) };
    },
  );

  http.post(
    '/v1/parkings/:id',
    {
      schema: {
        ...route,
        summary: 'Change the given fields of a parking spot',
        params: spotPath,
        body: SpotChange,
        response: answers(ParkingSpot, 'NOT_FOUND', 'UNAUTHORIZED', ...missingCodes),
      },
    },
    async ({ caller, params, body }) => {
      await requireManager(db, caller);
      const { id } = await queries.findSpot(db, caller.applicationId, params.id);
      requireFilled(body);
      return queries.updateSpot(db, caller.applicationId, id, body);
    },
  );

  http.delete(
    '/v1/parkings/:id',
    {
      schema: {
        ...route,
        summary: 'Delete a parking spot and the assignments of vehicles to it',
        params: spotPath,
        response: answers(Deleted, 'NOT_FOUND', 'UNAUTHORIZED'),
      },
    },
    async ({ caller, params }) => {
      await requireManager(db, caller);
      await queries.deleteSpot(db, caller.applicationId, params.id);
      return { deleted: true };
    },
  );
}

function addVehicleParking(http: Http, db: Database): void {
  http.post(
    '/v1/vehicle/:id/parking',
    {
      schema: {
        ...route,
        summary: 'Assign a vehicle to a parking spot',
        params: vehiclePath,
        body: checkedObject({ parkingId: Type.Optional({ ...SpotId, maxLength: 256 }) }, ['parkingId']),
        response: answers(
          Type.Object({ updated: Succeeded }),
          ...(['MISSING_PARKING', 'NOT_FOUND', 'UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
        ),
      },
    },
    async ({ caller, params, body: { parkingId = '' } }) => {
      const vehicle = await findVehicle(db, caller, params.id, 'manage');
      if (parkingId === '') throw new Failure('MISSING_PARKING');
      if (vehicle.archived) throw new Failure('VEHICLE_ARCHIVED');
      await queries.assignSpot(db, caller.applicationId, { vehicleId: vehicle.id, parkingId });
      return { updated: true };
    },
  );

  http.get(
    '/v1/vehicle/:id/parking',
    {
      schema: {
        ...route,
        summary: 'Find the parking spot of a vehicle',
        params: vehiclePath,
        response: answers(ParkingSpot, 'NO_PARKING', 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params }) => queries.findSpotOfVehicle(db, (await findVehicle(db, caller, params.id)).id),
  );

  http.delete(
    '/v1/vehicle/:id/parking',
    {
      schema: {
        ...route,
        summary: 'Remove a vehicle from its parking spot; deleted is false if it had none',
        params: vehiclePath,
        response: answers(Deleted, 'UNKNOWN_VEHICLE', 'UNAUTHORIZED'),
      },
    },
    async ({ caller, params }) => ({
      deleted: await queries.unassignSpot(db, (await findVehicle(db, caller, params.id, 'manage')).id),
    }),
  );
}

/** The routes for parking spots (interface specification, "Parking spots"). */
export function parkingRoutes(db: Database): RoutePlugin {
  return (http) => {
    addSpotReading(http, db);
    addSpotChanges(http, db);
    addVehicleParking(http, db);
  };
}

import { randomInt } from 'node:crypto';
import { Failure, type FailureCode, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import type { Database } from '@odograph/database/database';
import { findVehicle, requireManager } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, checkedObject, Succeeded, text, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from './common/fleet.ts';

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

function addSpotReading(http: Http, { db }: Fleet): void {
  const listSchema = {
    ...route,
    summary: 'List the parking spots of the application',
    response: answers(Type.Object({ parkings: Type.Array(ParkingSpot) })),
  };
  http.get('/v1/parkings', { schema: listSchema }, async ({ caller }) => ({
    parkings: await listSpots(db, caller.applicationId),
  }));

  const showSchema = {
    ...route,
    summary: 'Find a parking spot',
    params: spotPath,
    response: answers(ParkingSpot, 'NOT_FOUND'),
  };
  http.get('/v1/parkings/:id', { schema: showSchema }, async ({ caller, params }) =>
    findSpot(db, caller.applicationId, params.id),
  );
}

function addSpotChanges(http: Http, { db }: Fleet): void {
  const createSchema = {
    ...route,
    summary: 'Create a parking spot',
    body: NewSpot,
    response: answers(Type.Object({ parking_id: SpotId }), 'UNAUTHORIZED', ...missingCodes),
  };
  http.post('/v1/parkings', { schema: createSchema }, async ({ caller, body }) => {
    await requireManager(db, caller);
    return { parking_id: await createSpot(db, caller.applicationId, requireSpot(body)) };
  });

  const changeSchema = {
    ...route,
    summary: 'Change the given fields of a parking spot',
    params: spotPath,
    body: SpotChange,
    response: answers(ParkingSpot, 'NOT_FOUND', 'UNAUTHORIZED', ...missingCodes),
  };
  http.post('/v1/parkings/:id', { schema: changeSchema }, async ({ caller, params, body }) => {
    await requireManager(db, caller);
    const spot = await findSpot(db, caller.applicationId, params.id);
    requireFilled(body);
    return updateSpot(db, spot, body);
  });

  const deleteSchema = {
    ...route,
    summary: 'Delete a parking spot and the assignments of vehicles to it',
    params: spotPath,
    response: answers(Deleted, 'NOT_FOUND', 'UNAUTHORIZED'),
  };
  http.delete('/v1/parkings/:id', { schema: deleteSchema }, async ({ caller, params }) => {
    await requireManager(db, caller);
    await deleteSpot(db, caller.applicationId, params.id);
    return { deleted: true };
  });
}

function addVehicleParking(http: Http, { db }: Fleet): void {
  const assignSchema = {
    ...route,
    summary: 'Assign a vehicle to a parking spot',
    params: vehiclePath,
    body: checkedObject({ parkingId: Type.Optional({ ...SpotId, maxLength: 256 }) }, ['parkingId']),
    response: answers(
      Type.Object({ updated: Succeeded }),
      ...(['MISSING_PARKING', 'NOT_FOUND', 'UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
    ),
  };
  http.post(
    '/v1/vehicle/:id/parking',
    { schema: assignSchema },
    async ({ caller, params, body: { parkingId = '' } }) => {
      const vehicle = await findVehicle(db, caller, params.id, 'manage');
      if (parkingId === '') throw new Failure('MISSING_PARKING');
      if (vehicle.archived) throw new Failure('VEHICLE_ARCHIVED');
      await assignSpot(db, caller.applicationId, { vehicleId: vehicle.id, parkingId });
      return { updated: true };
    },
  );

  const assignmentSchema = {
    ...route,
    summary: 'Find the parking spot of a vehicle',
    params: vehiclePath,
    response: answers(ParkingSpot, 'NO_PARKING', 'UNKNOWN_VEHICLE'),
  };
  http.get('/v1/vehicle/:id/parking', { schema: assignmentSchema }, async ({ caller, params }) =>
    findSpotOfVehicle(db, (await findVehicle(db, caller, params.id)).id),
  );

  const unassignSchema = {
    ...route,
    summary: 'Remove a vehicle from its parking spot; deleted is false if it had none',
    params: vehiclePath,
    response: answers(Deleted, 'UNKNOWN_VEHICLE', 'UNAUTHORIZED'),
  };
  http.delete('/v1/vehicle/:id/parking', { schema: unassignSchema }, async ({ caller, params }) => ({
    deleted: await unassignSpot(db, (await findVehicle(db, caller, params.id, 'manage')).id),
  }));
}

/** The routes for parking spots (interface specification, "Parking spots"). */
export const parking: FleetRoutes = { token: [addSpotReading, addSpotChanges, addVehicleParking] };

/** The fields of a parking spot in a request. */
type SpotFields = {
  [Field in keyof Type.Static<typeof SpotChange>]?: Type.Static<typeof SpotChange>[Field] | undefined;
};
type ParkingSpot = Type.Static<typeof ParkingSpot>;
/** A new spot; without a place where latitude and longitude are undefined. */
type CompleteSpot = ReturnType<typeof requireSpot>;

const required = [
  ['name', 'MISSING_NAME'],
  ['address', 'MISSING_ADDRESS'],
  ['zipcode', 'MISSING_ZIPCODE'],
  ['city', 'MISSING_CITY'],
  ['country', 'MISSING_COUNTRY'],
] as const satisfies readonly (readonly [keyof SpotFields, FailureCode])[];

/** The failure codes of the required fields. */
const missingCodes: readonly FailureCode[] = required.map(([, code]) => code);

/**
 * Completes a new spot; only address2 may be empty.
 * @throws Failure MISSING_… for the first field that is missing or blank
 */
function requireSpot(fields: SpotFields) {
  const { name = '', address = '', address2 = '', zipcode = '', city = '', country = '' } = fields;
  const { latitude, longitude } = fields;
  const spot = { name, address, address2, zipcode, city, country, latitude, longitude };
  requireFilled(spot);
  return spot;
}

/**
 * Checks a change of a spot.
 * @throws Failure MISSING_… for the first required field that is given and blank, INVALID_PARAMETER for half a place
 */
function requireFilled(fields: SpotFields): void {
  if ((fields.latitude === undefined) !== (fields.longitude === undefined)) {
    throw invalidParameter('longitude', 'must be given together with latitude');
  }
  const blank = required.find(([field]) => fields[field]?.trim() === '');
  if (blank) throw new Failure(blank[1], undefined, { field: blank[0] });
}

/** Without characters that are easily confused. */
const alphabet = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const shortIdLength = 6;

/** Short enough to be read out; the database keeps it unique in the application. */
const createShortId = () => Array.from({ length: shortIdLength }, () => alphabet[randomInt(alphabet.length)]).join('');

const columns = [
  ...(['parking.id', 'parking.short_id as shortId', 'parking.name', 'parking.address', 'parking.address2'] as const),
  ...(['parking.zipcode', 'parking.city', 'parking.country', 'parking.latitude', 'parking.longitude'] as const),
] as const;

type SpotRow = Omit<ParkingSpot, 'latitude' | 'longitude'> & { latitude: number | null; longitude: number | null };

/** Leaves out a place that is not known. */
function toSpot({ latitude, longitude, ...spot }: SpotRow): ParkingSpot {
  return latitude === null || longitude === null ? spot : { ...spot, latitude, longitude };
}

/** Creates a spot. @returns its id */
async function createSpot(db: Database, applicationId: number, fields: CompleteSpot): Promise<string> {
  for (;;) {
    const row = await db
      .insertInto('parking')
      .values({ application_id: applicationId, short_id: createShortId(), ...fields })
      .onConflict((conflict) => conflict.constraint('parking_short_id').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (row) return row.id;
  }
}

/** Lists the spots of an application by name. */
async function listSpots(db: Database, applicationId: number): Promise<ParkingSpot[]> {
  const rows = await db
    .selectFrom('parking')
    .select(columns)
    .where('application_id', '=', applicationId)
    .orderBy('name')
    .orderBy('id')
    .execute();
  return rows.map(toSpot);
}

/** Finds a spot. @throws Failure NOT_FOUND, also for a spot of another application */
async function findSpot(db: Database, applicationId: number, id: string): Promise<ParkingSpot> {
  if (!isUuid(id)) throw new Failure('NOT_FOUND');
  const spot = await db
    .selectFrom('parking')
    .select(columns)
    .where('id', '=', id)
    .where('application_id', '=', applicationId)
    .executeTakeFirst();
  if (!spot) throw new Failure('NOT_FOUND');
  return toSpot(spot);
}

/** Changes the given fields of a spot. @throws Failure NOT_FOUND if it was deleted concurrently */
async function updateSpot(db: Database, spot: ParkingSpot, fields: SpotFields): Promise<ParkingSpot> {
  const { name, address, address2, zipcode, city, country, latitude, longitude } = fields;
  const given = Object.entries({ name, address, address2, zipcode, city, country, latitude, longitude }).filter(
    ([, value]) => value !== undefined,
  );
  if (given.length === 0) return spot;
  const changed = await db
    .updateTable('parking')
    .set(Object.fromEntries(given))
    .where('id', '=', spot.id)
    .returning(columns)
    .executeTakeFirst();
  if (!changed) throw new Failure('NOT_FOUND');
  return toSpot(changed);
}

/** Deletes a spot and the assignments of vehicles to it. @throws Failure NOT_FOUND */
async function deleteSpot(db: Database, applicationId: number, id: string): Promise<void> {
  if (!isUuid(id)) throw new Failure('NOT_FOUND');
  const { numDeletedRows } = await db
    .deleteFrom('parking')
    .where('id', '=', id)
    .where('application_id', '=', applicationId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new Failure('NOT_FOUND');
}

/** Assigns a vehicle to a spot of the application, replacing its previous spot. @throws Failure NOT_FOUND */
async function assignSpot(
  db: Database,
  applicationId: number,
  { vehicleId, parkingId }: { vehicleId: number; parkingId: string },
): Promise<void> {
  if (!isUuid(parkingId)) throw new Failure('NOT_FOUND');
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('vehicle_parking')
    .columns(['vehicle_id', 'parking_id'])
    .expression((query) =>
      query
        .selectFrom('parking')
        .select((parking) => [parking.val(vehicleId).as('vehicle_id'), 'parking.id'])
        .where('parking.id', '=', parkingId)
        .where('parking.application_id', '=', applicationId)
        // Keeps the spot from being deleted before the foreign key is checked.
        .forKeyShare(),
    )
    .onConflict((conflict) =>
      conflict.column('vehicle_id').doUpdateSet((excluded) => ({ parking_id: excluded.ref('excluded.parking_id') })),
    )
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw new Failure('NOT_FOUND');
}

/** Finds the spot of a vehicle. @throws Failure NO_PARKING */
async function findSpotOfVehicle(db: Database, vehicleId: number): Promise<ParkingSpot> {
  const spot = await db
    .selectFrom('vehicle_parking')
    .innerJoin('parking', 'parking.id', 'vehicle_parking.parking_id')
    .select(columns)
    .where('vehicle_parking.vehicle_id', '=', vehicleId)
    .executeTakeFirst();
  if (!spot) throw new Failure('NO_PARKING');
  return toSpot(spot);
}

/** Removes a vehicle from its spot. @returns whether it had one */
async function unassignSpot(db: Database, vehicleId: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('vehicle_parking')
    .where('vehicle_id', '=', vehicleId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

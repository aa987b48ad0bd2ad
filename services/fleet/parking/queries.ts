import { randomInt } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import type { SpotFields } from './rules.ts';

/** A parking spot (interface specification, "Fleet management records"); an addition: its place, where that is known. */
export interface ParkingSpot extends Required<Omit<SpotFields, 'latitude' | 'longitude'>> {
  id: string;
  shortId: string;
  latitude?: number;
  longitude?: number;
}

/** Without characters that are easily confused. */
const alphabet = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const shortIdLength = 6;

/** Short enough to be read out; the database keeps it unique in the application. */
const createShortId = () => Array.from({ length: shortIdLength }, () => alphabet[randomInt(alphabet.length)]).join('');

const columns = [
  'parking.id',
  'parking.short_id as shortId',
  'parking.name',
  'parking.address',
  'parking.address2',
  'parking.zipcode',
  'parking.city',
  'parking.country',
  'parking.latitude',
  'parking.longitude',
] as const;

type SpotRow = Omit<ParkingSpot, 'latitude' | 'longitude'> & { latitude: number | null; longitude: number | null };

/** Leaves out a place that is not known. */
function toSpot({ latitude, longitude, ...spot }: SpotRow): ParkingSpot {
  return latitude === null || longitude === null ? spot : { ...spot, latitude, longitude };
}

/** Creates a spot. @returns its id */
export async function createSpot(db: Database, applicationId: number, fields: Required<SpotFields>): Promise<string> {
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
export async function listSpots(db: Database, applicationId: number): Promise<ParkingSpot[]> {
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
export async function findSpot(db: Database, applicationId: number, id: string): Promise<ParkingSpot> {
  const spot = isUuid(id)
    ? await db
        .selectFrom('parking')
        .select(columns)
        .where('id', '=', id)
        .where('application_id', '=', applicationId)
        .executeTakeFirst()
    : undefined;
  if (!spot) throw new Failure('NOT_FOUND');
  return toSpot(spot);
}

/** Changes the given fields of a spot. @throws Failure NOT_FOUND */
export async function updateSpot(
  db: Database,
  applicationId: number,
  id: string,
  fields: SpotFields,
): Promise<ParkingSpot> {
  const spot = await findSpot(db, applicationId, id);
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
export async function deleteSpot(db: Database, applicationId: number, id: string): Promise<void> {
  const spot = await findSpot(db, applicationId, id);
  const deleted = await db.deleteFrom('parking').where('id', '=', spot.id).executeTakeFirst();
  if (deleted.numDeletedRows === 0n) throw new Failure('NOT_FOUND');
}

/** Assigns a vehicle to a spot of the application, replacing its previous spot. @throws Failure NOT_FOUND */
export async function assignSpot(
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
export async function findSpotOfVehicle(db: Database, vehicleId: number): Promise<ParkingSpot> {
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
export async function unassignSpot(db: Database, vehicleId: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('vehicle_parking')
    .where('vehicle_id', '=', vehicleId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

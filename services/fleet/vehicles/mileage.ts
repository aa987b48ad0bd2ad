import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { mileageEntryDays, tripClasses } from '@odograph/contracts/mileage';
import { isUuid } from '@odograph/contracts/text-patterns';
import { actorOf, auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { odometerAt, tripIsOver } from '@odograph/database/trips';
import { accessibleTo, findVehicle, requirePermission } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, moment, text, VehicleId, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

const route = { tags: ['trips'] };
const words = (description: string, example: string) =>
  Type.Optional(text(1, 512, { description, examples: [example] }));
const entryFields = {
  class: word(tripClasses, { description: 'type of use' }),
  purpose: words('purpose of the trip; required for a business trip', 'Delivery of spare parts'),
  partner: words('business partner visited', 'Dupont SARL, Lyon'),
  driver: words('driver; by default that of the booking', 'driver-17'),
  startPlace: words('start of the trip; by default its address, else its position', '1 Station Square, Paris'),
  endPlace: words('end of the trip; by default the position', '12 Rue de la Gare, Lyon'),
  note: words('note', 'detour because of a closed road'),
};
const NewEntry = Type.Object(entryFields);
const kilometres = (description: string) =>
  Type.Number({ description: `${description}, in km, at the time of the entry`, examples: [15230.4] });
const Entry = Type.Object(
  {
    ...entryFields,
    version: Type.Integer({ description: 'number of the entry for the trip; the highest one is valid', examples: [1] }),
    startedAt: moment('start of the trip'),
    endedAt: moment('end of the trip'),
    distanceKm: kilometres('distance of the trip'),
    startOdometerKm: Type.Optional(kilometres('odometer at the start')),
    endOdometerKm: Type.Optional(kilometres('odometer at the end')),
    enteredAt: moment('time of the entry'),
    enteredBy: Type.String({
      description: 'actor, as in the audit',
      examples: ['user:0197a1de-5f0e-7000-8000-000000000003'],
    }),
    late: Type.Boolean({ description: `entered more than ${mileageEntryDays} days after the trip` }),
  },
  { title: 'MileageEntry' },
);
type Entry = Static<typeof Entry>;
const TripPath = Type.Object({
  id: VehicleId,
  tripId: Type.String({ maxLength: 64, description: 'trip', examples: ['0197a1de-5f0e-7000-8000-000000000005'] }),
});
type TripPath = Static<typeof TripPath>;

/** Routes for the mileage log (docs/reports.md), whose entries cannot be changed or deleted. */
export const mileage: FleetRoutes = { token: [addMileageRoutes] };

function addMileageRoutes(http: Http, { db }: Fleet): void {
  const path = '/v1/x/vehicle/:id/trips/:tripId/mileage';
  const addSchema = {
    ...route,
    summary: 'Enter a trip into the mileage log; this replaces an earlier entry, which is kept',
    description: `Drivers can enter trips of their own bookings within ${mileageEntryDays} days; managers can enter any trip at any time.`,
    params: TripPath,
    body: NewEntry,
    response: answers(Entry, 'UNKNOWN_VEHICLE', 'NOT_FOUND', 'UNAUTHORIZED', 'CHANGED_MEANWHILE'),
  };
  http.post(path, { schema: addSchema }, async (request) => {
    const { caller, params, body } = request;
    if (body.class === 'business' && body.purpose === undefined) {
      throw invalidParameter('purpose', 'is required for a business trip');
    }
    return failOnConstraint({ mileage_entry_pkey: ['CHANGED_MEANWHILE'] }, () =>
      db.transaction().execute(async (trx) => {
        const entry = await addEntry(trx, caller, params, body);
        await auditChange(trx, originOf(request), 'mileage.enter', `vehicle:${params.id}`, {
          ...{ trip: params.tripId, version: entry.version, class: entry.class },
        });
        return entry;
      }),
    );
  });

  const listSchema = {
    ...route,
    summary: 'List all entries of the mileage log for a trip, the valid one last',
    params: TripPath,
    response: answers(Type.Object({ entries: Type.Array(Entry) }), 'UNKNOWN_VEHICLE', 'NOT_FOUND', 'UNAUTHORIZED'),
  };
  http.get(path, { schema: listSchema }, async ({ caller, params }) => {
    const vehicleId = await requireTrip(db, caller, params, 'read');
    return { entries: await listEntries(db, vehicleId, params.tripId) };
  });
}

/**
 * Finds the vehicle of a trip whose entries the caller may read or write.
 * @throws Failure UNKNOWN_VEHICLE, NOT_FOUND, UNAUTHORIZED
 */
async function requireTrip(
  db: Database,
  caller: Caller,
  { id, tripId }: TripPath,
  act: 'read' | 'write',
): Promise<number> {
  const vehicle = await findVehicle(db, caller, id);
  if (!isUuid(tripId)) throw new Failure('NOT_FOUND');
  const inTime = act === 'read' ? sql`` : sql`and trip.ended_at >= now() - make_interval(days => ${mileageEntryDays})`;
  const { rows } = await sql<{ permitted: boolean }>`select ${accessibleTo(caller, 'manage')}
      or (${accessibleTo(caller, 'book')} and exists (select from booking where booking.vehicle_id = trip.vehicle_id
        and booking.deleted_at is null and booking.account_id = ${caller.userId ?? null}::uuid
        and tstzrange(booking.starts_at, booking.ends_at) @> trip.started_at) ${inTime}) as permitted
    from trip join vehicle on vehicle.id = trip.vehicle_id
    where trip.vehicle_id = ${vehicle.id} and trip.id = ${tripId}::uuid and ${tripIsOver}`.execute(db);
  if (rows[0] === undefined) throw new Failure('NOT_FOUND', 'no such trip');
  requirePermission(rows[0].permitted);
  return vehicle.id;
}

const entryJson = sql<Entry>`json_strip_nulls(json_build_object('class', class, 'purpose', purpose, 'partner', partner,
  'driver', driver, 'startPlace', start_place, 'endPlace', end_place, 'note', note, 'version', version,
  'startedAt', ${isoTime('started_at', 'microseconds')}, 'endedAt', ${isoTime('ended_at', 'microseconds')},
  'distanceKm', distance_km, 'startOdometerKm', start_odometer_km, 'endOdometerKm', end_odometer_km,
  'enteredAt', ${isoTime('entered_at')}, 'enteredBy', entered_by,
  'late', entered_at > ended_at + make_interval(days => ${mileageEntryDays})))`;

/** Adds an entry with the current data of the trip. @throws Failure as requireTrip */
async function addEntry(db: Database, caller: Caller, path: TripPath, given: Static<typeof NewEntry>): Promise<Entry> {
  const vehicleId = await requireTrip(db, caller, path, 'write');
  const { rows } = await sql<{ entry: Entry }>`
    insert into mileage_entry (application_id, vehicle_id, trip_id, version, started_at, ended_at, distance_km,
      start_odometer_km, end_odometer_km, class, purpose, partner, driver, start_place, end_place, note, entered_by)
    select ${caller.applicationId}::integer, trip.vehicle_id, trip.id, coalesce((select max(version) from mileage_entry
        where vehicle_id = trip.vehicle_id and trip_id = trip.id), 0) + 1,
      started_at, ended_at, round(distance_km::numeric, 3)::float8, ${odometerAt(sql`trip.started_at`)},
      ${odometerAt(sql`trip.ended_at`)}, ${given.class}, ${given.purpose ?? null}, ${given.partner ?? null},
      coalesce(${given.driver ?? null}::text, (select booking.user_id from booking where booking.vehicle_id = trip.vehicle_id
        and booking.deleted_at is null and tstzrange(booking.starts_at, booking.ends_at) @> trip.started_at)),
      ${given.startPlace ?? null}, ${given.endPlace ?? null}, ${given.note ?? null},
      ${actorOf(caller)}
    from trip where trip.vehicle_id = ${vehicleId} and trip.id = ${path.tripId}::uuid
    returning ${entryJson} as entry`.execute(db);
  if (rows[0] === undefined) throw new Failure('NOT_FOUND', 'no such trip');
  return rows[0].entry;
}

async function listEntries(db: Database, vehicleId: number, tripId: string): Promise<Entry[]> {
  const { rows } = await sql<{ entry: Entry }>`select ${entryJson} as entry from mileage_entry
    where vehicle_id = ${vehicleId} and trip_id = ${tripId}::uuid order by version`.execute(db);
  return rows.map(({ entry }) => entry);
}

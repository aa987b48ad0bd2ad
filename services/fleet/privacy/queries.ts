import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import type { Tables } from '@odograph/database/tables';
import { accessibleTo, parseVehicleId } from '@odograph/database/vehicle-access';
import { type Kysely, sql } from 'kysely';

/**
 * Runs a change of privacy in a transaction of its own. No reading is stored and no trip is told meanwhile, so a change
 * has one moment.
 * @param change is given the number of the vehicle
 * @throws Failure UNKNOWN_VEHICLE
 */
export async function changePrivacy(
  db: Kysely<Tables>,
  caller: Caller,
  id: string,
  change: (trx: Database, vehicleId: number) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await raiseIngestBarrier(trx);
    const { rows } = await sql<{ id: number }>`select id from vehicle
      where id = ${parseVehicleId(id) ?? null} and ${accessibleTo(caller)} for no key update`.execute(trx);
    if (!rows[0]) throw new Failure('UNKNOWN_VEHICLE');
    await change(trx, rows[0].id);
  });
}

/**
 * Opens a private period at this moment, or at the end of the last one when the clock was set back.
 * @returns its beginning, as text with microseconds; undefined when one is open already
 */
export async function openPeriod(db: Database, vehicleId: number): Promise<string | undefined> {
  const { rows } = await sql<{ from: string }>`
    insert into privacy_period (vehicle_id, period)
    select ${vehicleId}, tstzrange(greatest(clock_timestamp(), (
      select max(upper(period)) from privacy_period where vehicle_id = ${vehicleId})), null)
    where not exists (select from privacy_period where vehicle_id = ${vehicleId} and upper_inf(period))
    returning lower(period)::text as from`.execute(db);
  return rows[0]?.from;
}

/** Ends the open private period at this moment. @returns false when there is none */
export async function closePeriod(db: Database, vehicleId: number): Promise<boolean> {
  const { rows } = await sql`
    with open as (
      select ctid, lower(period) as lower, clock_timestamp() as moment from privacy_period
      where vehicle_id = ${vehicleId} and upper_inf(period)),
    -- A period that would hold no time, after the clock was set back, was never.
    empty as (delete from privacy_period using open where privacy_period.ctid = open.ctid and open.lower >= open.moment),
    closed as (update privacy_period set period = tstzrange(open.lower, open.moment) from open
      where privacy_period.ctid = open.ctid and open.lower < open.moment)
    select from open`.execute(db);
  return rows.length > 0;
}

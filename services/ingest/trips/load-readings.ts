import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';
import type { TripReading } from './segmentation/trip-reading.ts';

/** Keys of CAN data that count the litres used in an engine's life (docs/trips.md). */
const fuelCounterKeys = ['total_fuel_used', 'engine_total_fuel_used', 'fuel_used'];

const fuelCounter = sql`case when can is not null or decoded_can is not null then (
  select (datum->>'value')::double precision from jsonb_array_elements(${sql.raw(allCanValues)}) as datum
  where datum->>'key' = any(${fuelCounterKeys}::text[]) and datum->>'value' ~ '^\\d{1,12}(\\.\\d{1,12})?$' limit 1) end`;
const ofFleet = (name: string) => sql`(fleet->>${sql.lit(name)})::double precision`;

const columns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", latitude, longitude,
  coalesce(ignition, case fleet->>'engine' when 'ON' then true when 'OFF' then false end) as ignition, movement,
  speed as "speedKmh", coalesce(mileage, ${ofFleet('mileage')}) as "mileageKm", ${fuelCounter} as "fuelUsedLitres",
  ${ofFleet('fuel')} as "fuelLitres", ${ofFleet('fuelRange')} as "fuelPercent",
  lifetime_power_use as "lifetimePowerKwh", coalesce(soc, ${ofFleet('ChargeLevel')}) as "socPercent",
  max_energy as "maxEnergyKwh"`;

const instant = (microseconds: number) => sql`timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond'`;

/** Rows per query. */
const pageSize = 10_000;

/**
 * Loads readings of a vehicle in time order, page by page.
 * @param after exclusive; null for no lower bound
 * @param until inclusive; null for no upper bound
 */
export async function* loadReadings(
  db: Database,
  vehicleId: number,
  after: number | null,
  until: number | null,
): AsyncGenerator<TripReading[]> {
  let last = after;
  for (;;) {
    const bounds: RawBuilder<unknown>[] = [sql`vehicle_id = ${vehicleId}`];
    if (last !== null) bounds.push(sql`time > ${instant(last)}`);
    if (until !== null) bounds.push(sql`time <= ${instant(until)}`);
    const { rows } = await sql<TripReading>`select ${columns} from reading where ${sql.join(bounds, sql` and `)}
      order by time limit ${sql.lit(pageSize)}`.execute(db);
    if (rows.length > 0) yield rows;
    if (rows.length < pageSize) return;
    last = rows.at(-1)?.timeMicroseconds ?? last;
  }
}

import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';

/** Readings of one query: the answer is written while the next ones are read. */
const pageReadings = 2000;

/** What is stored about a vehicle besides its readings, each in the order of time. */
const kinds = {
  vehicle: (id) => sql`select to_jsonb(vehicle) - 'search_text' as row from vehicle where id = ${id}`,
  link: (id) => sql`select to_jsonb(one) as row from device_link as one where vehicle_id = ${id} order by period`,
  privacy: (id) => sql`select to_jsonb(one) as row from privacy_period as one where vehicle_id = ${id} order by period`,
  grant: (id) =>
    sql`select to_jsonb(one) as row from vehicle_grant as one where vehicle_id = ${id} order by created_at`,
  booking: (id) => sql`select to_jsonb(one) as row from booking as one where vehicle_id = ${id} order by starts_at`,
  authorization: (id) => sql`select to_jsonb(one) as row from bluetooth_authorization as one
    where vehicle_id = ${id} order by valid_from`,
  command: (id) => sql`select to_jsonb(one) - 'idempotency_key' as row from command as one
    where vehicle_id = ${id} order by position`,
  alarm: (id) => sql`select to_jsonb(one) as row from alarm as one where vehicle_id = ${id} order by raised_at`,
  trip: (id) => sql`select to_jsonb(one) as row from trip as one where vehicle_id = ${id} order by started_at`,
} as const satisfies Readonly<Record<string, (vehicleId: number) => RawBuilder<unknown>>>;

type Row = Readonly<Record<string, unknown>>;

const lineOf = (kind: string, row: Row): string => `${JSON.stringify({ kind, row })}\n`;

/** Reads the readings behind a time, the oldest ones first. */
async function readPage(db: Database, vehicleId: number, after: string) {
  const { rows } = await sql<{ row: Row; time: string }>`
    select jsonb_strip_nulls(to_jsonb(reading)) - 'application_id' as row, time::text as time from reading
    where vehicle_id = ${vehicleId} and time > ${after}::timestamptz order by time limit ${pageReadings}`.execute(db);
  return rows;
}

/** Writes everything stored about a vehicle as lines of JSON, each a `row` with its `kind`; readings come last. */
export async function* exportVehicle(db: Database, vehicleId: number): AsyncGenerator<string> {
  for (const [kind, select] of Object.entries(kinds)) {
    const { rows } = await sql<{ row: Row }>`${select(vehicleId)}`.execute(db);
    yield rows.map(({ row }) => lineOf(kind, row)).join('');
  }
  for (let after: string | undefined = '-infinity'; after !== undefined; ) {
    const rows: { row: Row; time: string }[] = await readPage(db, vehicleId, after);
    yield rows.map(({ row }) => lineOf('reading', row)).join('');
    after = rows.length < pageReadings ? undefined : rows.at(-1)?.time;
  }
}

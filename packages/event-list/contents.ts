import type { Viewer } from '@odograph/contracts/caller';
import type { EventType } from '@odograph/contracts/events';
import { selectAlarms } from '@odograph/database/alarms';
import { authorizationJson, bookingJson, seesAuthorization, seesBooking } from '@odograph/database/bookings';
import { findShownCommands } from '@odograph/database/commands';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { showTrip, type TripRow, tripColumns, tripIsOver, tripTables } from '@odograph/database/trips';
import { type RawBuilder, sql } from 'kysely';
import type { EventRow } from './entries.ts';

/** The content of resources by their ids, as the interface shows them now; those that are gone are missing. */
type Contents = ReadonlyMap<string, object>;

const byId = (resources: readonly { readonly id: string }[]): Contents =>
  new Map(resources.map((one) => [one.id, one]));

const findAlarms = async (db: Database, ids: readonly string[]) =>
  byId(await selectAlarms(db, sql`alarm.id = any (${[...ids]}::uuid[])`));

const findCommands = async (db: Database, ids: readonly string[]) => byId(await findShownCommands(db, ids));

async function select(db: Database, query: RawBuilder<{ id: string; data: object }>): Promise<Contents> {
  const { rows } = await query.execute(db);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

const findBookings = (db: Database, ids: readonly string[], viewer: Viewer) =>
  select(
    db,
    sql`select booking.id, ${bookingJson} as data from booking join vehicle on vehicle.id = booking.vehicle_id
      join application on application.id = vehicle.application_id
      where booking.id = any (${[...ids]}::uuid[]) and ${seesBooking(viewer)}`,
  );

const findAuthorizations = (db: Database, ids: readonly string[], viewer: Viewer) =>
  select(
    db,
    sql`select held.id, ${authorizationJson} as data
      from (select given.*, issuer.username as issuer from bluetooth_authorization as given
        left join user_account as issuer on issuer.id = given.issued_by) as held
      join vehicle on vehicle.id = held.vehicle_id
      where held.id = any (${[...ids]}::uuid[]) and ${seesAuthorization(viewer)}`,
  );

async function findTrips(db: Database, ids: readonly string[]): Promise<Contents> {
  const { rows } = await sql<TripRow>`select ${tripColumns} from ${tripTables}
    where trip.id = any (${[...ids]}::uuid[]) and ${tripIsOver}`.execute(db);
  return new Map(rows.map(showTrip).map((trip) => [trip.trip_id, trip]));
}

const flags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'];
const findStates = (db: Database, ids: readonly string[]) =>
  select(
    db,
    sql`select id::text, json_build_object(${sql.join(flags.flatMap((flag) => [sql.lit(flag), sql.ref(flag)]))}) as data
      from vehicle where id = any (${[...ids]}::integer[])`,
  );

/** Reads why an upload was not stored, without its values, which may hold positions. */
const findQuarantined = (db: Database, ids: readonly string[]) =>
  select(
    db,
    sql`select id::text, json_build_object('deviceId', device_id, 'receivedAt', ${isoTime('received_at')},
        'bytes', payload_bytes, 'reasons', (select coalesce(jsonb_agg(distinct fault ->> 'reason'), '[]')
          from jsonb_array_elements(faults) as fault)) as data
      from quarantine where id = any (${[...ids]}::bigint[])`,
  );

const findNothing = async (): Promise<Contents> => new Map();

/** How the content of the events of one kind of resource is read. */
interface Kind {
  /** The member of `data` that names the resource when the rest is gone. */
  readonly idName: string;
  find(db: Database, ids: readonly string[], viewer: Viewer): Promise<Contents>;
}

const device: Kind = { idName: 'deviceId', find: findNothing };
const kinds: Readonly<Record<string, Kind>> = {
  alarm: { idName: 'id', find: findAlarms },
  command: { idName: 'id', find: findCommands },
  booking: { idName: 'bookingId', find: findBookings },
  authorization: { idName: 'authorizationId', find: findAuthorizations },
  trip: { idName: 'trip_id', find: findTrips },
  state: { idName: 'vehicleId', find: findStates },
  upload: { idName: 'uploadId', find: findQuarantined },
  device,
};

const kindNameOf = (type: EventType): string => type.slice(0, type.indexOf('.'));
/** Without its content, a user must not learn of it; an alarm is deleted when its time becomes private. */
const isLeftOut = (type: EventType, { userId }: Viewer): boolean =>
  type.startsWith('alarm.') || (userId !== undefined && /^(booking|authorization)\./.test(type));

/**
 * Reads the `data` of events: the resource as the interface shows it now, and what the event itself recorded.
 * @returns JSON by the index of the row in `rows`; undefined for an event that is left out
 */
export async function readContents(
  db: Database,
  rows: readonly EventRow[],
  viewer: Viewer,
): Promise<(string | undefined)[]> {
  const subjects = new Map<string, Set<string>>();
  for (const { type, subject } of rows) {
    const name = kindNameOf(type);
    subjects.set(name, (subjects.get(name) ?? new Set()).add(subject));
  }
  const found = new Map<string, Contents>();
  for (const [name, ids] of subjects) found.set(name, (await kinds[name]?.find(db, [...ids], viewer)) ?? new Map());
  return rows.map(({ type, subject, details }) => {
    const name = kindNameOf(type);
    const content = found.get(name)?.get(subject);
    if (!content && isLeftOut(type, viewer)) return undefined;
    return JSON.stringify({ ...(content ?? { [kinds[name]?.idName ?? 'id']: subject }), ...details });
  });
}

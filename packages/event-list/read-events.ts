import type { Viewer } from '@odograph/contracts/caller';
import { type EventType, eventTypes } from '@odograph/contracts/events';
import { Failure } from '@odograph/contracts/failures';
import { selectAlarms } from '@odograph/database/alarms';
import { inSnapshot } from '@odograph/database/batches';
import { authorizationJson, bookingJson, seesAuthorization, seesBooking } from '@odograph/database/bookings';
import { findShownCommands } from '@odograph/database/commands';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import type { Tables } from '@odograph/database/tables';
import { showTrip, type TripRow, tripColumns, tripIsOver, tripTables } from '@odograph/database/trips';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type EventCursor, formatCursor, isBefore, parseCursor, requireKept, startOf } from './cursor.ts';
import { type Entries, type EventRow, type ReadingEvent, readReadings, readRows } from './entries.ts';
import { feedHorizon, findFeedState } from './reading-changes.ts';

/** The content of resources by their ids, as the interface shows them now; deleted ones are absent. */
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
  /** The member of `data` that identifies the resource after its deletion. */
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
/** True for events that are hidden once their content is deleted; an alarm is deleted when its time becomes private. */
const isLeftOut = (type: EventType, { userId }: Viewer): boolean =>
  type.startsWith('alarm.') || (userId !== undefined && /^(booking|authorization)\./.test(type));

/**
 * Reads the `data` of events: the resource as the interface shows it now, and what the event itself recorded.
 * @returns JSON by the index of the row in `rows`; undefined for an event that is left out
 */
async function readContents(db: Database, rows: readonly EventRow[], viewer: Viewer): Promise<(string | undefined)[]> {
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

/** An event as clients get it. */
export interface PlatformEvent {
  /** Its cursor as text: the same whenever it is read, until the database is restored. */
  readonly id: string;
  readonly type: EventType;
  /** When it happened, ISO 8601, UTC. */
  readonly time: string;
  readonly vehicleId: number | undefined;
  /** The whole event as it is sent. */
  readonly json: string;
  /** The cursor behind it. */
  readonly cursor: EventCursor;
}

export interface EventRequest {
  readonly applicationId: number;
  readonly after: EventCursor;
  /** Maximum events of a page. */
  readonly limit: number;
  /** All types by default. */
  readonly types?: ReadonlySet<EventType>;
  /** Only events of these vehicles; without it also events without a vehicle. */
  readonly vehicleIds?: readonly number[];
}

export interface EventPage {
  readonly events: readonly PlatformEvent[];
  /** Where the next page begins. */
  readonly next: EventCursor;
  /** More events may be available now, even when this page is short. */
  readonly more: boolean;
}

/**
 * Reads a page of the events of an application in one snapshot, in their order.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED when events behind the cursor were deleted
 */
export function readEvents(db: Kysely<Tables>, { applicationId, ...request }: EventRequest): Promise<EventPage> {
  return readEventsOf(db, { applicationIds: [applicationId] }, { ...request, cursorName: 'after' });
}

/** A request of a person, over all applications that it sees. */
interface ViewerRequest extends Omit<EventRequest, 'applicationId' | 'after'> {
  /** Without it, a page without events, behind which those begin that are stored from now on. */
  readonly after: EventCursor | undefined;
  /** The parameter that holds the cursor, for failures. */
  readonly cursorName: string;
}

/** Reads a page of the events that a person sees. @throws Failure as readEvents */
export function readEventsOf(
  db: Kysely<Tables>,
  viewer: Viewer & { readonly applicationIds: readonly number[] },
  { after, limit, types = new Set(eventTypes), vehicleIds, cursorName }: ViewerRequest,
): Promise<EventPage> {
  return inSnapshot(db, async (snapshot) => {
    const { applicationIds, userId } = viewer;
    const { horizon, ...state } = await findFeedState(
      snapshot,
      applicationIds,
      types.has(readingStored) ? ['events', 'changes'] : ['events'],
    );
    if (after === undefined) return { events: [], next: startOf(state.epoch, horizon), more: false };
    requireKept(after, { horizon, ...state }, cursorName);
    const page = { after, horizon, limit, vehicleIds };
    const others = [...types].filter(
      (type) => type !== readingStored && (userId === undefined || type !== 'upload.quarantined'),
    );
    const sources: Entries<EventRow | ReadingEvent>[] = [];
    if (others.length > 0) sources.push(await readRows(snapshot, { ...page, applicationIds, types: others }));
    if (types.has(readingStored)) {
      for (const applicationId of applicationIds)
        sources.push(await readReadings(snapshot, { ...page, applicationId }));
    }
    const { entries, until, more } = merge(sources, { ...page, end: startOf(after.epoch, horizon) });
    return { events: await writeEntries(snapshot, entries, viewer), next: until, more };
  });
}

const readingStored = 'reading.stored' satisfies EventType;

/** Merges entries in their order, as far as all sources are complete. */
function merge<Entry extends { readonly cursor: EventCursor }>(
  sources: readonly Entries<Entry>[],
  { after, end, limit }: { after: EventCursor; end: EventCursor; limit: number },
): Entries<Entry> {
  let until = isBefore(end, after) ? after : end;
  for (const source of sources) if (isBefore(source.until, until)) until = source.until;
  const all = sources.flatMap(({ entries }) => entries).filter(({ cursor }) => !isBefore(until, cursor));
  all.sort((one, other) => (isBefore(one.cursor, other.cursor) ? -1 : 1));
  const more = sources.some((source) => source.more);
  const cut = all[limit - 1];
  if (all.length <= limit || !cut) return { entries: all, until, more };
  return { entries: all.slice(0, limit), until: cut.cursor, more: true };
}

async function writeEntries(
  db: Database,
  entries: readonly (EventRow | ReadingEvent)[],
  viewer: Viewer,
): Promise<PlatformEvent[]> {
  const rows = entries.filter((entry) => 'subject' in entry);
  const contents = await readContents(db, rows, viewer);
  const dataOf = new Map(rows.map((row, index) => [row, contents[index]]));
  return entries.flatMap((entry) => {
    const isRow = 'subject' in entry;
    const data = isRow ? dataOf.get(entry) : entry.data;
    if (data === undefined) return [];
    const { time, appId, vehicleId, cursor } = entry;
    const id = formatCursor(cursor);
    const type = isRow ? entry.type : readingStored;
    const head = { id, type, time, appId, ...(vehicleId !== undefined && { vehicleId: String(vehicleId) }) };
    const json = `${JSON.stringify(head).slice(0, -1)},"data":${data}}`;
    return [{ id, type, time, vehicleId, cursor, json }];
  });
}

/**
 * Reads an event of an application as it is now.
 * @returns undefined if its content was deleted or became private
 * @throws Failure as readEvents does
 */
export async function findEvent(
  db: Kysely<Tables>,
  applicationId: number,
  { id, type }: Pick<PlatformEvent, 'id' | 'type'>,
): Promise<PlatformEvent | undefined> {
  // The id of an event is the cursor after it. A page from the cursor right before it begins with the event.
  const { event, vehicleId, ...cursor } = parseCursor(id);
  const after =
    event > 0n ? { ...cursor, vehicleId, event: event - 1n } : { ...cursor, vehicleId: vehicleId - 1, event };
  const { events } = await readEvents(db, { applicationId, after, limit: 1, types: new Set([type]) });
  return events.find((one) => one.id === id);
}

/** Finds the cursor behind everything that is stored now. What running transactions store comes behind it. */
export async function findEventHead(db: Database, applicationId: number): Promise<EventCursor> {
  const { epoch, horizon } = await findFeedState(db, [applicationId], ['events']);
  return startOf(epoch, horizon);
}

/** Finds the cursor of the first event that was stored at a time or later; of the oldest that is kept for an earlier time. */
export async function findEventCursorAt(db: Database, applicationId: number, time: Date): Promise<EventCursor> {
  const { epoch, horizon, forgottenUntil } = await findFeedState(db, [applicationId], ['events']);
  const { rows } = await sql<{ first: string | null }>`select least(
      (select min(transaction_id) from event where application_id = ${applicationId} and stored_at >= ${time}),
      (select min(transaction_id) from reading_change where application_id = ${applicationId} and stored_at >= ${time})
    )::text as first`.execute(db);
  const first = BigInt(rows[0]?.first ?? horizon);
  if (first > horizon) return startOf(epoch, horizon);
  return startOf(epoch, first > forgottenUntil ? first : forgottenUntil + 1n);
}

/**
 * Checks that no event since a time was deleted, or lost in a restore of the database.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED and the time of the oldest event that is kept, if there is one
 */
export async function requireKeptSince(db: Database, applicationId: number, time: Date, field: string): Promise<void> {
  const { forgottenUntil } = await findFeedState(db, [applicationId], ['events', 'changes']);
  if (forgottenUntil === 0n) return;
  const first = (
    table: string,
  ) => sql`(select stored_at from ${sql.table(table)} where application_id = ${applicationId}
    and transaction_id > ${String(forgottenUntil)}::xid8 order by transaction_id, id limit 1)`;
  const { rows } = await sql<{ oldest: Date | null }>`select least(${first('event')}, ${first('reading_change')})
    as oldest`.execute(db);
  const oldest = rows[0]?.oldest ?? undefined;
  if (oldest && time >= oldest) return;
  const details = { field, reason: 'EXPIRED', ...(oldest && { oldest: oldest.toISOString() }) };
  throw new Failure('INVALID_PARAMETER', `${field} lies before the oldest event that is kept`, details);
}

/** Where the list of each application ends that is followed. */
export interface EventHeads {
  /** Earlier transactions have ended; rows that are not visible yet come behind it. */
  readonly horizon: bigint;
  /** The last transaction with events by application, and with readings where they are asked for. */
  readonly events: ReadonlyMap<number, bigint>;
  readonly readings: ReadonlyMap<number, bigint>;
}

/** Finds the heads of applications, in one statement. @param withReadings those among them whose readings are asked for */
export async function findEventHeads(
  db: Database,
  applicationIds: readonly number[],
  withReadings: readonly number[],
): Promise<EventHeads> {
  const last = (table: string) => sql`(select listed.transaction_id from ${sql.table(table)} as listed
    where listed.application_id = one.id and listed.transaction_id < head.horizon
    order by listed.transaction_id desc, listed.id desc limit 1)::text`;
  const { rows } = await sql<{ horizon: string; id: number; events: string | null; readings: string | null }>`
    select head.horizon::text as horizon, one.id, ${last('event')} as events,
      case when one.id = any (${[...withReadings]}::integer[]) then ${last('reading_change')} end as readings
    from (select ${feedHorizon} as horizon) as head cross join unnest(${[...applicationIds]}::integer[]) as one (id)`.execute(
    db,
  );
  const listed = (column: 'events' | 'readings') =>
    new Map(rows.flatMap((row) => (row[column] === null ? [] : [[row.id, BigInt(row[column])] as const])));
  return { horizon: BigInt(rows[0]?.horizon ?? 0), events: listed('events'), readings: listed('readings') };
}

import type { Viewer } from '@odograph/contracts/caller';
import { type EventType, eventTypes } from '@odograph/contracts/events';
import { inSnapshot } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, sql } from 'kysely';
import { readContents } from './contents.ts';
import { type Entries, type EventRow, readRows } from './event-rows.ts';
import { type EventPosition, type FeedState, requireKept, startOf } from './position.ts';
import { feedHorizon } from './reading-changes.ts';

/** An event as clients get it. */
export interface PlatformEvent {
  /** Stable: the same event has the same id whenever it is read. */
  readonly id: string;
  readonly type: EventType;
  /** When it happened, ISO 8601, UTC. */
  readonly time: string;
  readonly vehicleId: number | undefined;
  /** The whole event as it is sent. */
  readonly json: string;
  /** The position behind it. */
  readonly position: EventPosition;
}

export interface EventRequest {
  readonly applicationId: number;
  readonly after: EventPosition;
  /** Most events of a page. */
  readonly limit: number;
  /** All types by default. */
  readonly types?: ReadonlySet<EventType>;
  /** Only events of these vehicles; without it also events without a vehicle. */
  readonly vehicleIds?: readonly number[];
}

export interface EventPage {
  readonly events: readonly PlatformEvent[];
  /** Where the next page begins. */
  readonly next: EventPosition;
  /** More events may be available now, even when this page is short. */
  readonly more: boolean;
}

/**
 * Reads a page of the events of an application in one snapshot, in their order.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED when events behind the position were deleted
 */
export function readEvents(db: Kysely<Tables>, { applicationId, ...request }: EventRequest): Promise<EventPage> {
  return readEventsOf(db, { applicationIds: [applicationId] }, request);
}

/** Reads a page of the events that a person sees, of all applications together. @throws Failure as readEvents */
export function readEventsOf(
  db: Kysely<Tables>,
  viewer: Viewer & { readonly applicationIds: readonly number[] },
  { after, limit, types = new Set(eventTypes), vehicleIds }: Omit<EventRequest, 'applicationId'>,
): Promise<EventPage> {
  return inSnapshot(db, async (snapshot) => {
    const { applicationIds, userId } = viewer;
    const state = await findEventState(snapshot, applicationIds);
    requireKept(after, state);
    const asked = [...types].filter((type) => userId === undefined || type !== 'upload.quarantined');
    const { horizon } = state;
    const rows = await readRows(snapshot, { applicationIds, after, horizon, limit, types: asked, vehicleIds });
    return { events: await writeRows(snapshot, rows, viewer), next: rows.until, more: rows.more };
  });
}

async function writeRows(db: Database, { entries }: Entries<EventRow>, viewer: Viewer): Promise<PlatformEvent[]> {
  const contents = await readContents(db, entries, viewer);
  return entries.flatMap(({ id, type, time, appId, vehicleId, position }, index) => {
    const data = contents[index];
    if (data === undefined) return [];
    const head = JSON.stringify({
      id,
      type,
      time,
      appId,
      ...(vehicleId !== undefined && { vehicleId: String(vehicleId) }),
    });
    return [{ id, type, time, vehicleId, position, json: `${head.slice(0, -1)},"data":${data}}` }];
  });
}

/** Reads the state of the list; run it in the snapshot that is read from. */
async function findEventState(db: Database, applicationIds: readonly number[]): Promise<FeedState> {
  const { rows } = await sql<{ epoch: string; horizon: string; forgotten: string | null; is_replica: boolean }>`
    select feed_epoch::text as epoch, ${feedHorizon}::text as horizon, pg_is_in_recovery() as is_replica,
      (select max(events_forgotten_until)::text from application where id = any (${[...applicationIds]}::integer[])) as forgotten
    from installation`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the table installation is empty');
  return {
    epoch: BigInt(row.epoch),
    horizon: BigInt(row.horizon),
    forgottenUntil: BigInt(row.forgotten ?? 0),
    isReplica: row.is_replica,
  };
}

/** Finds the position behind everything that is stored now. What running transactions store comes behind it. */
export async function findEventHead(db: Database, applicationId: number): Promise<EventPosition> {
  const { epoch, horizon } = await findEventState(db, [applicationId]);
  return startOf(epoch, horizon);
}

/** Finds the position of the first event that was stored at a time or later; of the oldest that is kept for an earlier time. */
export async function findEventPositionAt(db: Database, applicationId: number, time: Date): Promise<EventPosition> {
  const { epoch, horizon, forgottenUntil } = await findEventState(db, [applicationId]);
  const { rows } = await sql<{ first: string | null }>`select least(
      (select min(transaction_id) from event where application_id = ${applicationId} and stored_at >= ${time}),
      (select min(transaction_id) from reading_change where application_id = ${applicationId} and stored_at >= ${time})
    )::text as first`.execute(db);
  const first = BigInt(rows[0]?.first ?? horizon);
  if (first > horizon) return startOf(epoch, horizon);
  return startOf(epoch, first > forgottenUntil ? first : forgottenUntil + 1n);
}

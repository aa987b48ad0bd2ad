import type { EventType } from '@odograph/contracts/events';
import type { Tables } from '@odograph/database/tables';
import { eventually } from '@odograph/testkit/eventually';
import { type Kysely, sql } from 'kysely';
import { expect } from 'vitest';
import type { EventCursor } from './cursor.ts';
import { type EventRequest, type PlatformEvent, readEvents } from './read-events.ts';
import { feedHorizon } from './reading-changes.ts';

/** Waits until everything that is stored for an application can be read; older transactions of other tests delay it. */
export async function awaitEvents(db: Kysely<Tables>, applicationId: number): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql<{ passed: boolean }>`select coalesce(greatest(
        (select max(transaction_id) from event where application_id = ${applicationId}),
        (select max(transaction_id) from reading_change where application_id = ${applicationId})) < ${feedHorizon}, true)
      as passed`.execute(db);
    expect(rows[0]?.passed).toBe(true);
  }, 30_000);
}

/** Reads all events behind a cursor, page by page. */
export async function readAllEvents(
  db: Kysely<Tables>,
  request: Omit<EventRequest, 'limit'> & { limit?: number },
): Promise<{ events: PlatformEvent[]; next: EventCursor }> {
  await awaitEvents(db, request.applicationId);
  const events: PlatformEvent[] = [];
  for (let { after } = request; ; ) {
    const page = await readEvents(db, { limit: 100, ...request, after });
    events.push(...page.events);
    after = page.next;
    if (!page.more) return { events, next: after };
  }
}

export const typesOf = (events: readonly PlatformEvent[]): EventType[] => events.map(({ type }) => type);

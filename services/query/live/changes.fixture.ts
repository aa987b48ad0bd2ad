import { type Database, openDatabase } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { feedHorizon } from '@odograph/event-list/reading-changes';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { type Kysely, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { expect } from 'vitest';
import { StoredReading } from '../shared/schemas.ts';

const Answer = Type.Object({ changes: Type.Array(StoredReading), next: Type.String(), more: Type.Boolean() });
export type Answer = Static<typeof Answer>;

/** Time of second 0 of these tests, in UNIX seconds. */
export const start = 1_763_712_000;

/** Stores readings and their changes in one statement, as ingest does; `seconds` count from `start`. */
export async function storeBatch(
  db: Database,
  applicationId: number,
  readings: readonly (readonly [vehicleId: string, seconds: number])[],
): Promise<void> {
  const vehicles = readings.map(([vehicleId]) => Number(vehicleId));
  const seconds = readings.map(([, second]) => second);
  await sql`with stored as (
      insert into reading (time, application_id, vehicle_id, mileage, device_id, received_at)
      select to_timestamp(${start} + second), ${applicationId}, vehicle_id, second, 'test', now()
      from unnest(${vehicles}::integer[], ${seconds}::double precision[]) as incoming (vehicle_id, second)
      on conflict (vehicle_id, time) do update set mileage = reading.mileage + 1
      returning application_id, vehicle_id, time)
    insert into reading_change (application_id, vehicle_ids, times)
    select application_id, array_agg(vehicle_id), array_agg(time) from stored group by application_id`.execute(db);
}

/** Waits until the feed contains everything committed for the application; older transactions of other tests delay it. */
export async function awaitHorizon(db: Database, applicationId: number): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql<{ passed: boolean }>`
      select coalesce(max(transaction_id) < ${feedHorizon}, true) as passed
      from reading_change where application_id = ${applicationId}`.execute(db);
    expect(rows[0]?.passed).toBe(true);
  }, 30_000);
}

export function readPage(client: ApiClient): (after?: string, limit?: number) => Promise<Answer> {
  return async (after, limit) => {
    const search = new URLSearchParams();
    if (after !== undefined) search.set('after', after);
    if (limit !== undefined) search.set('limit', String(limit));
    const { status, body, headers } = await client.get(`/v1/x/changes?${search.toString()}`);
    expect([status, body.error]).toEqual([200, undefined]);
    Value.Assert(Answer, body);
    expect(headers.get('x-has-more')).toBe(String(body.more));
    expect(headers.get('link') !== null).toBe(body.more);
    return body;
  };
}

/** Reads pages until there are no more. @returns all changes, and where to continue */
export async function readAll(client: ApiClient, after?: string, limit?: number): Promise<Answer & { pages: number }> {
  const read = readPage(client);
  let page = await read(after, limit);
  const changes = [...page.changes];
  let pages = 1;
  for (; page.more; pages += 1) {
    page = await read(page.next, limit);
    changes.push(...page.changes);
  }
  return { ...page, changes, pages };
}

export const keyOf = ({ vehicle, timestamp }: Static<typeof StoredReading>) => `${vehicle.id} ${timestamp - start}`;

/** Opens a database with several connections, for concurrent writers. */
export function openWriters(platform: TestPlatform, count: number): Kysely<Tables> {
  return openDatabase({ url: platform.config.DATABASE_URL, name: 'test-writers', size: count });
}

import { randomUUID } from 'node:crypto';
import type { EventType } from '@odograph/contracts/events';
import type { Tables } from '@odograph/database/tables';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { type EventCursor, formatCursor, parseCursor } from './cursor.ts';
import { awaitEvents, readAllEvents, typesOf } from './event-list.fixture.ts';
import {
  findEvent,
  findEventCursorAt,
  findEventHead,
  type PlatformEvent,
  readEvents,
  readEventsOf,
} from './read-events.ts';

let application: TestApplication;
let vehicle: TestVehicle;
let head: EventCursor;

const db = useDatabase();
beforeEach(async () => {
  application = await createApplication(db);
  vehicle = await createVehicle(db, application);
  const { next } = await readAllEvents(db, {
    applicationId: application.id,
    after: await findEventHead(db, application.id),
  });
  head = next;
});

const read = async (after = head) => (await readAllEvents(db, { applicationId: application.id, after })).events;
const dataOf = (json: string | undefined) => JSON.parse(json ?? '{}').data;

async function insertCommand(trx: Kysely<Tables> = db): Promise<string> {
  const { id } = await trx
    .insertInto('command')
    .values({
      ...{ application_id: application.id, vehicle_id: Number(vehicle.id), user_id: null, device_id: vehicle.deviceId },
      ...{ action: 'LOCK', expires_at: new Date() },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
const endCommand = (id: string, state: 'acknowledged' | 'unknown', trx: Kysely<Tables> = db) =>
  trx.updateTable('command').set({ state, ended_at: new Date() }).where('id', '=', id).execute();

const ofBooking = () => ({
  ...{ application_id: application.id, vehicle_id: Number(vehicle.id), user_id: 'driver', account_id: null },
  ...{ type: 'BOOKING' as const, authorization_id: randomUUID() },
});

let second = 12;
/** Stores a reading with its change, as ingest does. */
async function storeReading(trx: Kysely<Tables>): Promise<void> {
  await sql`with stored as (
      insert into reading (time, application_id, vehicle_id, mileage, device_id, received_at)
      values (to_timestamp(1763712000 + ${second}::integer), ${application.id}, ${Number(vehicle.id)}, 12, 'test', now())
      returning application_id, vehicle_id, time)
    insert into reading_change (application_id, vehicle_ids, times)
    select application_id, array_agg(vehicle_id), array_agg(time) from stored group by application_id`.execute(trx);
  second += 1;
}

describe('the list of events', () => {
  it('holds a command once it has ended, with its content as the interface shows it', async () => {
    const id = await insertCommand();
    expect(await read()).toEqual([]);
    await endCommand(id, 'acknowledged');
    const [event, ...others] = await read();
    expect(others).toEqual([]);
    expect(JSON.parse(event?.json ?? '')).toEqual({
      ...{ id: event?.id, type: 'command.ended', time: expect.stringMatching(/^\d{4}-.+Z$/), appId: application.appId },
      vehicleId: vehicle.id,
      data: expect.objectContaining({ id, vehicleId: vehicle.id, action: 'LOCK', state: 'acknowledged' }),
    });
  });

  it('holds a command again when a late acknowledgement replaces the outcome unknown', async () => {
    const id = await insertCommand();
    await endCommand(id, 'unknown');
    await endCommand(id, 'acknowledged');
    await endCommand(id, 'acknowledged');
    expect(typesOf(await read())).toEqual(['command.ended', 'command.ended']);
  });

  it('keeps what is stored while the change feed is restarted, and its order', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    const id = await insertCommand();
    await endCommand(id, 'unknown');
    await db.transaction().execute(async (trx) => {
      await storeReading(trx);
      await sql`select restart_change_feed()`.execute(db);
      await endCommand(id, 'acknowledged', trx);
    });
    const start = await findEventCursorAt(db, application.id, new Date(0));
    const types = ['device.linked', 'command.ended', 'reading.stored', 'command.ended'];
    expect(typesOf(await read(start))).toEqual(types);
  });

  it('holds nothing of a transaction that was rolled back', async () => {
    const id = await insertCommand();
    const trx = await db.startTransaction().execute();
    await endCommand(id, 'acknowledged', trx);
    await trx.rollback().execute();
    expect(await read()).toEqual([]);
  });

  it('finds each event by its id, even among several events of one transaction', async () => {
    const ids = [await insertCommand(), await insertCommand()];
    await db.transaction().execute(async (trx) => {
      for (let count = 0; count < 2; count += 1) await storeReading(trx);
      for (const id of ids) await endCommand(id, 'acknowledged', trx);
    });
    const events = await read();
    expect(events).toHaveLength(4);
    for (const event of events) expect(await findEvent(db, application.id, event)).toEqual(event);
    await sql`update vehicle set deleted_at = now() where id = ${Number(vehicle.id)}`.execute(db);
    for (const event of events) expect(await findEvent(db, application.id, event)).toBeUndefined();
  });

  it('continues behind any of its events, and gives an event the same id each time', async () => {
    for (let count = 0; count < 3; count += 1) await endCommand(await insertCommand(), 'acknowledged');
    const events = await read();
    expect(events).toHaveLength(3);
    for (const [index, { cursor }] of events.entries()) {
      const rest = await read(parseCursor(formatCursor(cursor)));
      expect(rest.map(({ id }) => id)).toEqual(events.slice(index + 1).map(({ id }) => id));
    }
  });

  it('has cursors that say the same after their text was parsed, the first ones included', () => {
    const none = { epoch: 1n, transaction: 1n, event: 0n, batch: 0n, time: 0n, vehicleId: 0 };
    const atReading = { ...none, batch: 1n, time: 1n, vehicleId: 1 };
    for (const cursor of [none, { ...none, event: 1n }, atReading])
      expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
  });

  it('gives quarantined uploads to the application, and never to its users', async () => {
    await sql`insert into quarantine (device_id, received_at, payload_bytes, sealed_payload, payload_fingerprint, faults)
      values (${vehicle.deviceId}, now(), 1, '\\x00', '\\x00', '[{"index": null, "reason": "NOT_JSON"}]')`.execute(db);
    await awaitEvents(db, application.id);
    const request = { after: head, limit: 100, cursorName: 'after' };
    const applicationIds = [application.id];
    const ofApplication = await readEventsOf(db, { applicationIds }, request);
    expect(typesOf(ofApplication.events)).toEqual(['upload.quarantined']);
    expect((await readEventsOf(db, { applicationIds, userId: 'driver' }, request)).events).toEqual([]);
  });

  it('continues from a time', async () => {
    await endCommand(await insertCommand(), 'acknowledged');
    const [first] = await read();
    const at = await findEventCursorAt(db, application.id, new Date(Date.now() - 60_000));
    expect((await read(at)).map(({ id }) => id)).toContain(first?.id);
    expect(await read(await findEventCursorAt(db, application.id, new Date(Date.now() + 60_000)))).toEqual([]);
  });

  it('refuses a cursor behind which events were deleted, with the reason EXPIRED', async () => {
    await endCommand(await insertCommand(), 'acknowledged');
    await read();
    await sql`update application set events_forgotten_until = pg_current_xact_id()
      where id = ${application.id}`.execute(db);
    await expect(read()).rejects.toMatchObject({ code: 'INVALID_PARAMETER', details: { reason: 'EXPIRED' } });
  });

  it('holds what happens to a booking, its end by time included', async () => {
    const values = ofBooking();
    const book = async (fromMs: number, untilMs: number) =>
      db
        .insertInto('booking')
        .values({ ...values, starts_at: new Date(Date.now() + fromMs), ends_at: new Date(Date.now() + untilMs) })
        .returning('id')
        .executeTakeFirstOrThrow();
    const past = await book(-7_200_000, -3_600_000);
    const { id } = await book(3_600_000, 7_200_000);
    await db
      .updateTable('booking')
      .set({ ends_at: new Date(Date.now() + 7_300_000) })
      .where('id', '=', id)
      .execute();
    await db.updateTable('booking').set({ user_id: 'erased' }).where('id', '=', id).execute();
    await db.updateTable('booking').set({ deleted_at: new Date() }).where('id', '=', id).execute();
    await sql`select record_due_events(), record_due_events()`.execute(db);
    const events = await read();
    expect(events.map(({ type, json }) => [type, dataOf(json).bookingId, dataOf(json).state])).toEqual([
      ['booking.created', past.id, 'ENDED'],
      ['booking.created', id, 'DELETED'],
      ['booking.changed', id, 'DELETED'],
      ['booking.ended', id, 'DELETED'],
      ['booking.ended', past.id, 'ENDED'],
    ]);
  });

  it('contains one booking.starting and one booking.overdue event for each booking', async () => {
    const minute = 60_000;
    const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs);
    const book = async (starts_at: Date, ends_at: Date): Promise<string> => {
      const values = { ...ofBooking(), starts_at, ends_at };
      return (await db.insertInto('booking').values(values).returning('id').executeTakeFirstOrThrow()).id;
    };
    const overdue = await book(at(-60 * minute), at(-20 * minute));
    const soon = await book(at(20 * minute), at(40 * minute));
    await book(at(50 * minute), at(60 * minute));
    const isDriven = async (until: Date) =>
      sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
        values (${Number(vehicle.id)}, ${at(-30 * minute)}, ${until}, ${until}, true, false, 1)`.execute(db);
    await isDriven(at(-15 * minute));
    for (let n = 0; n < 2; n += 1) await sql`select record_booking_times()`.execute(db);
    await sql`delete from trip where vehicle_id = ${Number(vehicle.id)}`.execute(db);
    await isDriven(at(-5 * minute));
    for (let n = 0; n < 2; n += 1) await sql`select record_booking_times()`.execute(db);
    const recorded = async () =>
      (await read())
        .filter(({ type }) => type === 'booking.starting' || type === 'booking.overdue')
        .map(({ type, json }) => [type, dataOf(json).bookingId]);
    const expected = [
      ['booking.starting', soon],
      ['booking.overdue', overdue],
    ];
    expect(await recorded()).toEqual(expected);
    await db
      .updateTable('booking')
      .set({ starts_at: at(25 * minute) })
      .where('id', '=', soon)
      .execute();
    await sql`select record_booking_times()`.execute(db);
    expect(await recorded()).toEqual([...expected, ['booking.starting', soon]]);
  });

  it('merges readings and other events in one order, the same in pages of any size and from any filter', async () => {
    const step = fc.record({ readings: fc.integer({ min: 0, max: 3 }), commands: fc.integer({ min: 0, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, limit) => {
          const [start, expected] = [await findEventHead(db, application.id), [] as EventType[]];
          for (const { readings, commands } of steps) {
            await db.transaction().execute(async (trx) => {
              for (let count = 0; count < commands; count += 1)
                await endCommand(await insertCommand(trx), 'acknowledged', trx);
              for (let count = 0; count < readings; count += 1) await storeReading(trx);
            });
            expected.push(...Array<EventType>(readings).fill('reading.stored'));
            expected.push(...Array<EventType>(commands).fill('command.ended'));
          }
          const request = { applicationId: application.id, after: start };
          const { events } = await readAllEvents(db, request);
          expect(typesOf(events)).toEqual(expected);
          const idsOf = (list: readonly PlatformEvent[]) => list.map(({ id }) => id);
          expect(new Set(idsOf(events)).size).toBe(events.length);
          expect(idsOf((await readAllEvents(db, { ...request, limit })).events)).toEqual(idsOf(events));
          for (const type of ['reading.stored', 'command.ended'] as const) {
            const some = await readAllEvents(db, { ...request, limit, types: new Set([type]) });
            expect(idsOf(some.events)).toEqual(idsOf(events.filter((event) => event.type === type)));
          }
        },
      ),
      { numRuns: 5 },
    );
  });

  it('shows a stored reading as the change feed does, and nothing of it once its vehicle is deleted', async () => {
    await storeReading(db);
    const [event] = await read();
    expect(JSON.parse(event?.json ?? '')).toMatchObject({
      ...{ type: 'reading.stored', vehicleId: vehicle.id, appId: application.appId },
      data: { vehicle: { id: vehicle.id }, status: { mileage: 12 }, can: [], sensors: [] },
    });
    await endCommand(await insertCommand(), 'acknowledged');
    await db.updateTable('vehicle').set({ deleted_at: new Date() }).where('id', '=', Number(vehicle.id)).execute();
    expect(await read()).toEqual([]);
  });

  it('does not skip a transaction that ends late: it withholds those that began after it', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    const [late, early] = [await insertCommand(), await insertCommand()];
    const slow = await db.startTransaction().execute();
    await endCommand(late, 'unknown', slow);
    await endCommand(early, 'acknowledged');
    const before = await readEvents(db, { applicationId: application.id, after: head, limit: 100 });
    expect(before.events).toEqual([]);
    await slow.commit().execute();
    const after = await read(before.next);
    expect(after.map(({ json }) => dataOf(json).id)).toEqual([late, early]);
  });

  it('gives one vehicle in order although its first transaction waited for a later one', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    const id = await insertCommand();
    await read();
    const first = await db.startTransaction().execute();
    await sql`select pg_current_xact_id()`.execute(first);
    await endCommand(id, 'unknown', db);
    await endCommand(id, 'acknowledged', first);
    await first.commit().execute();
    const cursors = (await read()).map(({ cursor }) => cursor);
    expect(cursors).toHaveLength(2);
    expect(cursors[0]?.transaction).toBe(cursors[1]?.transaction);
    const numbers = cursors.map(({ event }) => event);
    expect(numbers).toEqual(numbers.toSorted((one, other) => (one < other ? -1 : 1)));
  });
});

import { randomUUID } from 'node:crypto';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createOperator, createUser, createVehicle, unlinkDevice } from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { application, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeLatest } from '../query.fixture.ts';
import type { EventClient } from './event-client.fixture.ts';
import { changes, openStream, setUpStreams } from './streams.fixture.ts';

setUpVehicle();
setUpStreams();

/** Waits until every transaction older than the stored events has ended, so that a stream from now on omits these events. */
async function settled(): Promise<void> {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(platform.db);
  await eventually(async () => {
    const { rows: current } = await sql<{ isPast: boolean }>`select pg_snapshot_xmin(pg_current_snapshot())
      > ${rows[0]?.id}::xid8 as "isPast"`.execute(platform.db);
    expect(current).toEqual([{ isPast: true }]);
  });
}

async function open(
  query: string,
  { token = application.token, lastEventId, cookie }: { token?: string; lastEventId?: string; cookie?: string } = {},
): Promise<EventClient> {
  await settled();
  return openStream(query, cookie ? { cookie } : { 'x-service-token': token }, lastEventId);
}

/** Ends the link of a device and opens another: device.unlinked and device.linked. */
async function relink(): Promise<void> {
  await unlinkDevice(platform.db, vehicle.deviceId);
  await sql`insert into device_link values (${vehicle.deviceId}, ${Number(vehicle.id)},
    tstzrange(clock_timestamp(), null))`.execute(platform.db);
}

const setFlag = (flag: 'stolen' | 'towing', state: boolean, of = vehicle) =>
  platform.db
    .updateTable('vehicle')
    .set({ [flag]: state })
    .where('id', '=', Number(of.id))
    .execute();

/** Waits until a stream has received so many events of the list. */
async function received(client: EventClient, count: number): Promise<EventClient['events']> {
  const listed = () => client.events.filter(({ event }) => event.includes('.'));
  await client.until(() => listed().length >= count, 30_000);
  return listed();
}

describe('the list of events in the stream', () => {
  it('goes with the present in one stream, and both resume by the same id', async () => {
    const client = await open('?types=vehicles,state.changed');
    await client.until((state) => state.isComplete);
    await setFlag('stolen', true);
    await changes.announce({ vehicleIds: [Number(vehicle.id)] });
    await received(client, 1);
    await client.until(() => client.named('changes').length > 0, 30_000);
    const again = await open('?types=vehicles,state.changed', { lastEventId: client.lastEventId ?? '' });
    await setFlag('stolen', false);
    await received(again, 1);
    expect(again.named('reset')).toEqual([]);
    expect(again.named('state.changed').map(({ data }) => data.data.changed)).toEqual([{ stolen: false }]);
  });

  it('misses no change of a vehicle while a stream is opened', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session, so nothing waits for a lock');
    const inParis = 'bbox=2,48,3,49';
    const witness = await openStream(`?types=vehicles&${inParis}`);
    await witness.until((state) => state.isComplete);
    const opened = await platform.db.transaction().execute(async (trx) => {
      await sql`lock table installation in access exclusive mode`.execute(trx);
      const opening = openStream(`?types=vehicles,state.changed&${inParis}`);
      await waitForLock(trx);
      const location = { latitude: 48.8566, longitude: 2.3522 };
      await storeLatest(platform.db, vehicle.id, new Date().toISOString(), { location });
      await changes.announce({ vehicleIds: [Number(vehicle.id)] });
      await witness.until((state) => state.vehicles.has(vehicle.id));
      return { opening };
    });
    const client = await opened.opening;
    await client.until((state) => state.vehicles.has(vehicle.id));
    expect(client.state.vehicles.get(vehicle.id)?.location).toMatchObject({ latitude: 48.8566 });
  });

  it('begins now, sends the types that were asked for, and names the position with each', async () => {
    await setFlag('towing', true);
    const client = await open('?types=state.*,device.linked');
    expect(client.status).toBe(200);
    await setFlag('stolen', true);
    await relink();
    await setFlag('stolen', false);
    const events = await received(client, 3);
    expect(events.map(({ event, data }) => [event, data.data.changed ?? data.data.deviceId])).toEqual([
      ['state.changed', { stolen: true }],
      ['device.linked', vehicle.deviceId],
      ['state.changed', { stolen: false }],
    ]);
    expect(events[0]?.data).toMatchObject({ appId: application.appId, vehicleId: vehicle.id, data: { towing: true } });
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    expect(client.named('snapshot')).toEqual([]);
  });

  it('continues behind the last event that a client received, without a gap or a repeat', async () => {
    const first = await open('?types=state.changed');
    const flags = [true, false, true, false, true];
    for (const state of flags) await setFlag('stolen', state);
    const sent = await received(first, flags.length);
    for (const [index, { id }] of sent.entries()) {
      const again = await open('?types=state.changed&once=true', { lastEventId: id ?? '' });
      await again.until(() => again.hasEnded);
      expect(again.events.map(({ data }) => data.id)).toEqual(sent.slice(index + 1).map(({ data }) => data.id));
    }
  });

  it('can be read at intervals: each answer ends when the client is up to date', async () => {
    const client = await open('?types=state.changed&once=true');
    for (const state of [true, false]) {
      await client.until(() => client.hasEnded);
      await setFlag('stolen', state);
      await expect
        .poll(
          async () => {
            await client.open();
            await client.until(() => client.hasEnded);
            return client.events.at(-1)?.data.data.changed;
          },
          { timeout: 30_000 },
        )
        .toEqual({ stolen: state });
    }
    expect(client.events).toHaveLength(2);
  });

  it('shows nothing of other applications, and with vehicles= only those', async () => {
    const stranger = await createApplication(platform.db);
    const other = await createVehicle(platform.db, application);
    const [foreign, one, all] = [
      await open('?types=*', { token: stranger.token }),
      await open(`?types=*&vehicles=${other.id}`),
      await open('?types=*'),
    ];
    await setFlag('stolen', true);
    await setFlag('stolen', true, other);
    expect((await received(all, 2)).map(({ data }) => data.vehicleId)).toEqual([vehicle.id, other.id]);
    expect((await received(one, 1)).map(({ data }) => data.vehicleId)).toEqual([other.id]);
    expect(foreign.events).toEqual([]);
  });

  it('shows an operator the applications that it is limited to', async () => {
    const stranger = await createApplication(platform.db);
    const theirs = await createVehicle(platform.db, stranger);
    const { cookie } = await createOperator(platform.db, {
      role: 'viewer',
      applicationIds: [application.id, stranger.id],
    });
    const { cookie: limited } = await createOperator(platform.db, { role: 'viewer', applicationIds: [stranger.id] });
    const [both, one] = [await open('?types=state.*', { cookie }), await open('?types=state.*', { cookie: limited })];
    await setFlag('stolen', true);
    await setFlag('stolen', true, theirs);
    expect((await received(both, 2)).map(({ data }) => data.appId)).toEqual([application.appId, stranger.appId]);
    expect((await received(one, 1)).map(({ data }) => data.appId)).toEqual([stranger.appId]);
  });

  it('shows a user the vehicles granted to it, its own bookings, and as a manager those of others', async () => {
    const hidden = await createVehicle(platform.db, application);
    const driver = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'driver' });
    const manager = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const clientsOf = [
      await open('?types=*', { token: driver.token }),
      await open('?types=*', { token: manager.token }),
    ];
    const keep = async (accountId: string, from: number) =>
      platform.db
        .insertInto('booking')
        .values({
          ...{
            application_id: application.id,
            vehicle_id: Number(vehicle.id),
            user_id: 'driver',
            account_id: accountId,
          },
          ...{
            type: 'BOOKING',
            starts_at: new Date(from),
            ends_at: new Date(from + 1),
            authorization_id: randomUUID(),
          },
        })
        .returning('id')
        .executeTakeFirstOrThrow();
    const own = await keep(driver.id, 1);
    const others = await keep(manager.id, 10);
    await setFlag('stolen', true, hidden);
    await setFlag('stolen', true);
    const seen = async (client: EventClient | undefined, count: number) =>
      client && (await received(client, count)).map(({ event, data }) => data.data.bookingId ?? event);
    expect(await seen(clientsOf[1], 3)).toEqual([own.id, others.id, 'state.changed']);
    expect(await seen(clientsOf[0], 2)).toEqual([own.id, 'state.changed']);
  });

  it('refuses types and positions that do not exist, and says when a position has expired', async () => {
    const refused = async (query: string, lastEventId?: string) => {
      const client = await open(query, { ...(lastEventId !== undefined && { lastEventId }) });
      await client.until(() => client.hasEnded);
      const { error, field, reason, oldest } = JSON.parse(client.text);
      return [client.status, error, field, reason ?? oldest, ...(reason ? [oldest] : [])];
    };
    expect(await refused('?types=trip')).toEqual([400, 'INVALID_PARAMETER', 'types', undefined]);
    expect(await refused('?types=vehicles', 'strange')).toEqual([400, 'INVALID_PARAMETER', 'Last-Event-ID', undefined]);
    const present = `1772440200000-${'0'.repeat(16)}v`;
    for (const id of ['x', '~x', '1', present, `${present}~x`, 'strange~1-1']) {
      expect(await refused('?types=trip.*', id)).toEqual([400, 'INVALID_PARAMETER', 'Last-Event-ID', undefined]);
    }
    const { rows } = await sql<{ epoch: string }>`select feed_epoch::text as epoch
      from installation`.execute(platform.db);
    await sql`update application set events_forgotten_until = '5' where id = ${application.id}`.execute(platform.db);
    const epoch = rows[0]?.epoch;
    const expired = [400, 'INVALID_PARAMETER', 'Last-Event-ID', 'EXPIRED', `${epoch}-6`];
    for (const id of [`${epoch}-5`, `${epoch}-4-e17`, `${present}~${epoch}-5`, '1-17', `${epoch}-9999999999`]) {
      expect(await refused('?types=trip.*', id)).toEqual(expired);
    }
    const client = await open('?types=state.changed', { lastEventId: `${epoch}-6` });
    await setFlag('stolen', true);
    await received(client, 1);
  });

  it('continues after the id in the body of an event, which is that of the stream', async () => {
    const client = await open('?types=vehicles,state.changed');
    await client.until((state) => state.isComplete);
    for (const state of [true, false, true]) await setFlag('stolen', state);
    const events = await received(client, 3);
    const ids = events.map(({ data }) => data.id);
    expect(events.map(({ id }) => id)).toEqual(ids);
    for (const query of ['?types=state.changed', '?types=vehicles,state.changed', '?types=commands,state.changed']) {
      const again = await open(query, { lastEventId: ids[0] });
      expect((await received(again, 2)).map(({ data }) => data.id)).toEqual(ids.slice(1));
      const resets = again.events.filter(({ event }) => event === 'reset').map(({ data }) => data.reason);
      expect(resets).toEqual(query === '?types=state.changed' ? [] : ['EXPIRED']);
    }
    const ofOlderVersion = `1772440200000-${'0'.repeat(16)}~${ids[0]}`;
    const continued = await open('?types=commands,state.changed', { lastEventId: ofOlderVersion });
    expect((await received(continued, 2)).map(({ data }) => data.id)).toEqual(ids.slice(1));
  });

  it('reads more pages than one when many events wait', async () => {
    const client = await open('?types=state.changed');
    const states = Array.from({ length: 150 }, (_, n) => n % 2 === 0);
    await sql
      .raw(`do $$ begin for n in 0..149 loop
        update vehicle set stolen = n % 2 = 0 where id = ${Number(vehicle.id)};
      end loop; end $$`)
      .execute(platform.db);
    expect((await received(client, states.length)).map(({ data }) => data.data.changed.stolen)).toEqual(states);
  });
});

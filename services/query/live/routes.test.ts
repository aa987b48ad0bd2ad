import { eventually } from '@odograph/testkit/eventually';
import {
  archiveVehicle,
  createApplication,
  createGroup,
  createOperator,
  createUser,
  createVehicle,
  grantVehicle,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { application, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { createFleet, storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { queryService } from '../service.ts';
import { type BrowserState, EventClient } from './event-client.fixture.ts';
import type { LiveVehicle } from './schemas.ts';
import { changes, openStream, setUpStreams } from './streams.fixture.ts';

setUpVehicle();
setUpStreams();

const announce = (...ids: string[]) => changes.announce({ vehicleIds: ids.map(Number) });

interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly speed?: number;
}

/** Stores a reading of a vehicle as ingest does, and announces it. */
async function report(id: string, place: Place | undefined, status: object = { ignition: true }): Promise<void> {
  await sql`delete from vehicle_latest where vehicle_id = ${Number(id)}`.execute(platform.db);
  await storeLatest(platform.db, id, new Date().toISOString(), { ...(place && { location: place }), status });
  await announce(id);
}

const paris = { latitude: 48.8566, longitude: 2.3522 };
const aroundParis = '?bbox=2.2,48.8,2.5,48.95&zoom=12';

describe('GET /v1/x/events', () => {
  it('begins with a snapshot of the vehicles that the client may see, each with all that is known', async () => {
    await report(vehicle.id, { ...paris, speed: 52 }, { ignition: true });
    const client = await openStream();
    await client.until((state) => state.isComplete);
    expect(client.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(client.headers['cache-control']).toBe('no-store, no-transform');
    expect(client.headers['x-accel-buffering']).toBe('no');
    expect(client.events.map(({ event }) => event)).toEqual(['reset', 'snapshot']);
    expect([...client.state.vehicles.values()]).toEqual([
      {
        id: vehicle.id,
        appId: application.appId,
        plate: expect.any(String),
        vin: '',
        brand: 'Renault',
        model: 'Zoe',
        deviceId: vehicle.deviceId,
        state: 'moving',
        ...{ flags: [], alarms: [] },
        location: { ...paris, time: expect.any(String) },
        speed: 52,
        lastContact: expect.any(String),
      },
    ]);
  });

  it('sends what changed, and only that', async () => {
    const other = await createVehicle(platform.db, application);
    await report(other.id, paris);
    await announce(vehicle.id);
    const client = await openStream();
    await client.until((state) => state.vehicles.size === 2);
    await report(vehicle.id, paris, { ignition: false });
    await client.until((state) => state.vehicles.get(vehicle.id)?.state === 'parked');
    const sent = client.named('changes').flatMap(({ data }) => data.vehicles.map(({ id }: LiveVehicle) => id));
    expect(new Set(sent)).toEqual(new Set([vehicle.id]));
  });
});

describe('a view', () => {
  it('holds the vehicles within bbox, and those followed wherever they are', async () => {
    const followed = await createVehicle(platform.db, application);
    await report(followed.id, { latitude: -33.9, longitude: 151.2 });
    await report(vehicle.id, paris);
    const client = await openStream(`${aroundParis}&vehicles=${followed.id}`);
    await client.until((state) => state.vehicles.size === 2);
    await report(vehicle.id, { latitude: 45.76, longitude: 4.83 });
    await client.until((state) => !state.vehicles.has(vehicle.id));
    expect(client.named('changes').at(-1)?.data).toEqual({ vehicles: [], left: [vehicle.id] });
    await report(followed.id, { latitude: -33.8, longitude: 151.2 });
    await client.until((state) => state.vehicles.get(followed.id)?.location?.latitude === -33.8);
    await report(vehicle.id, paris);
    await client.until((state) => state.vehicles.has(vehicle.id));
  });

  it('may cross the 180th meridian', async () => {
    const [west, outside] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    await report(vehicle.id, { latitude: -17, longitude: 179.5 });
    await report(west.id, { latitude: -17, longitude: -179.5 });
    await report(outside.id, { latitude: -17, longitude: 170 });
    for (const bbox of ['179,-18,-179,-16', '179,-18,181,-16', '-181,-18,-179,-16']) {
      const client = await openStream(`?bbox=${bbox}`);
      await client.until((state) => state.vehicles.size > 1);
      expect([...client.state.vehicles.keys()].sort()).toEqual([vehicle.id, west.id].sort());
    }
  });

  it('loses a vehicle that becomes private, archived or deleted', async () => {
    const [archived, deleted] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    for (const { id } of [vehicle, archived, deleted]) await report(id, paris);
    const [map, list] = [await openStream(aroundParis), await openStream()];
    await Promise.all([map, list].map((client) => client.until((state) => state.vehicles.size === 3)));
    await turnPrivacyOn(platform.db, vehicle.id);
    await archiveVehicle(platform.db, archived.id);
    await sql`update vehicle set deleted_at = now() where id = ${Number(deleted.id)}`.execute(platform.db);
    await announce(vehicle.id, archived.id, deleted.id);
    await map.until((state) => state.vehicles.size === 0);
    await list.until((state) => state.vehicles.size === 1);
    const [shown] = list.state.vehicles.values();
    expect(shown).toMatchObject({ id: vehicle.id, state: 'private' });
    for (const hidden of ['location', 'speed', 'parkedSince']) expect(shown).not.toHaveProperty(hidden);
  });
});

describe('access', () => {
  it('is limited to the application and to the grants of a user; operators see all', async () => {
    const granted = await createVehicle(platform.db, application);
    for (const { id } of [vehicle, granted]) await report(id, paris);
    const user = await createUser(platform.db, application, { vehicleIds: [granted.id] });
    const stranger = await createApplication(platform.db);
    const [ofUser, ofStranger, ofOperator] = await Promise.all([
      openStream(`?vehicles=${vehicle.id}`, { 'x-service-token': user.token }),
      openStream(`?vehicles=${vehicle.id}`, { 'x-service-token': stranger.token }),
      openStream(`${aroundParis}&vehicles=${vehicle.id},${granted.id}`, { authorization: `Bearer ${testAdminToken}` }),
    ]);
    await ofOperator.until((state) => state.vehicles.has(vehicle.id) && state.vehicles.has(granted.id));
    await Promise.all([ofUser, ofStranger].map((client) => client.until((state) => state.isComplete)));
    await report(vehicle.id, { ...paris, speed: 1 });
    await report(granted.id, { ...paris, speed: 2 });
    await ofUser.until((state) => state.vehicles.get(granted.id)?.speed === 2);
    expect(ofUser.text).not.toContain(vehicle.id);
    expect(ofStranger.text).not.toContain(vehicle.id);
    expect(ofStranger.text).not.toContain(granted.id);
  });

  it('can be limited to a group, and follows changes of its members', async () => {
    const [inside, outside] = [vehicle, await createVehicle(platform.db, application)];
    for (const { id } of [inside, outside]) await report(id, paris);
    const group = await createGroup(platform.db, application, { vehicleIds: [inside.id] });
    const client = await openStream(`?group=${group}`);
    await client.until((state) => state.isComplete && state.vehicles.has(inside.id));
    expect(client.text).not.toContain(outside.id);
    await sql`insert into vehicle_group_member values (${group}, ${Number(outside.id)})`.execute(platform.db);
    await client.until((state) => state.vehicles.has(outside.id), 20_000);
  });

  it('is checked again each second: an ended grant hides its vehicle, and an ended session ends the stream', async () => {
    const { db } = platform;
    const added = await createVehicle(db, application);
    for (const { id } of [vehicle, added]) await report(id, paris);
    const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id] });
    const [ofUser, ofEnded] = [await openStream('', { 'x-service-token': user.token }), await openStream()];
    const foreign = await createVehicle(db, await createApplication(db));
    await report(foreign.id, paris);
    const [deleted, limited] = [await createOperator(db), await createOperator(db)];
    const ofDeleted = await openStream(aroundParis, { cookie: deleted.cookie });
    const ofLimited = await openStream(`?vehicles=${foreign.id}`, { cookie: limited.cookie });
    await ofUser.until((state) => state.vehicles.has(vehicle.id));
    await ofLimited.until((state) => state.vehicles.has(foreign.id));
    await ofEnded.until((state) => state.isComplete);
    const endedAtMs = performance.now();
    await sql`delete from vehicle_grant where user_id = ${user.id}`.execute(platform.db);
    await grantVehicle(platform.db, user.id, added.id);
    await sql`update session set revoked_at = now()
      where application_id = ${application.id} and user_id is null`.execute(db);
    await db.updateTable('operator').set({ deleted_at: new Date() }).where('id', '=', deleted.id).execute();
    const limit = { operator_id: limited.id, application_id: application.id };
    await db.insertInto('operator_application').values(limit).execute();
    await ofUser.until((state) => !state.vehicles.has(vehicle.id) && state.vehicles.has(added.id), 20_000);
    expect(ofUser.named('reset').at(-1)?.data.reason).toBe('ACCESS');
    await ofLimited.until((state) => !state.vehicles.has(foreign.id), 20_000);
    for (const client of [ofEnded, ofDeleted]) await client.until(() => client.hasEnded, 20_000);
    expect(performance.now() - endedAtMs, 'sooner than the next heartbeat').toBeLessThan(8000);
    expect((await openStream()).status).toBe(401);
  });

  it('sends heartbeats while nothing changes', async () => {
    const beating = await startTestPlatform([queryService], {}, { liveHeartbeatMs: 200 });
    onTestFinished(() => beating.stop());
    const idle = new EventClient(beating.httpUrl, '', { 'x-service-token': application.token });
    onTestFinished(() => idle.close());
    await idle.open();
    await idle.until(() => idle.text.includes(': heartbeat\n'));
    expect(idle.hasEnded).toBe(false);
  });
});

describe('a view with more than 2,000 vehicles', () => {
  const moscow = '?bbox=37,55,38,56&zoom=10';
  let ids: string[];
  beforeEach(async () => {
    ids = await createFleet(platform.db, application.id, 2001);
    await sql`insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
      select id::integer, now(), jsonb_build_object('latitude', 55.2 + n * 0.0003, 'longitude', 37.2 + n * 0.0003), now(),
        '{"ignition": true}', now(), now()
      from unnest(${ids}::text[]) with ordinality as fleet (id, n)`.execute(platform.db);
    await announce(...ids);
  });

  const countOf = ({ cells }: BrowserState) => [...cells.values()].reduce((sum, { count }) => sum + count, 0);

  it('shows cells with counts by state, updates them, and shows vehicles again when they are fewer', async () => {
    const [first = '', second = ''] = ids;
    const client = await openStream(`${moscow}&vehicles=${first}`);
    await client.until((state) => countOf(state) === 2001);
    expect(client.state.mode).toBe('cells');
    expect([...client.state.vehicles.keys()]).toEqual([first]);
    expect(client.state.cells.size).toBeLessThan(100);
    const sums = [...client.state.cells.values()].map(
      ({ moving, parked, silent, count }) => count - moving - parked - silent,
    );
    expect(sums.every((rest) => rest === 0)).toBe(true);
    await report(second, paris);
    await client.until((state) => countOf(state) === 2000);
    const leaving = ids.slice(0, 250);
    await sql`update vehicle set archived_at = now() where id = any(${leaving}::integer[])`.execute(platform.db);
    await announce(...leaving);
    await client.until((state) => state.mode === 'vehicles' && state.vehicles.size === 1751, 20_000);
    expect(client.state.cells.size).toBe(0);
    expect(client.named('reset').at(-1)?.data).toEqual({ reason: 'MODE', mode: 'vehicles' });
  });
});

describe('a client that reconnects', () => {
  it('receives only what changed meanwhile', async () => {
    const unchanged = await createVehicle(platform.db, application);
    await sql`insert into vehicle_latest (vehicle_id, time, received_at)
      values (${Number(unchanged.id)}, now(), now())`.execute(platform.db);
    const client = await openStream(aroundParis);
    await report(vehicle.id, paris);
    await client.until((state) => state.vehicles.has(vehicle.id));
    client.close();
    await report(vehicle.id, { latitude: 45, longitude: 5 });
    const late = await createVehicle(platform.db, application);
    await report(late.id, paris);
    await client.open();
    await client.until((state) => !state.vehicles.has(vehicle.id) && state.vehicles.has(late.id));
    expect(client.named('reset')).toHaveLength(1);
    expect(client.named('snapshot').flatMap(({ data }) => data.vehicles)).toEqual([]);
  });

  it('begins again with an id that is too old or of another view', async () => {
    const client = await openStream();
    await client.until((state) => state.isComplete);
    const { lastEventId = '' } = client;
    for (const id of [lastEventId.replace(/^\d+/, '1'), lastEventId.replace(/-.*/, `-${'0'.repeat(16)}v`)]) {
      client.close();
      client.lastEventId = id;
      client.events.splice(0);
      await client.open();
      await client.until((state) => state.isComplete && client.events.length > 0);
      expect(client.events[0]).toMatchObject({ event: 'reset', data: { reason: 'EXPIRED' } });
    }
  });

  it('receives thousands of alarms that are raised together, at once or when it returns', async () => {
    const client = await openStream('?types=alarms&once=true');
    await client.until(() => client.hasEnded);
    client.lastEventId = client.lastEventId?.replace(/^\d+/, String(Date.now()));
    const other = await openStream('?types=alarms');
    const { rows } = await sql<{ id: string }>`
      with rule as (insert into alarm_rule (application_id, name, kind, all_vehicles)
        values (${application.id}, 'silent', 'silent', true) returning id)
      insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
        select ${application.id}, rule.id, ${Number(vehicle.id)}, 'silent', at, at
        from rule, generate_series(timestamptz '2026-01-01', '2026-01-02', '30 s') as at returning id`.execute(
      platform.db,
    );
    await changes.announce({ alarmIds: rows.map(({ id }) => id) });
    await other.until((state) => state.alarms.length === rows.length);
    await client.open();
    await client.until(() => client.hasEnded);
    expect(client.state.alarms).toHaveLength(rows.length);
  });

  it('receives a reset if its event ID is too old to resume commands and alarms', async () => {
    const client = await openStream('?types=commands,alarms&once=true');
    await client.until(() => client.hasEnded);
    client.lastEventId = client.lastEventId?.replace(/^\d+/, String(Date.now() - 3_600_000));
    await client.open();
    await client.until(() => client.hasEnded);
    expect(client.events).toMatchObject([{ event: 'reset', data: { reason: 'EXPIRED' } }]);
  });
});

describe('limits', () => {
  it('refuse malformed parameters with the name of the field', async () => {
    const faults = {
      'bbox=1,2,3': 'bbox',
      'bbox=1,9,3,2': 'bbox',
      'bbox=1,2,3,x': 'bbox',
      'bbox=541,2,3,4': 'bbox',
      'zoom=25': 'zoom',
      'vehicles=1': 'vehicles',
      'types=trips': 'types',
      [`vehicles=${Array.from({ length: 101 }, (_, n) => 1000000001 + n).join(',')}`]: 'vehicles',
    };
    for (const [query, field] of Object.entries(faults)) {
      const client = await openStream(`?${query}`);
      expect([client.status, JSON.parse(client.text)]).toEqual([
        400,
        { error: 'INVALID_PARAMETER', message: expect.any(String), field },
      ]);
    }
  });

  it('refuse a stream without a session, and more than 20 of one person', async () => {
    expect((await openStream('', {})).status).toBe(401);
    const opened = await Promise.all(Array.from({ length: 21 }, () => openStream('?types=commands')));
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(20);
    const refused = opened.find(({ status }) => status !== 200);
    expect([refused?.status, refused?.headers['retry-after']]).toEqual([429, '15']);
    const ignored = { authorization: 'Bearer other', cookie: 'odograph_session=other' };
    const again = await openStream('?types=commands', { 'x-service-token': application.token, ...ignored });
    expect(again.status).toBe(429);
    opened.find(({ status }) => status === 200)?.close();
    await eventually(async () => expect((await openStream('?types=commands')).status).toBe(200));
  });
});

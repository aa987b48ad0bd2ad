import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createGroup, createOperator, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, as } = await startFleet();
const { db, httpUrl } = platform;
const foreign = as((await createApplication(db)).token);

const circle = { name: 'depot', geometry: { type: 'Point', coordinates: [2.35, 48.85] }, radiusMetres: 300 };
const polygon = (...ring: number[][]) => ({ name: 'area', geometry: { type: 'Polygon', coordinates: [ring] } });
const line = (...coordinates: number[][]) => ({ name: 'road', geometry: { type: 'LineString', coordinates } });
const night = { weekdays: ['monday', 'friday'], from: '22:00', until: '06:00' };
const answerOf = ({ status, body }: { status: number; body: { error?: string; field?: string } }) => [
  status,
  body.error ?? '',
  body.field ?? '',
];
const createRule = async (fields: object, client = api): Promise<string> =>
  (await client.post('/v1/x/alarm-rules', { name: 'rule', ...fields })).body.id;

async function raise(ruleId: string, vehicleId: string, more: { raisedAt?: string; cleared?: boolean } = {}) {
  const { raisedAt = new Date().toISOString(), cleared = false } = more;
  const { rows } = await sql<{ id: string }>`
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
    select application_id, id, ${Number(vehicleId)}, kind, ${raisedAt}::timestamptz,
      case when ${cleared} then ${raisedAt}::timestamptz end from alarm_rule
      where id = ${ruleId} returning id`.execute(db);
  return rows[0]?.id ?? '';
}

async function auditOf(subject: string): Promise<string[]> {
  const { rows } = await sql<{ entry: string }>`select actor || ' ' || action as entry from audit
    where subject = ${subject} order by position`.execute(db);
  return rows.map(({ entry }) => entry);
}

describe('geofences', () => {
  it('are created, listed, replaced and deleted, with an entry of the audit for each change', async () => {
    const { id } = (await api.post('/v1/x/geofences', circle)).body;
    const triangle = polygon([2, 48], [3, 48], [3, 49], [2, 48]);
    expect((await api.put(`/v1/x/geofences/${id}`, triangle)).status).toBe(200);
    const { geofences } = (await api.get('/v1/x/geofences')).body;
    expect(geofences).toContainEqual({ id, appId: application.appId, ...triangle });
    expect((await api.delete(`/v1/x/geofences/${id}`)).body).toEqual({ deleted: true });
    expect((await api.delete(`/v1/x/geofences/${id}`)).status).toBe(404);
    expect(await auditOf(`geofence:${id}`)).toEqual([
      'application geofence.create',
      'application geofence.change',
      'application geofence.delete',
    ]);
  });

  it.each([
    ['is open', polygon([2, 48], [3, 48], [3, 49], [2, 49])],
    ['crosses itself', polygon([0, 0], [1, 1], [1, 0], [0, 1], [0, 0])],
    ['touches itself in a point', polygon([0, 0], [2, 0], [1, 1], [2, 2], [0, 2], [1, 1], [0, 0])],
    ['goes back along an edge', polygon([0, 0], [2, 0], [1, 0], [0, 0])],
    ['repeats a point', polygon([0, 0], [0, 0], [1, 0], [1, 1], [0, 0])],
    ['encloses a pole', polygon([0, 80], [120, 80], [-120, 80], [0, 80])],
    ['has 501 points', polygon(...Array.from({ length: 501 }, (_, n) => [n / 1000, n % 500 === 0 ? 0 : 1]))],
    ['lies beyond the poles', polygon([0, 0], [1, 0], [1, 91], [0, 0])],
    ['is a circle without a radius', { ...circle, radiusMetres: undefined }],
    ['is a polygon with a radius', { ...polygon([2, 48], [3, 48], [3, 49], [2, 48]), radiusMetres: 5 }],
    ['has two rings', { name: 'x', geometry: { type: 'Polygon', coordinates: [[], []] } }],
    ['is a line without a width', line([0, 0], [1, 1])],
    ['is a line with a radius', { ...line([0, 0], [1, 1]), widthMetres: 100, radiusMetres: 100 }],
    ['is a line that repeats a point', { ...line([0, 0], [0, 0]), widthMetres: 100 }],
    ['is a circle with a width', { ...circle, widthMetres: 100 }],
    ['has windows without a time zone', { ...circle, windows: [night] }],
    ['has a time zone without windows', { ...circle, timeZone: 'Europe/Paris' }],
    ['has an unknown time zone', { ...circle, windows: [night], timeZone: 'Europe/Atlantis' }],
    ['has an abbreviated time zone', { ...circle, windows: [night], timeZone: 'CET' }],
    ['has a window that begins at 24:00', { ...circle, windows: [{ ...night, from: '24:00' }], timeZone: 'UTC' }],
  ])('are refused if the shape %s', async (_, body) => {
    const { status, body: answer } = await api.post('/v1/x/geofences', body);
    expect([status, answer.error]).toEqual([400, 'INVALID_PARAMETER']);
  });

  it('are refused with the fault of the shape that they name', async () => {
    const { body: ofPolygon } = await api.post('/v1/x/geofences', polygon([2, 48], [3, 48], [3, 999], [2, 48]));
    expect(ofPolygon.message).toBe('geometry.coordinates.0.2.1 must be at most 180');
    const other = { name: 'x', geometry: { type: 'Line', coordinates: [] } };
    const { body: ofOther } = await api.post('/v1/x/geofences', other);
    expect(ofOther.message).toBe('geometry.type must be one of Point, Polygon, LineString');
  });

  it('can be corridors with time windows, and restart their rules when the windows change', async () => {
    const corridor = { ...line([2, 48], [2.5, 48.2], [2, 48.2]), widthMetres: 300 };
    const { id } = (await api.post('/v1/x/geofences', corridor)).body;
    await createRule({ kind: 'geofence', parameters: { geofenceId: id, when: 'outside' } });
    const begun = async () => {
      const { rows } = await sql<{
        at: Date;
      }>`select active_from as at from alarm_rule where geofence_id = ${id}`.execute(db);
      return rows[0]?.at.getTime() ?? 0;
    };
    const before = await begun();
    const timed = { ...corridor, timeZone: 'Europe/Paris', windows: [night] };
    expect((await api.put(`/v1/x/geofences/${id}`, timed)).status).toBe(200);
    expect(await begun()).toBeGreaterThan(before);
    const { geofences } = (await api.get('/v1/x/geofences?limit=1000')).body;
    expect(geofences).toContainEqual({ id, appId: application.appId, ...timed });
  });

  it('may cross the 180th meridian', async () => {
    const fiji = polygon([177, -20], [-178, -20], [-178, -15], [177, -15], [177, -20]);
    expect((await api.post('/v1/x/geofences', fiji)).status).toBe(200);
  });

  it('of another application are unknown to a rule', async () => {
    const { id } = (await api.post('/v1/x/geofences', circle)).body;
    const rule = { name: 'rule', kind: 'geofence', parameters: { geofenceId: id, when: 'inside' } };
    const answer = await foreign.post('/v1/x/alarm-rules', rule);
    expect(answerOf(answer)).toEqual([400, 'INVALID_PARAMETER', 'parameters.geofenceId']);
  });

  it('stay while a rule uses them', async () => {
    const { id } = (await api.post('/v1/x/geofences', circle)).body;
    const ruleId = await createRule({ kind: 'geofence', parameters: { geofenceId: id, when: 'outside' } });
    expect(answerOf(await api.delete(`/v1/x/geofences/${id}`))).toEqual([409, 'IN_USE', '']);
    await api.delete(`/v1/x/alarm-rules/${ruleId}`);
    expect((await api.delete(`/v1/x/geofences/${id}`)).status).toBe(200);
  });

  it('of another shape begin their rules again and end their alarms; of another name they do not', async () => {
    const { id } = (await api.post('/v1/x/geofences', circle)).body;
    const vehicle = await createVehicle(db, application);
    const ruleId = await createRule({ kind: 'geofence', parameters: { geofenceId: id, when: 'inside' } });
    const activeFrom = async () =>
      (await api.get('/v1/x/alarm-rules?limit=1000')).body.rules.find((rule: { id: string }) => rule.id === ruleId)
        ?.activeFrom;
    const [alarmId, before] = [await raise(ruleId, vehicle.id), await activeFrom()];
    await api.put(`/v1/x/geofences/${id}`, { ...circle, name: 'yard' });
    expect(await activeFrom()).toBe(before);
    expect((await api.get(`/v1/x/alarms?ruleId=${ruleId}&state=open`)).body.alarms).toMatchObject([{ id: alarmId }]);
    await api.put(`/v1/x/geofences/${id}`, { ...circle, radiusMetres: 301 });
    expect((await activeFrom()) > before).toBe(true);
    expect((await api.get(`/v1/x/alarms?ruleId=${ruleId}&state=cleared`)).body.alarms).toMatchObject([{ id: alarmId }]);
  });
});

describe('alarm rules', () => {
  it.each([
    ['speed', {}, 'parameters.limitKmh'],
    ['speed', { limitKmh: 0 }, 'parameters.limitKmh'],
    ['speed', { limitKmh: 100, when: 'inside' }, 'parameters.when'],
    ['crash', { limitKmh: 100 }, 'parameters.limitKmh'],
    ['silent', {}, 'parameters.afterMinutes'],
    ['low-battery', {}, 'parameters.belowPercent'],
    ['low-battery', { belowVolts: 11 }, 'parameters.canKey'],
    ['low-battery', { belowPercent: 10, belowVolts: 11, canKey: 'v' }, 'parameters.belowVolts'],
    ['geofence', { geofenceId: 'none', when: 'inside' }, 'parameters.geofenceId'],
    ['theft', {}, 'kind'],
  ])('of the kind %s with %j are refused, and the field is named', async (kind, parameters, field) => {
    const answer = await api.post('/v1/x/alarm-rules', { name: 'rule', kind, parameters });
    expect(answerOf(answer)).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('are listed in pages, changed by name without a new beginning, and deleted', async () => {
    const owner = await createApplication(db);
    const client = as(owner.token);
    const vehicle = await createVehicle(db, owner);
    const ids = [
      await createRule({ kind: 'speed', parameters: { limitKmh: 90 }, vehicleIds: [vehicle.id] }, client),
      await createRule({ kind: 'crash' }, client),
      await createRule({ kind: 'silent', parameters: { afterMinutes: 60 } }, client),
    ];
    const first = await client.get('/v1/x/alarm-rules?limit=2');
    const rest = await client.get(`/v1/x/alarm-rules?limit=2&after=${first.body.rules[1].id}`);
    const rules = [...first.body.rules, ...rest.body.rules];
    expect(rules.map(({ id }: { id: string }) => id)).toEqual([...ids].sort());
    const speed = rules.find(({ id }: { id: string }) => id === ids[0]);
    expect(speed).toMatchObject({ kind: 'speed', parameters: { limitKmh: 90 }, vehicleIds: [vehicle.id] });

    const alarmId = await raise(ids[0] ?? '', vehicle.id);
    const renamed = { name: 'motorway', kind: 'speed', parameters: { limitKmh: 90 }, vehicleIds: [vehicle.id] };
    await client.put(`/v1/x/alarm-rules/${ids[0]}`, renamed);
    const found = (await client.get('/v1/x/alarm-rules')).body.rules.find(({ id }: { id: string }) => id === ids[0]);
    expect(found).toEqual({ ...speed, name: 'motorway' });
    expect((await client.get('/v1/x/alarms?state=open')).body.alarms).toMatchObject([{ id: alarmId }]);

    await client.put(`/v1/x/alarm-rules/${ids[0]}`, { ...renamed, parameters: { limitKmh: 110 } });
    expect((await client.get('/v1/x/alarms?state=cleared')).body.alarms).toMatchObject([{ id: alarmId }]);
    const changed = (await client.get('/v1/x/alarm-rules')).body.rules.find(({ id }: { id: string }) => id === ids[0]);
    expect(changed.activeFrom > speed.activeFrom).toBe(true);
    expect((await client.delete(`/v1/x/alarm-rules/${ids[0]}`)).status).toBe(200);
    expect((await client.get('/v1/x/alarms')).body.alarms).toMatchObject([{ id: alarmId, ruleName: 'motorway' }]);
    expect((await client.put(`/v1/x/alarm-rules/${ids[0]}`, renamed)).status).toBe(404);
  });

  it('end the alarms of vehicles that they no longer apply to, and no others', async () => {
    const [one, other] = [await createVehicle(db, application), await createVehicle(db, application)];
    const fields = { name: 'rule', kind: 'crash', vehicleIds: [one.id, other.id] };
    const id = await createRule(fields);
    const [kept, ended] = [await raise(id, one.id), await raise(id, other.id)];
    await api.put(`/v1/x/alarm-rules/${id}`, { ...fields, vehicleIds: [one.id] });
    expect((await api.get(`/v1/x/alarms?ruleId=${id}&state=open`)).body.alarms).toMatchObject([{ id: kept }]);
    expect((await api.get(`/v1/x/alarms?ruleId=${id}&state=cleared`)).body.alarms).toMatchObject([{ id: ended }]);
  });

  it('of a vehicle that was deleted can be changed and deleted', async () => {
    const [one, deleted] = [await createVehicle(db, application), await createVehicle(db, application)];
    const fields = { name: 'rule', kind: 'crash' };
    const id = await createRule({ ...fields, vehicleIds: [one.id, deleted.id] });
    const ofDeleted = await createRule({ ...fields, vehicleIds: [deleted.id] });
    expect((await api.delete('/v1/vehicle', { id: deleted.id })).status).toBe(200);
    expect((await api.put(`/v1/x/alarm-rules/${id}`, { ...fields, vehicleIds: [one.id] })).status).toBe(200);
    expect((await api.delete(`/v1/x/alarm-rules/${ofDeleted}`)).status).toBe(200);
  });

  it('for groups end the alarms of removed vehicles, and can be created only by applications', async () => {
    const [one, other] = [await createVehicle(db, application), await createVehicle(db, application)];
    const groupIds = [await createGroup(db, application, { vehicleIds: [one.id, other.id] })];
    const rule = { name: 'vans', kind: 'crash', groupIds };
    const id = await createRule(rule);
    const { rules } = (await api.get('/v1/x/alarm-rules?limit=1000')).body;
    const listed = rules.find((found: { id: string }) => found.id === id);
    expect(listed).toMatchObject({ groupIds });
    expect(listed).not.toHaveProperty('vehicleIds');
    for (const vehicle of [one, other]) await raise(id, vehicle.id);
    const open = async () =>
      (await api.get(`/v1/x/alarms?ruleId=${id}&state=open&group=${groupIds[0]}`)).body.alarms.map(
        (alarm: { vehicleId: string }) => alarm.vehicleId,
      );
    expect((await open()).toSorted()).toEqual([one.id, other.id].toSorted());
    await api.put(`/v1/x/groups/${groupIds[0]}/vehicles`, { vehicleIds: [other.id] });
    expect(await open()).toEqual([other.id]);
    const manager = await createUser(db, application, { vehicleIds: [one.id, other.id], role: 'manager' });
    expect(answerOf(await as(manager.token).put(`/v1/x/alarm-rules/${id}`, rule))[1]).toBe('UNAUTHORIZED');
    expect(answerOf(await as(manager.token).post('/v1/x/alarm-rules', rule))[1]).toBe('UNAUTHORIZED');
    const foreignGroup = await createGroup(db, await createApplication(db));
    for (const group of [foreignGroup, 'nonsense']) {
      const answer = await api.post('/v1/x/alarm-rules', { ...rule, groupIds: [group] });
      expect(answerOf(answer)).toEqual([400, 'INVALID_PARAMETER', 'groupIds']);
    }
    expect(answerOf(await api.delete(`/v1/x/groups/${groupIds[0]}`))[1]).toBe('IN_USE');
    await api.delete(`/v1/x/alarm-rules/${id}`);
    expect((await api.delete(`/v1/x/groups/${groupIds[0]}`)).status).toBe(200);
  });

  it('are at most 100 in an application', async () => {
    const owner = await createApplication(db);
    await sql`insert into alarm_rule (application_id, name, kind, all_vehicles)
      select ${owner.id}, 'rule', 'crash', true from generate_series(1, 100)`.execute(db);
    const answer = await as(owner.token).post('/v1/x/alarm-rules', { name: 'r', kind: 'crash' });
    expect(answerOf(answer)).toEqual([409, 'TOO_MANY', '']);
  });

  it('of a user concern vehicles that it manages, and no others are visible to it', async () => {
    const [granted, hidden] = [await createVehicle(db, application), await createVehicle(db, application)];
    const [manager, driver] = await Promise.all(
      (['manager', 'driver'] as const).map(async (role) =>
        as((await createUser(db, application, { vehicleIds: [granted.id], role })).token),
      ),
    );
    if (!manager || !driver) throw new Error('no users');
    const fields = { name: 'rule', kind: 'crash' };
    const create = async (client: typeof api, vehicleIds?: string[]) =>
      answerOf(await client.post('/v1/x/alarm-rules', { ...fields, vehicleIds })).slice(0, 2);
    expect(await create(manager)).toEqual([403, 'UNAUTHORIZED']);
    expect(await create(manager, [hidden.id])).toEqual([404, 'UNKNOWN_VEHICLE']);
    expect(await create(driver, [granted.id])).toEqual([403, 'UNAUTHORIZED']);
    expect(await create(manager, [granted.id])).toEqual([200, '']);
    const theirs = await createRule({ kind: 'crash', vehicleIds: [hidden.id] });
    const both = await createRule({ kind: 'crash', vehicleIds: [hidden.id, granted.id] });
    expect((await manager.delete(`/v1/x/alarm-rules/${theirs}`)).status).toBe(404);
    const seen = (await manager.get('/v1/x/alarm-rules?limit=1000')).body.rules;
    expect(seen.some(({ id }: { id: string }) => id === theirs)).toBe(false);
    expect(seen.find(({ id }: { id: string }) => id === both).vehicleIds).toEqual([granted.id]);
    const alarmId = await raise(theirs, hidden.id);
    expect((await manager.get('/v1/x/alarms')).body.alarms).toEqual([]);
    expect((await manager.post(`/v1/x/alarms/${alarmId}/acknowledge`, {})).status).toBe(404);
    const visible = await raise(both, granted.id);
    expect((await driver.post(`/v1/x/alarms/${visible}/acknowledge`, {})).status).toBe(403);
  });
});

describe('alarms', () => {
  it('are listed newest first in pages that lose and repeat none, and filtered', async () => {
    const owner = await createApplication(db);
    const client = as(owner.token);
    const [one, other] = [await createVehicle(db, owner), await createVehicle(db, owner)];
    const [crash, towing] = [await createRule({ kind: 'crash' }, client), await createRule({ kind: 'towing' }, client)];
    const raisedAt = (minute: number) => `2026-03-01T10:0${minute}:00.000001Z`;
    const ids = [
      await raise(crash, one.id, { raisedAt: raisedAt(1), cleared: true }),
      await raise(crash, other.id, { raisedAt: raisedAt(1) }),
      await raise(towing, one.id, { raisedAt: raisedAt(2) }),
    ];
    const idsOf = async (path: string): Promise<string[]> =>
      (await client.get(path)).body.alarms.map(({ id }: { id: string }) => id);
    const all: string[] = [];
    for (let path: string | undefined = '/v1/x/alarms?limit=1'; path !== undefined; ) {
      const { body, headers } = await client.get(path);
      all.push(...body.alarms.map(({ id }: { id: string }) => id));
      path = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(all).toEqual([ids[2], ...ids.slice(0, 2).sort().reverse()]);
    expect(await idsOf(`/v1/x/alarms?vehicleId=${other.id}`)).toEqual([ids[1]]);
    expect(await idsOf('/v1/x/alarms?kind=towing')).toEqual([ids[2]]);
    expect(await idsOf('/v1/x/alarms?state=cleared')).toEqual([ids[0]]);
    expect(await idsOf(`/v1/x/alarms?from=${raisedAt(2)}`)).toEqual([ids[2]]);
    expect((await idsOf(`/v1/x/alarms?until=${raisedAt(2)}`)).length).toBe(2);
    expect(await idsOf('/v1/x/alarms?acknowledged=true')).toEqual([]);
    expect(await idsOf('/v1/x/alarms?ruleId=none')).toEqual([]);
    expect((await client.get('/v1/x/alarms?after=x')).status).toBe(400);
    expect((await foreign.get(`/v1/x/alarms?vehicleId=${one.id}`)).body.alarms).toEqual([]);
    const [latest] = (await client.get('/v1/x/alarms')).body.alarms;
    expect(latest).toMatchObject({ raisedAt: raisedAt(2), late: true, ruleName: 'rule', appId: owner.appId });
  });

  it('have the address of their position on request', async () => {
    const owner = await createApplication(db);
    const client = as(owner.token);
    const { id: vehicleId } = await createVehicle(db, owner);
    const id = await raise(await createRule({ kind: 'crash' }, client), vehicleId);
    await sql`update alarm set latitude = 48.85, longitude = 2.35 where id = ${id}`.execute(db);
    await client.post('/v1/x/geofences', circle);
    const read = async (query: string) => (await client.get(`/v1/x/alarms${query}`)).body.alarms[0].location;
    expect(await read('?address=true')).toEqual({ latitude: 48.85, longitude: 2.35, address: 'depot' });
    expect(await read('')).toEqual({ latitude: 48.85, longitude: 2.35 });
  });

  it('are acknowledged by one of two people at once, and the other is told who was first', async () => {
    const vehicle = await createVehicle(db, application);
    const id = await raise(await createRule({ kind: 'crash', vehicleIds: [vehicle.id] }), vehicle.id);
    const people = [await createOperator(db), await createOperator(db)];
    const answers = await Promise.all(
      people.map(({ name, cookie }) =>
        createApiClient(httpUrl, { cookie, origin: new URL(httpUrl).origin, 'x-application': application.appId }).post(
          `/v1/x/alarms/${id}/acknowledge`,
          { note: `called by ${name}` },
        ),
      ),
    );
    const [first] = answers.filter(({ status }) => status === 200);
    const [second] = answers.filter(({ status }) => status === 409);
    expect(people.map(({ name }) => `operator:${name}`)).toContain(first?.body.acknowledgedBy);
    expect(second?.body.error).toBe('ALREADY_ACKNOWLEDGED');
    expect(second?.body.message).toContain(first?.body.acknowledgedBy);
    const [shown] = (await api.get(`/v1/x/alarms?acknowledged=true&vehicleId=${vehicle.id}`)).body.alarms;
    expect(shown).toEqual(first?.body);
    expect(await auditOf(`alarm:${id}`)).toEqual([`${first?.body.acknowledgedBy} alarm.acknowledge`]);
  });

  it('are not acknowledged by an operator who only reads, and not visible beyond the applications of an operator', async () => {
    const vehicle = await createVehicle(db, application);
    const id = await raise(await createRule({ kind: 'crash', vehicleIds: [vehicle.id] }), vehicle.id);
    const as = async (options: Parameters<typeof createOperator>[1]) => {
      const { cookie } = await createOperator(db, options);
      return createApiClient(httpUrl, { cookie, origin: new URL(httpUrl).origin });
    };
    const viewer = await as({ role: 'viewer' });
    const path = `/v1/x/alarms/${id}/acknowledge`;
    expect((await viewer.post(path, {})).status).toBe(403);
    expect((await viewer.get(`/v1/x/alarms?vehicleId=${vehicle.id}`)).body.alarms).toHaveLength(1);
    expect((await admin.get(`/v1/x/alarms?vehicleId=${vehicle.id}`)).body.alarms).toHaveLength(1);
    const elsewhere = await as({ applicationIds: [(await createApplication(db)).id] });
    expect((await elsewhere.get(`/v1/x/alarms?vehicleId=${vehicle.id}`)).body.alarms).toEqual([]);
    expect((await elsewhere.get('/v1/x/alarm-rules')).body.rules).toEqual([]);
  });

  it('that tell where or how fast a vehicle was are deleted or end when privacy begins before them or their end', async () => {
    const vehicle = await createVehicle(db, application);
    const ahead = new Date(Date.now() + 60_000).toISOString();
    const speed = await createRule({ kind: 'speed', parameters: { limitKmh: 90 }, vehicleIds: [vehicle.id] });
    const { id: geofenceId } = (await api.post('/v1/x/geofences', circle)).body;
    const inside = { kind: 'geofence', parameters: { geofenceId, when: 'inside' }, vehicleIds: [vehicle.id] };
    const geofence = await createRule(inside);
    const crash = await createRule({ kind: 'crash', vehicleIds: [vehicle.id] });
    const earlier = await raise(geofence, vehicle.id);
    await sql`update alarm set cleared_at = ${ahead} where id = ${earlier}`.execute(db);
    await raise(geofence, vehicle.id, { raisedAt: ahead });
    await raise(speed, vehicle.id, { raisedAt: ahead });
    const id = await raise(crash, vehicle.id, { raisedAt: ahead });
    await sql`update alarm set latitude = 48, longitude = 2 where id = ${id}`.execute(db);
    await api.post('/v1/vehicle/privacy/on', { vehicleId: vehicle.id });
    const { alarms } = (await api.get(`/v1/x/alarms?vehicleId=${vehicle.id}`)).body;
    expect(alarms).toMatchObject([
      { id, kind: 'crash' },
      { id: earlier, kind: 'geofence' },
    ]);
    expect(alarms[0].location).toBeUndefined();
    expect(Date.parse(alarms[1].clearedAt)).toBeLessThanOrEqual(Date.now());
  });
});

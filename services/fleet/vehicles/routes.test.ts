import { randomUUID } from 'node:crypto';
import { createDevice, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { stateFlags } from './routes.ts';

const { platform, application, api, as } = await startFleet();

const newPlate = () => `T${randomUUID().slice(0, 8).toUpperCase()}`;

async function setVehicle(id: string, values: Record<string, unknown>): Promise<void> {
  await platform.db.updateTable('vehicle').set(values).where('id', '=', Number(id)).execute();
}

async function auditOf(subject: string) {
  const { rows } = await sql<{ action: string; actor: string; address: string; outcome: string }>`
    select action, actor, address, outcome from audit
    where subject = ${subject} order by position`.execute(platform.db);
  return rows;
}

describe('GET /v1/vehicle', () => {
  it('answers the vehicle by id, by path and by the letters and digits of its plate', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const plate = newPlate();
    const written = `${plate.slice(0, 2)}-${plate.slice(2)}`;
    await setVehicle(vehicle.id, { plate: written, energy: 'EL', accessories: ['CARDHOLDER'] });
    await sql`update device set bluetooth_name = 'BT-1' where id = ${vehicle.deviceId}`.execute(platform.db);
    const expected = {
      Id: vehicle.id,
      builder: 'Renault',
      model: 'Zoe',
      plate: written,
      energy: 'EL',
      bluetoothName: 'BT-1',
      deviceId: vehicle.deviceId,
      deviceModel: 'generic',
      accessories: ['CARDHOLDER'],
    };
    for (const path of [
      `/v1/vehicle?id=${vehicle.id}`,
      `/v1/vehicle/${vehicle.id}`,
      `/v1/vehicle?plate=${written}`,
      `/v1/vehicle?plate=${written}&id=`,
      `/v1/vehicle?plate=${encodeURIComponent(` ${plate.toLowerCase()}.`)}`,
    ]) {
      const { status, body } = await api.get(path);
      expect([path, status, body]).toEqual([path, 200, expected]);
    }
  });

  it('answers empty text for the device of a vehicle without one', async () => {
    const vehicle = await createVehicle(platform.db, application);
    expect((await api.delete('/v1/device', { deviceId: vehicle.deviceId })).status).toBe(200);
    const { body } = await api.get(`/v1/vehicle/${vehicle.id}`);
    expect(body).toMatchObject({ deviceId: '', deviceModel: '', bluetoothName: '', accessories: [] });
  });

  it.each([
    ['', 'id'],
    ['?id=1000000001&plate=x', 'plate'],
    ['?id=1000000001&id=1000000002', 'id'],
    ['?plate=', 'id'],
    ['?id=&plate=', 'id'],
    ['?plate=%00', 'plate'],
  ])('requires exactly one of id and plate: %s', async (query, field) => {
    const { status, body } = await api.get(`/v1/vehicle${query}`);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

describe('PUT /v1/vehicle', () => {
  it('archives and reactivates with an audit row each, and answers archived as text', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const put = async (archived: unknown) => {
      const { status, body } = await api.put('/v1/vehicle', { id: vehicle.id, archived });
      expect([status, body]).toEqual([200, { id: vehicle.id, archived: String(archived) }]);
    };
    await put(true);
    await put('true');
    expect((await api.get(`/v1/vehicle/${vehicle.id}`)).status).toBe(200);
    const device = await createDevice(platform.db, { applicationId: application.id });
    await api.delete('/v1/device', { deviceId: vehicle.deviceId });
    const link = () => api.post('/v1/device', { vehicleId: vehicle.id, deviceId: device.deviceId });
    expect((await link()).body.error).toBe('VEHICLE_ARCHIVED');
    await put(false);
    expect((await link()).status).toBe(200);
    const who = { actor: 'application', address: '127.0.0.1' };
    expect(await auditOf(`vehicle:${vehicle.id}`)).toEqual([
      { action: 'vehicle.archive', ...who, outcome: 'done' },
      { action: 'vehicle.archive', ...who, outcome: 'unchanged' },
      { action: 'vehicle.reactivate', ...who, outcome: 'done' },
    ]);
  });

  it.each([
    ['archived', {}],
    ['archived', { archived: 'yes' }],
    ['archived', { archived: null }],
    ['archived', { archived: 2 }],
    ['archived', { archived: '' }],
    ['archived', { archived: [true] }],
    ['id', { id: '', archived: true }],
  ])('names %s in %j', async (field, parameters) => {
    const { status, body } = await api.put('/v1/vehicle', { id: '1000000001', ...parameters });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

describe('DELETE /v1/vehicle', () => {
  it('hides a vehicle at once, frees its plate and device, and schedules the purge', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const plate = newPlate();
    await setVehicle(vehicle.id, { plate });
    const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const client = as(user.token);
    const { status, body } = await client.delete('/v1/vehicle', { id: vehicle.id });
    expect([status, body]).toEqual([200, {}]);
    for (const answer of [
      await api.get(`/v1/vehicle/${vehicle.id}`),
      await api.get(`/v1/vehicle?plate=${plate}`),
      await api.put('/v1/vehicle', { id: vehicle.id, archived: true }),
      await api.delete('/v1/vehicle', { id: vehicle.id }),
      await api.post('/v1/vehicle/privacy/on', { vehicleId: vehicle.id }),
      await api.post(`/v1/vehicle/${vehicle.id}/stolen?state=true`),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    const again = await platform.db
      .insertInto('vehicle')
      .values({ application_id: application.id, plate })
      .returning('id')
      .executeTakeFirstOrThrow();
    expect((await api.get(`/v1/vehicle?plate=${plate}`)).body.Id).toBe(String(again.id));
    expect((await api.post('/v1/device', { vehicleId: String(again.id), deviceId: vehicle.deviceId })).status).toBe(
      200,
    );
    const purge = await platform.db
      .selectFrom('vehicle_purge')
      .selectAll()
      .where('vehicle_id', '=', Number(vehicle.id))
      .executeTakeFirstOrThrow();
    expect(purge).toMatchObject({ application_id: application.id, verified_at: null });
    expect(await auditOf(`vehicle:${vehicle.id}`)).toEqual([
      { action: 'vehicle.delete', actor: `user:${user.id}`, address: '127.0.0.1', outcome: 'done' },
    ]);
  });

  it('admits one of several concurrent deletions', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const answers = await Promise.all([1, 2, 3, 4].map(() => api.delete('/v1/vehicle', { id: vehicle.id })));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 404, 404, 404]);
  });
});

describe('POST /v1/vehicle', () => {
  it('stores the request for the operator', async () => {
    const plate = newPlate();
    const { status, body } = await api.post('/v1/vehicle', { plate, request: 'OBD, please' });
    expect([status, Object.keys(body)]).toEqual([200, ['request_id']]);
    const row = await platform.db
      .selectFrom('vehicle_request')
      .selectAll()
      .where('id', '=', body.request_id)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ plate, request: 'OBD, please', state: 'pending', application_id: application.id });
    expect(await auditOf(`request:${body.request_id}`)).toMatchObject([{ action: 'request.create' }]);
  });

  it.each([
    ['plate', {}],
    ['plate', { plate: '--' }],
    ['plate', { plate: 'A'.repeat(33) }],
    ['request', { plate: 'AB', request: 'a\0b' }],
    ['request', { plate: 'AB', request: { wanted: 'CAN' } }],
  ])('names %s in %j', async (field, parameters) => {
    const { status, body } = await api.post('/v1/vehicle', parameters);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

async function rowOf(vehicleId: string) {
  return platform.db.selectFrom('vehicle').selectAll().where('id', '=', Number(vehicleId)).executeTakeFirstOrThrow();
}

describe('POST /v1/vehicle/{id}/{flag}', () => {
  it.each(stateFlags)('sets and clears only %s, and answers it under its own name', async (flag) => {
    const vehicle = await createVehicle(platform.db, application);
    const { status, body } = await api.post(`/v1/vehicle/${vehicle.id}/${flag}?state=true`);
    expect([status, body]).toEqual([200, { [flag]: true }]);
    const raised = await rowOf(vehicle.id);
    expect(stateFlags.filter((one) => raised[one])).toEqual([flag]);
    expect(raised.states_lowered).toEqual({});
    const before = Date.now();
    const lowered = await api.post(`/v1/vehicle/${vehicle.id}/${flag}`, { state: false });
    expect([lowered.status, lowered.body]).toEqual([200, { [flag]: false }]);
    const after = await rowOf(vehicle.id);
    expect(after[flag]).toBe(false);
    expect(Object.keys(after.states_lowered)).toEqual([flag]);
    expect(Math.abs(Date.parse(after.states_lowered[flag] ?? '') - before)).toBeLessThan(10_000);
  });

  it('keeps the time each state was cleared, and prefers the body to the query', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await api.post(`/v1/vehicle/${vehicle.id}/stolen?state=false`);
    const { body } = await api.post(`/v1/vehicle/${vehicle.id}/towing?state=true`, { state: 'false' });
    expect(body).toEqual({ towing: false });
    expect(Object.keys((await rowOf(vehicle.id)).states_lowered).sort()).toEqual(['stolen', 'towing']);
  });

  it('records the caller in the audit', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await api.post(`/v1/vehicle/${vehicle.id}/breakdown?state=true`);
    await api.post(`/v1/vehicle/${vehicle.id}/breakdown?state=true`);
    const { rows } = await sql`select actor, address, action, details, outcome from audit
      where subject = ${`vehicle:${vehicle.id}`} order by position`.execute(platform.db);
    const row = { actor: 'application', address: '127.0.0.1', action: 'state.breakdown', details: { state: true } };
    expect(rows).toEqual([
      { ...row, outcome: 'done' },
      { ...row, outcome: 'unchanged' },
    ]);
  });

  it.each(['', '?state=', '?state=maybe', '?state=2', '?state=true&state=false', '?State=true'])(
    'names state if it is missing or no Boolean: %s',
    async (query) => {
      const vehicle = await createVehicle(platform.db, application);
      const { status, body } = await api.post(`/v1/vehicle/${vehicle.id}/accident${query}`);
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'state']);
    },
  );

  it.each([
    ['?state=TRUE', true],
    ['?state=1', true],
    ['?state=False', false],
    ['?state=0', false],
  ])('accepts Booleans in any case and as 1 and 0: %s', async (query, state) => {
    const vehicle = await createVehicle(platform.db, application);
    expect((await api.post(`/v1/vehicle/${vehicle.id}/towing${query}`)).body).toEqual({ towing: state });
    expect((await api.post(`/v1/vehicle/${vehicle.id}/stolen`, { state: Number(state) })).body).toEqual({
      stolen: state,
    });
  });

  it('accepts concurrent changes of many states of many vehicles', async () => {
    const vehicles = await Promise.all([1, 2, 3].map(() => createVehicle(platform.db, application)));
    const calls = vehicles.flatMap(({ id }) =>
      stateFlags.flatMap((flag) => [true, false].map((state) => api.post(`/v1/vehicle/${id}/${flag}`, { state }))),
    );
    const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
    expect([...statuses]).toEqual([200]);
  });
});

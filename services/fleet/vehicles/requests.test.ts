import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin } = await startFleet();

const newPlate = () => `R${randomUUID().slice(0, 8).toUpperCase()}`;
const path = (id: string, verb?: string) => `/v1/x/admin/requests/${id}${verb === undefined ? '' : `/${verb}`}`;

async function ask(plate = newPlate(), by = api): Promise<string> {
  return (await by.post('/v1/vehicle', { plate, request: 'CAN' })).body.request_id;
}

describe('/v1/x/admin/requests', () => {
  it('lists requests in order and in pages, by state', async () => {
    const other = await createApplication(platform.db);
    const by = clientWithToken(platform.httpUrl, other.token);
    const ids = [await ask(newPlate(), by), await ask(newPlate(), by), await ask(newPlate(), by)];
    const list = async (query: string) =>
      (await admin.get(`/v1/x/admin/requests?appId=${other.appId}${query}`)).body.requests;
    expect((await list('')).map(({ requestId }: { requestId: string }) => requestId)).toEqual(ids);
    expect(await list(`&limit=1&after=${ids[0]}`)).toEqual([
      {
        requestId: ids[1],
        appId: other.appId,
        userId: null,
        plate: expect.any(String),
        request: 'CAN',
        state: 'pending',
        vehicleId: null,
        reason: null,
        createdAt: expect.any(String),
        decidedAt: null,
      },
    ]);
    await admin.post(path(ids[0] ?? '', 'decline'), { reason: 'no device' });
    expect(await list('&state=pending')).toHaveLength(2);
    expect(await list('&state=declined')).toMatchObject([{ state: 'declined', reason: 'no device' }]);
  });

  it('creates the vehicle of an approved request', async () => {
    const plate = newPlate();
    const id = await ask(plate);
    const { status, body } = await admin.post(path(id, 'approve'), {
      vin: 'VF1AG000000000001',
      brand: 'Renault',
      model: 'Zoe',
      energy: 'EL',
      seats: 5,
      gearbox: 'AUTOMATIC',
      kind: 'VP',
    });
    expect([status, Object.keys(body)]).toEqual([200, ['id']]);
    expect((await api.get(`/v1/vehicle/${body.id}`)).body).toMatchObject({ plate, builder: 'Renault', energy: 'EL' });
    const { rows } = await sql`select actor, action, outcome, details from audit
      where subject = ${`request:${id}`} order by position`.execute(platform.db);
    expect(rows).toMatchObject([
      { actor: 'application', action: 'request.create' },
      { actor: 'operator', action: 'request.approve', outcome: 'done', details: { vehicleId: body.id } },
    ]);
  });

  it('makes the user who made the request a manager of the vehicle', async () => {
    const own = await createVehicle(platform.db, application);
    const user = await createUser(platform.db, application, { vehicleIds: [own.id], role: 'manager' });
    const asUser = clientWithToken(platform.httpUrl, user.token);
    const { body } = await admin.post(path(await ask(newPlate(), asUser), 'approve'));
    expect((await asUser.put('/v1/vehicle', { id: body.id, archived: true })).status).toBe(200);
  });

  it('answers ALREADY_EXISTS for a taken plate; the request can still be approved with another one', async () => {
    const plate = newPlate();
    await admin.post(path(await ask(plate), 'approve'));
    const id = await ask(plate.toLowerCase());
    const refused = await admin.post(path(id, 'approve'));
    expect([refused.status, refused.body.error]).toEqual([409, 'ALREADY_EXISTS']);
    expect((await admin.post(path(id, 'approve'), { plate: newPlate() })).status).toBe(200);
  });

  it('admits one of several concurrent decisions', async () => {
    const id = await ask();
    const answers = await Promise.all([
      admin.post(path(id, 'approve')),
      admin.post(path(id, 'approve')),
      admin.post(path(id, 'decline'), { reason: 'no' }),
    ]);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, body }) => [status, body.error])).toEqual([
      [409, 'ALREADY_DECIDED'],
      [409, 'ALREADY_DECIDED'],
    ]);
  });

  it('answers NOT_FOUND for a missing request, and names malformed parameters', async () => {
    for (const id of ['none', randomUUID()]) {
      expect((await admin.post(path(id, 'approve'))).body.error).toBe('NOT_FOUND');
      expect((await admin.post(path(id, 'decline'), { reason: 'no' })).body.error).toBe('NOT_FOUND');
    }
    const id = await ask();
    const faults = [
      [await admin.post(path(id, 'decline')), 'reason'],
      [await admin.post(path(id, 'approve'), { gearbox: 'MANY' }), 'gearbox'],
      [await admin.post(path(id, 'approve'), { plate: '---' }), 'plate'],
      [await admin.get('/v1/x/admin/requests?state=lost'), 'state'],
      [await admin.get('/v1/x/admin/requests?after=1'), 'after'],
      [await admin.get('/v1/x/admin/requests?limit=0'), 'limit'],
    ] as const;
    for (const [{ status, body }, field] of faults) expect([status, body.field]).toEqual([400, field]);
  });
});

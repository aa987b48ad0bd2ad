import { randomUUID } from 'node:crypto';
import { createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, as } = await startFleet();
const { db } = platform;
const newPlate = () => `R${randomUUID().slice(0, 8).toUpperCase()}`;
const newVehicle = async (): Promise<string> =>
  (await admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate: newPlate() })).body.id;

describe('/v1/x/admin/vehicles', () => {
  it('creates a vehicle with an id of ten digits, and compares plates by letters and digits', async () => {
    const plate = `AB-${newPlate()}`;
    const vehicle = {
      appId: application.appId,
      plate,
      vin: 'VF1AG000000000001',
      brand: 'Renault',
      model: 'Zoe',
      energy: 'EL',
      seats: 5,
      gearbox: 'AUTOMATIC',
      kind: 'VP',
      accessories: ['CARDHOLDER'],
      tankLitres: 45.5,
    };
    const { body } = await admin.post('/v1/x/admin/vehicles', vehicle);
    expect(body.id).toMatch(/^\d{10}$/);
    const again = await admin.post('/v1/x/admin/vehicles', {
      ...vehicle,
      plate: plate.toLowerCase().replace('-', ' '),
    });
    expect([again.status, again.body.error]).toEqual([409, 'ALREADY_EXISTS']);
    expect(again.body.message).toBe('the application has a vehicle with these letters and digits in its plate already');
    const other = await createApplication(db);
    expect((await admin.post('/v1/x/admin/vehicles', { ...vehicle, appId: other.appId })).status).toBe(200);
    const { body: page } = await admin.get(
      `/v1/x/admin/vehicles?appId=${application.appId}&after=${Number(body.id) - 1}&limit=1`,
    );
    const { appId: _, ...described } = vehicle;
    expect(page.vehicles).toEqual([{ ...described, seats: 5, id: body.id, archived: false, deviceId: null }]);
  });

  it('distinguishes plates by letters of every script, and ignores separators', async () => {
    const digits = newPlate();
    const create = async (plate: string) =>
      (await admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate })).body.id;
    const idOf = async (plate: string) => {
      const { body } = await api.get(`/v1/vehicle?plate=${encodeURIComponent(plate)}`);
      return body.Id ?? body.error;
    };
    const [munich, muhldorf] = [await create(`M-${digits}`), await create(`MÜ-${digits}`)];
    const [moscow, beijing] = [await create(`А-${digits}-ВС`), await create(`京·${digits}`)];
    expect(new Set([munich, muhldorf, moscow, beijing, undefined]).size).toBe(5);
    expect(await idOf(`m\u2013${digits}\u00a0`)).toBe(munich);
    expect([await idOf(`MÜ ${digits}`), await idOf(`А${digits}ВС`), await idOf(`京${digits}`)]).toEqual([
      muhldorf,
      moscow,
      beijing,
    ]);
    expect(await idOf(`MU\u0308-${digits}`)).toBe(muhldorf);
    const decomposed = await create(`A\u030a-${digits}`);
    expect([await idOf(`Å${digits}`), await create(`Å${digits}`)]).toEqual([decomposed, undefined]);
    for (const other of [`О${digits}МК`, `沪${digits}`, digits]) expect(await idOf(other)).toBe('UNKNOWN_VEHICLE');
  });

  it.each([
    ['plate', { plate: '' }],
    ['plate', { plate: '---' }],
    ['plate', { plate: 'A\0B' }],
    ['plate', { plate: 'A'.repeat(33) }],
    ['vin', { vin: 'V\0' }],
    ['seats', { seats: -1 }],
    ['gearbox', { gearbox: 'BOTH' }],
    ['accessories.0', { accessories: ['RADIO'] }],
  ])('names %s if a vehicle is malformed', async (field, change) => {
    const vehicle = { appId: application.appId, plate: newPlate(), ...change };
    const { status, body } = await admin.post('/v1/x/admin/vehicles', vehicle);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('exports everything stored about a vehicle, however many readings it has, and records that', async () => {
    const vehicle = await createVehicle(db, application);
    await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at, speed)
      select to_timestamp(n), ${application.id}, ${vehicle.id}::integer, ${vehicle.deviceId}, now(), n
      from generate_series(1, 4500) as n`.execute(db);
    const { status, headers, body } = await admin.get(`/v1/x/admin/vehicles/${vehicle.id}/export`);
    expect([status, headers.get('content-disposition')]).toEqual([
      200,
      `attachment; filename="vehicle-${vehicle.id}.ndjson"`,
    ]);
    const lines: { kind: string; row: { speed?: number } }[] = String(body)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.slice(0, 2)).toMatchObject([
      { kind: 'vehicle', row: { id: Number(vehicle.id) } },
      { kind: 'link', row: { device_id: vehicle.deviceId } },
    ]);
    const readings = lines.filter(({ kind }) => kind === 'reading');
    expect(readings.map(({ row }) => row.speed)).toEqual(Array.from({ length: 4500 }, (_unused, index) => index + 1));
    const audit = await sql`select 1 from audit
      where action = 'vehicle.export' and subject = ${`vehicle:${vehicle.id}`}`.execute(db);
    expect(audit.rows).toHaveLength(1);
    expect((await admin.get('/v1/x/admin/vehicles/1/export')).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('changes the given members and answers with the vehicle', async () => {
    const id = await newVehicle();
    const [plate, taken] = [newPlate(), newPlate()];
    await admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate: taken });
    expect((await admin.put(`/v1/x/admin/vehicles/${id}`, { tankLitres: 45, brand: 'Renault' })).status).toBe(200);
    const { body } = await admin.put(`/v1/x/admin/vehicles/${id}`, { plate, seats: 4 });
    expect(body).toMatchObject({ id, plate, seats: 4, brand: 'Renault', tankLitres: 45, archived: false });
    expect((await admin.get(`/v1/x/admin/vehicles/${id}`)).body).toEqual(body);
    const refused = await admin.put(`/v1/x/admin/vehicles/${id}`, { plate: taken.toLowerCase() });
    expect([refused.body.error, refused.body.field]).toEqual(['ALREADY_EXISTS', 'plate']);
    expect((await admin.put('/v1/x/admin/vehicles/1999999999', { seats: 4 })).body.error).toBe('UNKNOWN_VEHICLE');
    await api.put('/v1/vehicle', { id, archived: true });
    expect((await admin.put(`/v1/x/admin/vehicles/${id}`, { seats: 5 })).body.error).toBe('VEHICLE_ARCHIVED');
    expect((await admin.get(`/v1/x/admin/vehicles/${id}`)).body).toEqual({ ...body, archived: true });
  });

  it('lets an operator with limits show and change only vehicles of its applications', async () => {
    const id = await newVehicle();
    const { cookie } = await createOperator(db, {
      role: 'operator',
      applicationIds: [(await createApplication(db)).id],
    });
    const browser = createBrowser(platform.httpUrl, cookie);
    const appId = application.appId;
    const answers = [
      await browser.get(`/v1/x/admin/vehicles/${id}`),
      await browser.put(`/v1/x/admin/vehicles/${id}`, { seats: 4 }),
      await browser.post('/v1/x/admin/vehicle-imports', { appId, csv: `plate\n${newPlate()}` }),
    ];
    const errors = answers.map(({ body }) => body.error);
    expect(errors).toEqual(['UNKNOWN_VEHICLE', 'UNKNOWN_VEHICLE', 'UNKNOWN_APPLICATION']);
  });
});

describe('POST /v1/x/admin/vehicle-imports', () => {
  const send = (csv: string, check = false) =>
    admin.post('/v1/x/admin/vehicle-imports', { appId: application.appId, csv, check });
  const find = async (...plates: string[]) =>
    db.selectFrom('vehicle').selectAll().where('plate', 'in', plates).orderBy('id').execute();

  it('creates all vehicles of a file, of which only the plate is required', async () => {
    const [first, second] = [newPlate(), newPlate()];
    const { body } = await send(
      `\uFEFFplate;brand;seats;tankLitres;accessories\r\n${first};Renault;5;45,5;CARDHOLDER KEY-DETECTOR\r\n${second}`,
    );
    expect(body).toMatchObject({ lines: 2, faults: [], vehicles: [{ plate: first }, { plate: second }] });
    expect(await find(first, second)).toMatchObject([
      { brand: 'Renault', seats: 5, tank_litres: 45.5, accessories: ['CARDHOLDER', 'KEY-DETECTOR'] },
      { brand: '', seats: 0, tank_litres: 0, accessories: [] },
    ]);
    const audit = await sql`select action from audit where subject = ${`vehicle:${body.vehicles[0].id}`}`.execute(db);
    expect(audit.rows).toEqual([{ action: 'vehicle.create' }]);
  });

  it.each([true, false])('names the fault of every line, and writes none of them (check: %s)', async (check) => {
    const [good, taken] = [newPlate(), newPlate()];
    await admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate: taken });
    const lines = [good, '---', `${newPlate()},many`, `${newPlate()},,RADIO`, taken, good.toLowerCase(), 'A,1,,4'];
    const { body } = await send(['plate,seats,accessories', ...lines].join('\n'), check);
    expect(body.faults.map(({ line, column }: { line: number; column: string }) => [line, column])).toEqual([
      ...[
        [3, 'plate'],
        [4, 'seats'],
        [5, 'accessories'],
        [6, 'plate'],
        [7, 'plate'],
        [8, ''],
      ],
    ]);
    expect(body.faults[1].message).toBe('must be a whole number');
    expect([body.lines, body.vehicles, await find(good)]).toEqual([7, [], []]);
  });

  it('writes nothing when it only checks', async () => {
    const plate = newPlate();
    expect((await send(`plate\n${plate}`, true)).body).toEqual({ lines: 1, faults: [], vehicles: [] });
    expect(await find(plate)).toEqual([]);
  });
});

const path = (id: string, verb?: string) => `/v1/x/admin/requests/${id}${verb === undefined ? '' : `/${verb}`}`;

async function ask(plate = newPlate(), by = api): Promise<string> {
  return (await by.post('/v1/vehicle', { plate, request: 'CAN' })).body.request_id;
}

describe('/v1/x/admin/requests', () => {
  it('lists requests in order and in pages, by state', async () => {
    const other = await createApplication(db);
    const by = as(other.token);
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
      where subject = ${`request:${id}`} order by position`.execute(db);
    expect(rows).toMatchObject([
      { actor: 'application', action: 'request.create' },
      { actor: 'operator', action: 'request.approve', outcome: 'done', details: { vehicleId: body.id } },
    ]);
  });

  it('makes the user who made the request a manager of the vehicle', async () => {
    const own = await createVehicle(db, application);
    const user = await createUser(db, application, { vehicleIds: [own.id], role: 'manager' });
    const asUser = as(user.token);
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

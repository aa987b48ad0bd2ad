import { randomUUID } from 'node:crypto';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, admin } = await startFleet();
const newPlate = () => randomUUID().slice(0, 20);
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
    };
    const { body } = await admin.post('/v1/x/admin/vehicles', vehicle);
    expect(body.id).toMatch(/^\d{10}$/);
    const again = await admin.post('/v1/x/admin/vehicles', {
      ...vehicle,
      plate: plate.toLowerCase().replace('-', ' '),
    });
    expect([again.status, again.body.error]).toEqual([409, 'ALREADY_EXISTS']);
    expect(again.body.message).toBe('the application has a vehicle with these letters and digits in its plate already');
    const other = await createApplication(platform.db);
    expect((await admin.post('/v1/x/admin/vehicles', { ...vehicle, appId: other.appId })).status).toBe(200);
    const { body: page } = await admin.get(
      `/v1/x/admin/vehicles?appId=${application.appId}&after=${Number(body.id) - 1}&limit=1`,
    );
    const { appId: _, ...described } = vehicle;
    expect(page.vehicles).toEqual([{ ...described, seats: 5, id: body.id, archived: false, deviceId: null }]);
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
    const vehicle = await createVehicle(platform.db, application);
    await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at, speed)
      select to_timestamp(n), ${application.id}, ${vehicle.id}::integer, ${vehicle.deviceId}, now(), n
      from generate_series(1, 4500) as n`.execute(platform.db);
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
      where action = 'vehicle.export' and subject = ${`vehicle:${vehicle.id}`}`.execute(platform.db);
    expect(audit.rows).toHaveLength(1);
    expect((await admin.get('/v1/x/admin/vehicles/1/export')).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('sets the fuel tank capacity', async () => {
    const id = await newVehicle();
    expect((await admin.put(`/v1/x/admin/vehicles/${id}`, { tankLitres: 45 })).body).toEqual({ id, tankLitres: 45 });
    expect((await admin.put('/v1/x/admin/vehicles/1999999999', { tankLitres: 45 })).body.error).toBe('UNKNOWN_VEHICLE');
  });
});

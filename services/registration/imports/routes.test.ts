import { createApplication } from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { newFileSha256, useRegistration } from '../registration.fixture.ts';

const fixture = await useRegistration();
const send = (body: object) => fixture.admin.post('/v1/x/admin/registrations', body);
const stateOf = async (file: string) => (await fixture.admin.get(`/v1/x/admin/registration-imports/${file}`)).body;
const row = (line: number, record: unknown) => ({ line, record });
const modelOf = async (plate: string) =>
  (await fixture.admin.get(`/v1/x/admin/registrations/${plate}`)).body.record.certificate.model;

describe('POST /v1/x/admin/registrations', () => {
  it('imports a part once, however often it is sent, also concurrently', async () => {
    const fileSha256 = newFileSha256();
    const plate = 'AM-001-PA';
    const first = { fileSha256, position: 0, rows: [row(2, { plate, model: 'A' })] };
    for (let attempt = 0; attempt < 3; attempt += 1) expect((await send(first)).body).toEqual({ position: 1 });
    const second = { fileSha256, position: 1, rows: [row(3, { plate, model: 'B' }), row(4, {})], last: true };
    const both = await Promise.all([send(second), send(second)]);
    expect(both.map(({ body }) => body.position)).toEqual([3, 3]);
    expect(await stateOf(fileSha256)).toMatchObject({ position: 3, changed: 2, unchanged: 0, bad: 1, finished: true });
    expect(await modelOf(plate)).toBe('B');
  });

  it('refuses a part that would leave a gap', async () => {
    const { status, body } = await send({
      fileSha256: newFileSha256(),
      position: 5,
      rows: [row(2, { plate: 'AB-123-CD' })],
    });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'position']);
  });

  it('refuses a part with NUL in a fault, and stores none of its rows', async () => {
    const fileSha256 = newFileSha256();
    const rows = [row(2, { plate: 'AM-008-PA', model: 'A' }), { line: 3, fault: 'x\0' }];
    const { status, body } = await send({ fileSha256, position: 0, rows });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'rows.1.fault']);
    expect((await stateOf(fileSha256)).position).toBe(0);
    expect((await fixture.admin.get('/v1/x/admin/registrations/AM-008-PA')).body.known).toBe(false);
  });

  it('counts unchanged rows, and uses the last of several rows for a vehicle', async () => {
    const [file, again] = [newFileSha256(), newFileSha256()];
    const rows = [row(2, { plate: 'AM-002-PA', model: 'A' }), row(3, { plate: 'am002pa', model: 'B' })];
    await send({ fileSha256: file, position: 0, rows, last: true });
    expect(await modelOf('AM-002-PA')).toBe('B');
    expect(await stateOf(file)).toMatchObject({ changed: 1, unchanged: 1, bad: 0 });
    await send({ fileSha256: again, position: 0, rows, last: true });
    expect(await stateOf(again)).toMatchObject({ changed: 0, unchanged: 2, bad: 0 });
  });

  it('replaces a record as a whole and moves it to a new plate of the same VIN', async () => {
    const vin = 'XZZTESTA0A6000777';
    await send({ fileSha256: newFileSha256(), position: 0, rows: [row(2, { plate: 'AM-003-PA', vin, color: 'red' })] });
    await send({ fileSha256: newFileSha256(), position: 0, rows: [row(2, { plate: 'AM-004-PA', vin, model: 'B' })] });
    const { body } = await fixture.admin.get('/v1/x/admin/registrations/AM-004-PA');
    expect([body.record.certificate.model, body.record.additional_information.color]).toEqual(['B', '']);
    expect((await fixture.admin.get('/v1/x/admin/registrations/AM-003-PA')).body.known).toBe(false);
  });

  it('reports bad rows by line and field and imports none of their fields', async () => {
    const fileSha256 = newFileSha256();
    const bad: [number, unknown, string][] = [
      [2, { plate: 'XX', model: 'A' }, 'plate'],
      [3, { certificate: { plate: 'AM-005-PA', vin: 'VF1' } }, 'certificate.vin'],
      [4, { plate: 'AM-005-PA', seats: 'five' }, 'seats'],
      [5, { plate: 'AM-005-PA', displacement: '1,598' }, 'displacement'],
      [6, { plate: 'AM-005-PA', displacement: -1 }, 'displacement'],
      [7, { plate: 'AM-005-PA', adblue: 'perhaps' }, 'adblue'],
      [8, { plate: 'AM-005-PA', first_registration: '31/02/2021' }, 'first_registration'],
      [9, { plate: 'AM-005-PA', wheels: 4 }, 'wheels'],
      [10, { plate: 'AM-005-PA', tires: [{ front_colour: 'black' }] }, 'tires.0.front_colour'],
      [11, { plate: 'AM-005-PA', color: 'x'.repeat(257) }, 'color'],
      [12, { plate: 'AM-005-PA', color: 'a\0b' }, 'color'],
      [13, { plate: 'AM-005-PA', color: { a: { b: 1 } } }, 'color.a.b'],
      [14, { model: 'A' }, 'certificate.plate'],
      [15, 'AM-005-PA', ''],
      [16, null, ''],
      [17, ['AM-005-PA'], ''],
      [18, { plate: 'AM-005-PA', seats: Number.MAX_VALUE }, 'seats'],
      [19, { plate: 'AM-005-PA', color: '\ud800' }, 'color'],
      [20, { plate: 'AM-005-PA', 'a\0\ud800': 1 }, 'a'],
    ];
    const rows = [...bad.map(([line, record]) => row(line, record)), { line: 21, fault: 'is not JSON' }];
    expect((await send({ fileSha256, position: 0, rows, last: true })).body).toEqual({ position: rows.length });
    const state = await stateOf(fileSha256);
    expect(state).toMatchObject({ changed: 0, unchanged: 0, bad: rows.length });
    const expected = [...bad.map(([line, , field]) => [line, field]), [21, '']];
    expect(state.faults.map(({ line, field }: { line: number; field: string }) => [line, field])).toEqual(expected);
    expect((await fixture.admin.get('/v1/x/admin/registrations/AM-005-PA')).body.known).toBe(false);
    expect(
      (await fixture.admin.get(`/v1/x/admin/registration-imports/${fileSha256}?faults=2`)).body.faults,
    ).toHaveLength(2);
  });

  it('reads French dates, decimal commas and words for true and false', async () => {
    const record = {
      plate: 'AM-006-PA',
      first_registration: '15/03/2021',
      cylinders_in_liters: '1,6',
      displacement: '1598',
      combined_fuel_consumption: ' 5.4 ',
      particulate_filter: 'Oui',
      adblue: '0',
      front_width: '205',
      color: '  gris  ',
    };
    const fileSha256 = newFileSha256();
    await send({ fileSha256, position: 0, rows: [row(2, record)], last: true });
    expect((await stateOf(fileSha256)).faults).toEqual([]);
    const { body } = await fixture.admin.get('/v1/x/admin/registrations/AM-006-PA');
    expect(body.record.certificate).toMatchObject({ first_registration: '2021-03-15', displacement: 1598 });
    expect(body.record.additional_information).toMatchObject({
      cylinders_in_liters: 1.6,
      combined_fuel_consumption: 5.4,
      particulate_filter: true,
      adblue: false,
      color: 'gris',
    });
    expect(body.record.tires[0].front_width).toBe(205);
  });

  it('restarts a reset import, keeps its records, and tracks a file separately for each application', async () => {
    const { appId } = await createApplication(fixture.platform.db);
    const fileSha256 = newFileSha256();
    const part = { fileSha256, position: 0, rows: [row(2, { plate: 'AM-007-PA', model: 'A' })], last: true };
    await send(part);
    expect(
      (await fixture.admin.get(`/v1/x/admin/registration-imports/${fileSha256}?appId=${appId}`)).body.position,
    ).toBe(0);
    expect((await fixture.admin.delete(`/v1/x/admin/registration-imports/${fileSha256}`)).status).toBe(200);
    expect((await stateOf(fileSha256)).position).toBe(0);
    expect(await modelOf('AM-007-PA')).toBe('A');
    expect((await send({ ...part, appId: 'nobody' })).body.error).toBe('UNKNOWN_APPLICATION');
  });
});

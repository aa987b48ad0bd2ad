import { createHash, randomUUID } from 'node:crypto';
import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createToken, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fieldPaths, fieldType, toRecord } from '../record/fields.ts';
import { registrationService } from '../service.ts';

let platform: TestPlatform;
let application: TestApplication;
let other: TestApplication;
let client: ApiClient;
let admin: ApiClient;

beforeAll(async () => {
  platform = await startTestPlatform([registrationService]);
  application = await createApplication(platform.db);
  other = await createApplication(platform.db);
  client = clientWithToken(platform.httpUrl, application.token);
  admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
});
afterAll(() => platform?.stop());

/** Imports records as one file. */
async function importRecords(records: readonly object[], appId?: string): Promise<void> {
  const fileSha256 = createHash('sha256').update(randomUUID()).digest('hex');
  const rows = records.map((record, index) => ({ line: index + 1, record }));
  const body = { fileSha256, position: 0, rows, last: true, ...(appId === undefined ? {} : { appId }) };
  expect((await admin.post('/v1/x/admin/registrations', body)).status).toBe(200);
  const query = appId === undefined ? '' : `?appId=${appId}`;
  expect((await admin.get(`/v1/x/admin/registration-imports/${fileSha256}${query}`)).body.faults).toEqual([]);
}

const lookUp = (text: string, as = client) => as.get(`/v1/siv/fr/${encodeURIComponent(text)}`);
const empty = toRecord(new Map());

/** A plate that no other test uses. */
let plates = 0;
function newPlate(): string {
  plates += 1;
  return `TA-${String(plates).padStart(3, '0')}-ST`;
}

let vinCount = 0;
function newVin(wmi = 'VF1'): string {
  vinCount += 1;
  return `${wmi}TESTA0A6${String(vinCount).padStart(6, '0')}`;
}

describe('GET /v1/siv/fr/{plate_or_vin}', () => {
  it('answers every field of the specification with its type, and what is missing empty', async () => {
    const plate = newPlate();
    await importRecords([{ certificate: { plate, brand: 'RENAULT' } }]);
    const { status, body } = await lookUp(plate);
    expect(status).toBe(200);
    expect(body).toEqual({ ...empty, certificate: { ...empty.certificate, plate, brand: 'RENAULT' } });
    expect(Object.keys(body)).toEqual(['certificate', 'additional_information', 'fluids', 'electric', 'tires']);
    const counts = Object.values(body).map(
      (section) => Object.keys(Array.isArray(section) ? section[0] : (section as object)).length,
    );
    expect(counts).toEqual([28, 40, 16, 45, 22]);
    expect(Object.keys(body.electric)).toContain('usable_2nd_battery_kwh_capacity');
    expect(Object.keys(body.tires[0])).toContain('rear_is_all_season');
    expect(body.additional_information.particulate_filter).toBe(false);
  });

  it('gives back every field that was imported, as the type it has', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    const special = new Map<string, string>([
      ['certificate.plate', plate],
      ['certificate.vin', vin],
      ['certificate.first_registration', '2021-03-15'],
      ['certificate.certificate_date', '2022-12-31'],
    ]);
    const ordinary = (path: string, index: number) => {
      const byType = { string: `text ${index}`, number: index + 0.5, boolean: true };
      return byType[fieldType(path) ?? 'string'];
    };
    const given = new Map(fieldPaths.map((path, index) => [path, special.get(path) ?? ordinary(path, index)] as const));
    await importRecords([toRecord(given)]);
    expect((await lookUp(vin)).body).toEqual(toRecord(given));
    expect(JSON.stringify((await lookUp(plate)).body)).not.toMatch(/:(""|0|false)[,}]/);
  });

  it('finds a record by its plate and by its VIN however they are written', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords([{ certificate: { plate, vin, model: 'ZOE' } }, { plate: '123 ABC 2A', model: '4L' }]);
    const written = [
      plate,
      plate.toLowerCase(),
      plate.replaceAll('-', ''),
      plate.replaceAll('-', ' '),
      vin,
      vin.toLowerCase(),
    ];
    for (const text of written) {
      const { body } = await lookUp(text);
      expect([text, body.certificate?.model, body.certificate?.plate]).toEqual([text, 'ZOE', plate]);
    }
    expect((await lookUp('123abc2a')).body.certificate).toMatchObject({ model: '4L', plate: '123 ABC 2A' });
  });

  it('answers UNKNOWN_VEHICLE for a plate or VIN that no source knows', async () => {
    for (const text of ['ZZ-999-ZZ', '9999 ZZ 95', 'XZZTESTA0A6000001']) {
      const { status, body } = await lookUp(text);
      expect([text, status, body.error]).toEqual([text, 404, 'UNKNOWN_VEHICLE']);
    }
  });

  it('names plate_or_vin when it is malformed', async () => {
    const texts = [
      'x',
      'AB-123',
      'AI-123-CD',
      'VF1TESTA0A600000O',
      'VF1TESTA0A6000001X',
      '\0',
      "' or 1=1",
      'é',
      'A'.repeat(65),
    ];
    for (const text of texts) {
      const { status, body } = await lookUp(text);
      expect([text, status, body.error, body.field]).toEqual([text, 400, 'INVALID_PARAMETER', 'plate_or_vin']);
    }
  });

  it('wants a token', async () => {
    const { status, body } = await lookUp('AB-123-CD', createApiClient(platform.httpUrl));
    expect([status, body.error]).toEqual([401, 'MISSING_TOKEN']);
  });

  it('names the make of a VIN that no register knows', async () => {
    const vin = newVin('VF7');
    const { status, body, headers } = await lookUp(vin);
    expect(status).toBe(200);
    expect(body).toEqual({ ...empty, certificate: { ...empty.certificate, vin, brand: 'Citroën' } });
    expect(headers.get('x-registration-sources')).toBe('vin');
  });

  it('fills from the VIN only what the imported record leaves open', async () => {
    const [plate, vin, otherPlate, otherVin] = [newPlate(), newVin(), newPlate(), newVin()];
    await importRecords([
      { plate, vin, model: 'ZOE' },
      { plate: otherPlate, vin: otherVin, brand: 'DACIA' },
    ]);
    const { body, headers } = await lookUp(plate);
    expect(body.certificate).toMatchObject({ vin, brand: 'Renault', model: 'ZOE' });
    expect(headers.get('x-registration-sources')).toBe('imported, vin');
    expect((await lookUp(otherPlate)).body.certificate.brand).toBe('DACIA');
  });

  it('lets the newest vehicle of a plate win, and never mixes two vehicles', async () => {
    const plate = newPlate();
    const [former, present] = [newVin(), newVin()];
    await importRecords([{ plate, vin: former, model: 'CLIO', color: 'red' }]);
    await importRecords([{ plate, vin: present, model: 'ZOE' }]);
    const { body } = await lookUp(plate);
    expect(body.certificate).toMatchObject({ vin: present, model: 'ZOE' });
    expect(body.additional_information.color).toBe('');
    expect((await lookUp(former)).body.certificate.model).toBe('CLIO');
  });

  it('takes tires from one record as a whole', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords([{ plate, vin, tires: [{ front_width: 195 }, { front_width: 205, rear_width: 225 }] }]);
    await importRecords([
      { plate, tires: [{ front_width: 155, front_ratio: 80, rear_is_winter: true }], color: 'blue' },
    ]);
    const { body } = await lookUp(plate);
    expect(body.tires).toHaveLength(2);
    expect([body.tires[0].front_width, body.tires[0].front_ratio]).toEqual([195, 0]);
    expect([body.tires[1].front_width, body.tires[1].rear_width]).toEqual([205, 225]);
    expect(body.additional_information.color).toBe('blue');
  });
});

describe('records of one application', () => {
  it('are seen by that application alone, and weigh more there than those for everybody', async () => {
    const plate = newPlate();
    await importRecords([{ plate, model: 'SHARED', color: 'red' }]);
    await importRecords([{ plate, model: 'OWN' }], application.appId);
    const stranger = clientWithToken(platform.httpUrl, other.token);
    const [own, foreign] = [(await lookUp(plate)).body, (await lookUp(plate, stranger)).body];
    expect([own.certificate.model, own.additional_information.color]).toEqual(['OWN', 'red']);
    expect(foreign.certificate.model).toBe('SHARED');

    const hidden = newPlate();
    await importRecords([{ plate: hidden, model: 'OWN' }], application.appId);
    expect((await lookUp(hidden)).status).toBe(200);
    expect((await lookUp(hidden, stranger)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await admin.get(`/v1/x/admin/registrations/${hidden}`)).body.known).toBe(false);
    expect((await admin.get(`/v1/x/admin/registrations/${hidden}?appId=${application.appId}`)).body.known).toBe(true);
  });
});

describe('GET /v1/vehicle/{id}/siv', () => {
  const describeVehicle = async (description: object) => {
    const { id } = await createVehicle(platform.db, application);
    await platform.db.updateTable('vehicle').set(description).where('id', '=', Number(id)).execute();
    return id;
  };
  const ofVehicle = (id: string, as = client) => as.get(`/v1/vehicle/${id}/siv`);

  it('finds the record of its VIN, and without one that of its plate', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords([{ plate, vin, model: 'FOUND', seats: 4, co2: 120 }]);
    const byVin = await describeVehicle({ plate: newPlate(), vin: vin.toLowerCase() });
    const byPlate = await describeVehicle({ plate: plate.replaceAll('-', ''), seats: 5 });
    for (const id of [byVin, byPlate]) {
      const { status, body } = await ofVehicle(id);
      expect(status).toBe(200);
      expect(body.certificate).toMatchObject({ model: 'FOUND', plate, vin, seats: 4, co2: 120 });
    }
    expect((await ofVehicle(byPlate)).body).toEqual((await lookUp(plate)).body);
  });

  it('leaves out a record of the same plate that is of another VIN', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords([{ plate, vin: newVin(), model: 'OTHER', color: 'red' }]);
    const { body } = await ofVehicle(await describeVehicle({ plate, vin, model: 'MINE' }));
    expect(body.certificate).toMatchObject({ model: 'MINE', vin });
    expect(body.additional_information.color).toBe('');
  });

  it('answers what the platform knows when no register knows the vehicle, the VIN filling the make', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    const known = {
      plate,
      vin,
      brand: '',
      model: 'Zoe',
      energy: 'EL',
      seats: 5,
      kind: 'VP',
      gearbox: 'AUTOMATIC' as const,
    };
    const { status, body, headers } = await ofVehicle(await describeVehicle(known));
    expect(status).toBe(200);
    expect(body).toEqual({
      ...empty,
      certificate: {
        ...empty.certificate,
        plate,
        vin,
        brand: 'Renault',
        model: 'Zoe',
        energy: 'EL',
        seats: 5,
        national_type: 'VP',
      },
      additional_information: { ...empty.additional_information, gearbox_type: 'AUTOMATIC' },
    });
    expect(headers.get('x-registration-sources')).toBe('platform, vin');
  });

  it('answers for a vehicle whose plate is not French and whose VIN is none', async () => {
    const { status, body } = await ofVehicle(await describeVehicle({ plate: 'M-XY 1234', vin: 'chassis 7' }));
    expect([status, body.certificate.plate, body.certificate.vin]).toEqual([200, 'M-XY 1234', 'chassis 7']);
  });

  it('answers UNKNOWN_VEHICLE for a foreign, an ungranted, a deleted and a malformed vehicle', async () => {
    const id = await describeVehicle({ plate: newPlate() });
    const deleted = await describeVehicle({ plate: newPlate(), deleted_at: new Date() });
    const { id: userId } = await platform.db
      .insertInto('user_account')
      .values({ application_id: application.id, username: randomUUID(), password_hash: '' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const user = clientWithToken(platform.httpUrl, await createToken(platform.db, application.id, userId));
    const stranger = clientWithToken(platform.httpUrl, other.token);
    const attempts = [
      ofVehicle(id, stranger),
      ofVehicle(id, user),
      ofVehicle(deleted),
      ofVehicle('7'),
      ofVehicle('AB-123-CD'),
    ];
    for (const { status, body } of await Promise.all(attempts)) {
      expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    await platform.db
      .insertInto('vehicle_grant')
      .values({ user_id: userId, vehicle_id: Number(id) })
      .execute();
    expect((await ofVehicle(id, user)).status).toBe(200);
  });
});

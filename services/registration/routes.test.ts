import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { beforeAll, describe, expect, it } from 'vitest';
import { fieldPaths, fieldType, toRecord } from './record/fields.ts';
import { importRecords, useRegistration } from './registration.fixture.ts';

const fixture = await useRegistration();
let other: TestApplication;
beforeAll(async () => {
  other = await createApplication(fixture.platform.db);
});

const lookUp = (text: string, as: ApiClient = fixture.client) => as.get(`/v1/siv/fr/${encodeURIComponent(text)}`);
const empty = toRecord(new Map());

let plates = 0;
/** Returns a plate that no other test uses. */
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
  it('answers every field of the specification with its type, missing values empty', async () => {
    const plate = newPlate();
    await importRecords(fixture.admin, [{ certificate: { plate, brand: 'RENAULT' } }]);
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

  it('answers every imported field with its type and value', async () => {
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
    await importRecords(fixture.admin, [toRecord(given)]);
    expect((await lookUp(vin)).body).toEqual(toRecord(given));
    expect(JSON.stringify((await lookUp(plate)).body)).not.toMatch(/:(""|0|false)[,}]/);
  });

  it('finds a record by plate or VIN in any case and with any separators', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords(fixture.admin, [
      { certificate: { plate, vin, model: 'ZOE' } },
      { plate: '123 ABC 2A', model: '4L' },
    ]);
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

  it('answers INVALID_PARAMETER with field plate_or_vin for malformed text', async () => {
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

  it('answers VIN and make for a VIN in no register', async () => {
    const vin = newVin('VF7');
    const { status, body, headers } = await lookUp(vin);
    expect(status).toBe(200);
    expect(body).toEqual({ ...empty, certificate: { ...empty.certificate, vin, brand: 'Citroën' } });
    expect(headers.get('x-registration-sources')).toBe('vin');
  });

  it('takes the make from the VIN only when the imported record has none', async () => {
    const [plate, vin, otherPlate, otherVin] = [newPlate(), newVin(), newPlate(), newVin()];
    await importRecords(fixture.admin, [
      { plate, vin, model: 'ZOE' },
      { plate: otherPlate, vin: otherVin, brand: 'DACIA' },
    ]);
    const { body, headers } = await lookUp(plate);
    expect(body.certificate).toMatchObject({ vin, brand: 'Renault', model: 'ZOE' });
    expect(headers.get('x-registration-sources')).toBe('imported, vin');
    expect((await lookUp(otherPlate)).body.certificate.brand).toBe('DACIA');
  });

  it('prefers the newest vehicle of a plate and never mixes two vehicles', async () => {
    const plate = newPlate();
    const [former, present] = [newVin(), newVin()];
    await importRecords(fixture.admin, [{ plate, vin: former, model: 'CLIO', color: 'red' }]);
    await importRecords(fixture.admin, [{ plate, vin: present, model: 'ZOE' }]);
    const { body } = await lookUp(plate);
    expect(body.certificate).toMatchObject({ vin: present, model: 'ZOE' });
    expect(body.additional_information.color).toBe('');
    expect((await lookUp(former)).body.certificate.model).toBe('CLIO');
  });

  it('takes all tires from one record', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords(fixture.admin, [
      { plate, vin, tires: [{ front_width: 195 }, { front_width: 205, rear_width: 225 }] },
    ]);
    await importRecords(fixture.admin, [
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
  it('are visible to that application only and take priority over shared records', async () => {
    const plate = newPlate();
    await importRecords(fixture.admin, [{ plate, model: 'SHARED', color: 'red' }]);
    await importRecords(fixture.admin, [{ plate, model: 'OWN' }], fixture.application.appId);
    const stranger = clientWithToken(fixture.platform.httpUrl, other.token);
    const [own, foreign] = [(await lookUp(plate)).body, (await lookUp(plate, stranger)).body];
    expect([own.certificate.model, own.additional_information.color]).toEqual(['OWN', 'red']);
    expect(foreign.certificate.model).toBe('SHARED');

    const hidden = newPlate();
    await importRecords(fixture.admin, [{ plate: hidden, model: 'OWN' }], fixture.application.appId);
    expect((await lookUp(hidden)).status).toBe(200);
    expect((await lookUp(hidden, stranger)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await fixture.admin.get(`/v1/x/admin/registrations/${hidden}`)).body.known).toBe(false);
    expect(
      (await fixture.admin.get(`/v1/x/admin/registrations/${hidden}?appId=${fixture.application.appId}`)).body.known,
    ).toBe(true);
  });
});

describe('GET /v1/vehicle/{id}/siv', () => {
  const describeVehicle = async (description: object) => {
    const { id } = await createVehicle(fixture.platform.db, fixture.application);
    await fixture.platform.db.updateTable('vehicle').set(description).where('id', '=', Number(id)).execute();
    return id;
  };
  const ofVehicle = (id: string, as: ApiClient = fixture.client) => as.get(`/v1/vehicle/${id}/siv`);

  it('finds the record of the VIN, or of the plate when the vehicle has no VIN', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords(fixture.admin, [{ plate, vin, model: 'FOUND', seats: 4, co2: 120 }]);
    const byVin = await describeVehicle({ plate: newPlate(), vin: vin.toLowerCase() });
    const byPlate = await describeVehicle({ plate: plate.replaceAll('-', ''), seats: 5 });
    for (const id of [byVin, byPlate]) {
      const { status, body } = await ofVehicle(id);
      expect(status).toBe(200);
      expect(body.certificate).toMatchObject({ model: 'FOUND', plate, vin, seats: 4, co2: 120 });
    }
    expect((await ofVehicle(byPlate)).body).toEqual((await lookUp(plate)).body);
  });

  it('leaves out a record with the same plate and another VIN', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    await importRecords(fixture.admin, [{ plate, vin: newVin(), model: 'OTHER', color: 'red' }]);
    const { body } = await ofVehicle(await describeVehicle({ plate, vin, model: 'MINE' }));
    expect(body.certificate).toMatchObject({ model: 'MINE', vin });
    expect(body.additional_information.color).toBe('');
  });

  it('answers the description of the vehicle, with the make from the VIN, when no register has a record', async () => {
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

  it('is the answer for its plate and its VIN too, for callers that may see the vehicle', async () => {
    const [plate, vin] = [newPlate(), newVin()];
    const id = await describeVehicle({ plate: plate.toLowerCase(), vin, model: 'Own', seats: 3 });
    await importRecords(fixture.admin, [{ plate, vin: newVin(), model: 'FORMER' }]);
    const expected = (await ofVehicle(id)).body;
    expect(expected.certificate).toMatchObject({ plate, vin, model: 'Own', seats: 3 });
    for (const text of [plate, plate.replaceAll('-', ''), vin]) expect((await lookUp(text)).body).toEqual(expected);
    const stranger = clientWithToken(fixture.platform.httpUrl, other.token);
    expect((await lookUp(plate, stranger)).body.certificate.model).toBe('FORMER');
    expect((await lookUp(vin, stranger)).body.certificate.model).toBe('');
  });

  it('equals that of GET /v1/siv/fr/{plate_or_vin} for a foreign plate, leading zeros and an invalid VIN', async () => {
    const foreign = await ofVehicle(await describeVehicle({ plate: 'M-XY 1234', vin: 'chassis 7' }));
    expect(foreign.body.certificate).toMatchObject({ plate: 'M-XY 1234', vin: 'chassis 7' });
    const former = await ofVehicle(await describeVehicle({ plate: '0123 ZA 75', model: 'Former' }));
    for (const [text, { body }] of [
      ['M-XY 1234', foreign],
      ['mxy1234', foreign],
      ['Chassis 7', foreign],
      ['0123 ZA 75', former],
    ] as const)
      expect((await lookUp(text)).body).toEqual(body);
    const stranger = clientWithToken(fixture.platform.httpUrl, other.token);
    expect((await lookUp('M-XY 1234', stranger)).body.error).toBe('INVALID_PARAMETER');
  });

  it('is found by its plate even if the text is also the VIN of a newer vehicle', async () => {
    const named = await ofVehicle(await describeVehicle({ plate: 'M-XY 4321', model: 'Named' }));
    await describeVehicle({ plate: newPlate(), vin: 'M-XY 4321', model: 'Newer' });
    expect((await lookUp('M-XY 4321')).body).toEqual(named.body);
  });

  it('answers UNKNOWN_VEHICLE for a deleted or malformed vehicle id', async () => {
    const deleted = await describeVehicle({ plate: newPlate(), deleted_at: new Date() });
    for (const id of [deleted, '7', 'AB-123-CD']) {
      const { status, body } = await ofVehicle(id);
      expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
  });
});

describe('GET and DELETE /v1/x/admin/registrations/{plate_or_vin}', () => {
  it('answers with the source of each field and the decoded VIN', async () => {
    const [plate, vin] = ['AD-001-AD', 'WBATESTA0A6000001'];
    await importRecords(fixture.admin, [{ plate, vin, model: 'i3' }]);
    const { body } = await fixture.admin.get(`/v1/x/admin/registrations/${plate}`);
    expect(body.sources).toEqual({
      'certificate.plate': 'imported',
      'certificate.vin': 'imported',
      'certificate.model': 'imported',
      'certificate.brand': 'vin',
    });
    expect(body.outcomes).toEqual({ imported: 'found', vin: 'found' });
    expect(body.vin).toMatchObject({ vin, wmi: 'WBA', make: 'BMW', checkDigitRequired: false });
  });

  it('shows the vehicles of the platform in the view of the named application only', async () => {
    const plate = 'M-XY 5678';
    const { id } = await createVehicle(fixture.platform.db, fixture.application);
    await fixture.platform.db
      .updateTable('vehicle')
      .set({ plate, model: 'Own' })
      .where('id', '=', Number(id))
      .execute();
    const explain = (view: string) =>
      fixture.admin.get(`/v1/x/admin/registrations/${encodeURIComponent(plate)}${view}`);
    const { body } = await explain(`?appId=${fixture.application.appId}`);
    expect(body.record).toEqual((await lookUp(plate)).body);
    expect(body.sources).toMatchObject({ 'certificate.plate': 'platform', 'certificate.model': 'platform' });
    for (const view of ['', `?appId=${other.appId}`]) {
      expect((await explain(view)).body.error).toBe('INVALID_PARAMETER');
    }
  });

  it('removes the records of a vehicle once', async () => {
    const [plate, vin] = ['AD-002-AD', 'XZZTESTA0A6000002'];
    await importRecords(fixture.admin, [{ plate, vin, model: 'i3' }]);
    expect((await fixture.admin.delete(`/v1/x/admin/registrations/${vin}`)).body).toEqual({ removed: 1 });
    expect((await fixture.client.get(`/v1/siv/fr/${plate}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await fixture.admin.delete(`/v1/x/admin/registrations/${vin}`)).status).toBe(404);
  });
});

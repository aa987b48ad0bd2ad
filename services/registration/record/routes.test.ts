import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importRecords } from '../imports/import-records.fixture.ts';
import { registrationService } from '../service.ts';

let platform: TestPlatform;
let client: ApiClient;
let admin: ApiClient;

beforeAll(async () => {
  platform = await startTestPlatform([registrationService]);
  client = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
  admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
});
afterAll(() => platform?.stop());

describe('GET and DELETE /v1/x/admin/registrations/{plate_or_vin}', () => {
  it('answers with the source of each field and the decoded VIN', async () => {
    const [plate, vin] = ['AD-001-AD', 'WBATESTA0A6000001'];
    await importRecords(admin, [{ plate, vin, model: 'i3' }]);
    const { body } = await admin.get(`/v1/x/admin/registrations/${plate}`);
    expect(body.sources).toEqual({
      'certificate.plate': 'imported',
      'certificate.vin': 'imported',
      'certificate.model': 'imported',
      'certificate.brand': 'vin',
    });
    expect(body.outcomes).toEqual({ imported: 'found', vin: 'found' });
    expect(body.vin).toMatchObject({ vin, wmi: 'WBA', make: 'BMW', checkDigitRequired: false });
  });

  it('removes the records of a vehicle once', async () => {
    const [plate, vin] = ['AD-002-AD', 'XZZTESTA0A6000002'];
    await importRecords(admin, [{ plate, vin, model: 'i3' }]);
    expect((await admin.delete(`/v1/x/admin/registrations/${vin}`)).body).toEqual({ removed: 1 });
    expect((await client.get(`/v1/siv/fr/${plate}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await admin.delete(`/v1/x/admin/registrations/${vin}`)).status).toBe(404);
  });

  it('answers 401 to an access token of an application', async () => {
    for (const path of ['registrations/AB-123-CD', 'registration-fields', `registration-imports/${'0'.repeat(64)}`]) {
      expect((await client.get(`/v1/x/admin/${path}`)).status).toBe(401);
    }
    expect((await client.post('/v1/x/admin/registrations', {})).status).toBe(401);
  });
});

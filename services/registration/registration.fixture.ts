import { createHash, randomUUID } from 'node:crypto';
import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll } from 'vitest';
import { registrationService } from './service.ts';

/** The service of a test file, with an application. */
export interface RegistrationFixture {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  readonly client: ApiClient;
  readonly admin: ApiClient;
}

/** Starts the service for a test file. @returns an object that is filled before the first test */
export function useRegistration(): RegistrationFixture {
  const fixture = {} as RegistrationFixture;
  beforeAll(async () => {
    const platform = await startTestPlatform([registrationService]);
    const application = await createApplication(platform.db);
    const client = clientWithToken(platform.httpUrl, application.token);
    Object.assign(fixture, { platform, application, client, admin: adminOf(platform) });
  });
  afterAll(() => fixture.platform?.stop());
  return fixture;
}

export const adminOf = ({ httpUrl }: TestPlatform): ApiClient =>
  createApiClient(httpUrl, { authorization: `Bearer ${testAdminToken}` });

/** Returns the SHA-256 of a file that no other test imports. */
export function newFileSha256(): string {
  return createHash('sha256').update(randomUUID()).digest('hex');
}

/**
 * Imports records as one file, for one application or for all.
 * @throws when one of them is rejected
 */
export async function importRecords(admin: ApiClient, records: readonly object[], appId?: string): Promise<void> {
  const fileSha256 = newFileSha256();
  const rows = records.map((record, index) => ({ line: index + 1, record }));
  const application = appId === undefined ? {} : { appId };
  const imported = await admin.post('/v1/x/admin/registrations', {
    ...application,
    fileSha256,
    position: 0,
    rows,
    last: true,
  });
  if (imported.status !== 200) throw new Error(`import failed: ${JSON.stringify(imported.body)}`);
  const query = new URLSearchParams(application).toString();
  const { body } = await admin.get(`/v1/x/admin/registration-imports/${fileSha256}?${query}`);
  if (body.faults.length > 0) throw new Error(`records were rejected: ${JSON.stringify(body.faults)}`);
}

import { createHash, randomUUID } from 'node:crypto';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { registrationService } from './service.ts';

/** Starts the service for the tests of a file, with an application. */
export async function useRegistration() {
  const platform = await usePlatform([registrationService]);
  const application = await createApplication(platform.db);
  return { platform, application, client: platform.as(application.token), admin: platform.admin };
}

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

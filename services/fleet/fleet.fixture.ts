import type { ApiClient } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll } from 'vitest';
import { fleetService } from './service.ts';

/** A running fleet service with an application. */
export interface TestFleet {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  /** A client in application mode. */
  readonly api: ApiClient;
  /** A client with the admin token. */
  readonly admin: ApiClient;
  /** A client with this access token. */
  readonly as: (token: string) => ApiClient;
  /** A client without a token. */
  readonly anonymous: ApiClient;
}

/** Starts the fleet service for the tests of a file; it stops after them. */
export async function startFleet(settings: Record<string, string> = {}): Promise<TestFleet> {
  const platform = await startTestPlatform([fleetService], settings);
  afterAll(() => platform.stop());
  const application = await createApplication(platform.db);
  return {
    platform,
    application,
    api: platform.as(application.token),
    as: (token) => platform.as(token),
    admin: platform.admin,
    anonymous: platform.anonymous,
  };
}

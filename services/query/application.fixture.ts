import type { ApiClient } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { queryService } from './service.ts';

export let platform: TestPlatform;
export let application: TestApplication;
/** Signs in with the token of the application. */
export let client: ApiClient;
/** A vehicle of the application, with a linked device. */
export let vehicle: TestVehicle;

/** Runs the query service for the tests of a file, and creates an application before each of them. */
export function setUpApplication(): void {
  beforeAll(async () => {
    platform = await startTestPlatform([queryService]);
  });
  afterAll(() => platform.stop());
  beforeEach(async () => {
    application = await createApplication(platform.db);
    client = platform.as(application.token);
  });
}

/** As setUpApplication, with a vehicle. */
export function setUpVehicle(): void {
  setUpApplication();
  beforeEach(renewVehicle);
}

export async function renewVehicle(): Promise<void> {
  vehicle = await createVehicle(platform.db, application);
}

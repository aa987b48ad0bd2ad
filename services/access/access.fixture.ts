import { type ApiAnswer, type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { expect } from 'vitest';
import { accessService } from './service.ts';

const hourMs = 3_600_000;

/** The moment in so many hours, in ISO 8601. */
export function inHours(hours: number): string {
  return new Date(Math.trunc(Date.now()) + hours * hourMs).toISOString();
}

export function expectFailure(answer: ApiAnswer, status: number, error: string): void {
  expect([answer.status, answer.body.error]).toEqual([status, error]);
}

/** The fleet service, and an application that issues authorizations. */
export interface Issuer {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  readonly api: ApiClient;
  /** POST /v1/bluetooth-token: a driver who may DRIVE from an hour ago for two hours, unless changed. */
  issue(vehicle: TestVehicle, changes?: Record<string, unknown>): Promise<ApiAnswer>;
  /** The same, and it succeeds. @returns the authorization id */
  issuedId(vehicle: TestVehicle, changes?: Record<string, unknown>): Promise<string>;
}

export async function startIssuer(): Promise<Issuer> {
  const platform = await startTestPlatform([accessService]);
  const application = await createApplication(platform.db);
  const api = clientWithToken(platform.httpUrl, application.token);
  const issue = async (vehicle: TestVehicle, changes: Record<string, unknown> = {}) => {
    const period = { from: inHours(-1), until: inHours(1) };
    const standard = { vehicleId: vehicle.id, userId: 'driver-1', level: 'DRIVE', ...period };
    return api.post('/v1/bluetooth-token', { ...standard, ...changes });
  };
  return {
    ...{ platform, application, api, issue },
    async issuedId(vehicle, changes) {
      const { status, body } = await issue(vehicle, changes);
      expect([status, body.error]).toEqual([200, undefined]);
      return body.authorizationId;
    },
  };
}

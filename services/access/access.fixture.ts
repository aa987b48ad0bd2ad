import type { GrantRole } from '@odograph/database/vehicle-access';
import { type ApiAnswer, type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import {
  createApplication,
  createUser,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { accessService } from './service.ts';

/** Returns the time in so many minutes, in ISO 8601. */
export const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
/** Returns the time in so many hours, in ISO 8601. */
export const inHours = (hours: number) => inMinutes(hours * 60);

export function expectFailure(answer: ApiAnswer, status: number, error: string): void {
  expect([answer.status, answer.body.error]).toEqual([status, error]);
}

export interface TestUser {
  readonly id: string;
  readonly username: string;
  readonly api: ApiClient;
}

/** An access service for a test file, with a new application and vehicle for each test. */
export interface AccessFixture {
  readonly platform: TestPlatform;
  readonly application: TestApplication;
  readonly api: ApiClient;
  /** Another application. */
  readonly foreign: ApiClient;
  readonly operator: ApiClient;
  /** A test may replace it. */
  vehicle: TestVehicle;
  newVehicle(options?: { model?: string }): Promise<TestVehicle>;
  changeVehicle(values: object): Promise<void>;
  /** Creates a user; with a role, a grant for the vehicle too. */
  createUser(role?: GrantRole, vehicle?: TestVehicle): Promise<TestUser>;
  /** POST /v1/bluetooth-token, by default for a driver who may DRIVE from an hour ago for two hours. */
  issue(changes?: Record<string, unknown>): Promise<ApiAnswer>;
  /** Issues an authorization, which must succeed. @returns its id */
  issuedId(changes?: Record<string, unknown>): Promise<string>;
}

interface Application {
  readonly application: TestApplication;
  readonly api: ApiClient;
  readonly foreign: ApiClient;
  vehicle: TestVehicle;
}

function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the fixture has not started');
  return value;
}

/** Registers the hooks of a test file that start and stop the service. */
export function useAccess(settings: Record<string, string> = {}): AccessFixture {
  let platform: TestPlatform | undefined;
  let current: Application | undefined;
  beforeAll(async () => {
    platform = await startTestPlatform([accessService], settings);
  });
  afterAll(() => platform?.stop());
  beforeEach(async () => {
    const { db, httpUrl } = defined(platform);
    const application = await createApplication(db);
    const foreign = clientWithToken(httpUrl, (await createApplication(db)).token);
    const api = clientWithToken(httpUrl, application.token);
    current = { application, api, foreign, vehicle: await createVehicle(db, application) };
  });
  return {
    ...accessOperations(
      () => defined(platform),
      () => defined(current),
    ),
    get platform() {
      return defined(platform);
    },
    get operator() {
      return createApiClient(defined(platform).httpUrl, { authorization: `Bearer ${testAdminToken}` });
    },
    get application() {
      return defined(current).application;
    },
    get api() {
      return defined(current).api;
    },
    get foreign() {
      return defined(current).foreign;
    },
    get vehicle() {
      return defined(current).vehicle;
    },
    set vehicle(vehicle) {
      defined(current).vehicle = vehicle;
    },
  };
}

type Operations = Pick<AccessFixture, 'newVehicle' | 'changeVehicle' | 'createUser' | 'issue' | 'issuedId'>;

function accessOperations(platform: () => TestPlatform, current: () => Application): Operations {
  const issue: Operations['issue'] = async (changes = {}) => {
    const interval = { from: inHours(-1), until: inHours(1) };
    const standard = { vehicleId: current().vehicle.id, userId: 'driver-1', level: 'DRIVE', ...interval };
    return current().api.post('/v1/bluetooth-token', { ...standard, ...changes });
  };
  return {
    issue,
    newVehicle: async (options) => createVehicle(platform().db, current().application, options),
    async changeVehicle(values) {
      const id = Number(current().vehicle.id);
      await platform().db.updateTable('vehicle').set(values).where('id', '=', id).execute();
    },
    async createUser(role, vehicle = current().vehicle) {
      const { db, httpUrl } = platform();
      const grants = role === undefined ? {} : { role, vehicleIds: [vehicle.id] };
      const { id, username, token } = await createUser(db, current().application, grants);
      return { id, username, api: clientWithToken(httpUrl, token) };
    },
    async issuedId(changes) {
      const { status, body } = await issue(changes);
      expect([status, body.error]).toEqual([200, undefined]);
      return body.authorizationId;
    },
  };
}

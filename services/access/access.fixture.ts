import type { GrantRole } from '@odograph/database/vehicle-access';
import type { ApiAnswer, ApiClient } from '@odograph/testkit/api-client';
import {
  createApplication,
  createUser,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { beforeEach, expect } from 'vitest';
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
export class AccessFixture {
  application: TestApplication = { id: 0, appId: '', appKey: '', token: '' };
  /** A test may replace it. */
  vehicle: TestVehicle = { id: '', deviceId: '', secret: '' };
  api: ApiClient;
  /** A client of another application. */
  foreign: ApiClient;
  readonly operator: ApiClient;
  readonly platform: TestPlatform;

  constructor(platform: TestPlatform) {
    this.platform = platform;
    this.operator = platform.admin;
    this.api = this.foreign = platform.anonymous;
  }

  async renew(): Promise<void> {
    const { platform } = this;
    this.application = await createApplication(platform.db);
    this.api = platform.as(this.application.token);
    this.foreign = platform.as((await createApplication(platform.db)).token);
    this.vehicle = await this.newVehicle();
  }

  readonly newVehicle = (options: { model?: string } = {}): Promise<TestVehicle> =>
    createVehicle(this.platform.db, this.application, options);

  async changeVehicle(values: object): Promise<void> {
    const id = Number(this.vehicle.id);
    await this.platform.db.updateTable('vehicle').set(values).where('id', '=', id).execute();
  }

  /** Creates a user; with a role, a grant for the vehicle too. */
  async createUser(role?: GrantRole, vehicle = this.vehicle): Promise<TestUser> {
    const grants = role === undefined ? {} : { role, vehicleIds: [vehicle.id] };
    const { id, username, token } = await createUser(this.platform.db, this.application, grants);
    return { id, username, api: this.platform.as(token) };
  }

  /** POST /v1/bluetooth-token, by default for a driver who may DRIVE from an hour ago for two hours. */
  readonly issue = (changes: Record<string, unknown> = {}): Promise<ApiAnswer> => {
    const interval = { from: inHours(-1), until: inHours(1) };
    const defaults = { vehicleId: this.vehicle.id, userId: 'driver-1', level: 'DRIVE', ...interval };
    return this.api.post('/v1/bluetooth-token', { ...defaults, ...changes });
  };

  /** Issues an authorization, which must succeed. @returns its id */
  readonly issuedId = async (changes?: Record<string, unknown>): Promise<string> => {
    const { status, body } = await this.issue(changes);
    if (status !== 200) throw new Error(`not issued: ${body.error}`);
    return body.authorizationId;
  };
}

/** Starts the access service for the tests of a file. */
export async function useAccess(settings: Record<string, string> = {}): Promise<AccessFixture> {
  const fixture = new AccessFixture(await usePlatform([accessService], settings));
  beforeEach(() => fixture.renew());
  return fixture;
}

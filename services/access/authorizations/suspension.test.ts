import type { ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, type Issuer, inHours, startIssuer } from '../access.fixture.ts';

let issuer: Issuer;
let api: ApiClient;
let vehicle: TestVehicle;

beforeAll(async () => {
  issuer = await startIssuer();
  ({ api } = issuer);
});
afterAll(() => issuer?.platform.stop());
beforeEach(async () => {
  vehicle = await createVehicle(issuer.platform.db, issuer.application);
});
const issuedId = (changes: Record<string, unknown> = {}) => issuer.issuedId(vehicle, changes);

describe('a suspension', () => {
  const suspend = (authorizationId: string, until: unknown) =>
    api.post('/v1/bluetooth-token/invalidate', { authorizationId, until });
  const resume = (authorizationId: string) => api.post('/v1/bluetooth-token/validate', { authorizationId });

  it('is made, changed and ended, and nothing is left to end then', async () => {
    const id = await issuedId();
    expectFailure(await resume(id), 409, 'NOT_SUSPENDED');
    for (const until of [inHours(0.5), inHours(0.9)]) {
      const { status, body } = await suspend(id, until);
      expect([status, body]).toEqual([200, {}]);
    }
    const current = await api.get(`/v1/vehicle/${vehicle.id}/authorizations/current`);
    expect(current.body.authorizations).toHaveLength(1);
    expect((await resume(id)).status).toBe(200);
    expectFailure(await resume(id), 409, 'NOT_SUSPENDED');
  });

  it('is refused with INVALID_DATE unless its end parses, lies ahead, and not beyond the authorization', async () => {
    const until = inHours(1);
    const id = await issuedId({ until });
    for (const wrong of ['x', undefined, inHours(-0.1), inHours(1.1)]) {
      expectFailure(await suspend(id, wrong), 400, 'INVALID_DATE');
    }
    expect((await suspend(id, until)).status).toBe(200);
  });

  it('is refused for one that has not begun, before anything is said of the date', async () => {
    expect.assertions(3);
    const id = await issuedId({ from: inHours(1), until: inHours(2) });
    expectFailure(await suspend(id, 'x'), 409, 'AUTHORIZATION_NOT_ACTIVE');
    expectFailure(await resume(id), 409, 'AUTHORIZATION_NOT_ACTIVE');
  });
});

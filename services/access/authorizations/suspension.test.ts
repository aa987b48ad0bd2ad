import { describe, expect, it } from 'vitest';
import { expectFailure, inHours, useAccess } from '../access.fixture.ts';

const access = useAccess();
const { issuedId } = access;

describe('a suspension', () => {
  const suspend = (authorizationId: string, until: unknown) =>
    access.api.post('/v1/bluetooth-token/invalidate', { authorizationId, until });
  const resume = (authorizationId: string) => access.api.post('/v1/bluetooth-token/validate', { authorizationId });

  it('starts, moves its end, and ends once', async () => {
    const id = await issuedId();
    expectFailure(await resume(id), 409, 'NOT_SUSPENDED');
    for (const until of [inHours(0.5), inHours(0.9)]) {
      const { status, body } = await suspend(id, until);
      expect([status, body]).toEqual([200, {}]);
    }
    const current = await access.api.get(`/v1/vehicle/${access.vehicle.id}/authorizations/current`);
    expect(current.body.authorizations).toHaveLength(1);
    expect((await resume(id)).status).toBe(200);
    expectFailure(await resume(id), 409, 'NOT_SUSPENDED');
  });

  it('is refused with INVALID_DATE unless its end is a date between now and the end of the authorization', async () => {
    const until = inHours(1);
    const id = await issuedId({ until });
    for (const wrong of ['x', undefined, inHours(-0.1), inHours(1.1)]) {
      expectFailure(await suspend(id, wrong), 400, 'INVALID_DATE');
    }
    expect((await suspend(id, until)).status).toBe(200);
  });

  it('is refused for an authorization that has not started, whatever the date', async () => {
    expect.assertions(3);
    const id = await issuedId({ from: inHours(1), until: inHours(2) });
    expectFailure(await suspend(id, 'x'), 409, 'AUTHORIZATION_NOT_ACTIVE');
    expectFailure(await resume(id), 409, 'AUTHORIZATION_NOT_ACTIVE');
  });
});

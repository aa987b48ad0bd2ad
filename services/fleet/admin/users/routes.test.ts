import { randomUUID } from 'node:crypto';
import { createApplication } from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../../fleet.fixture.ts';

const { platform, application, admin, anonymous } = await startFleet();
const newVehicle = async (appId = application.appId): Promise<string> =>
  (await admin.post('/v1/x/admin/vehicles', { appId, plate: randomUUID().slice(0, 20) })).body.id;

describe('/v1/x/admin/users', () => {
  it('creates a user with a password of 8 characters and a name unique in the application', async () => {
    const user = {
      appId: application.appId,
      username: `user-${randomUUID()}`,
      password: '12345678',
      mustChangePassword: true,
    };
    const { status, body } = await admin.post('/v1/x/admin/users', user);
    expect(status).toBe(200);
    const { appId, appKey } = application;
    const login = await anonymous.post('/v1/login', { appKey, ...user });
    expect(login.body.update_password).toBe(true);

    const refused = async (change: object) =>
      (await admin.post('/v1/x/admin/users', { ...user, ...change })).body.error;
    expect(await refused({ username: user.username.toUpperCase() })).toBe('ALREADY_EXISTS');
    expect(await refused({ password: '1234567' })).toBe('INVALID_PASSWORD_LENGTH');
    expect(await refused({ appId: 'none' })).toBe('UNKNOWN_APPLICATION');
    const { body: list } = await admin.get(`/v1/x/admin/users?appId=${appId}`);
    expect(list.users).toContainEqual({
      userId: body.userId,
      username: user.username,
      mustChangePassword: true,
      vehicleIds: [],
    });
  });

  it('grants vehicles of the application only, and revokes a grant', async () => {
    const { body: user } = await admin.post('/v1/x/admin/users', {
      appId: application.appId,
      username: `user-${randomUUID()}`,
      password: '12345678',
    });
    const own = await newVehicle();
    const foreign = await newVehicle((await createApplication(platform.db)).appId);
    const grants = `/v1/x/admin/users/${user.userId}/vehicles`;
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    for (const vehicleId of [foreign, '1', 'x\0', '9999999999']) {
      const { status, body } = await admin.post(grants, { vehicleId });
      expect([400, 404]).toContain(status);
      expect(['UNKNOWN_VEHICLE', 'INVALID_PARAMETER']).toContain(body.error);
    }
    for (const userId of ['none', '00000000-0000-0000-0000-000000000000', '%00']) {
      const { body } = await admin.post(`/v1/x/admin/users/${userId}/vehicles`, { vehicleId: own });
      expect(body.error).toBe('UNKNOWN_USER');
    }
    expect((await admin.delete(`${grants}/${own}`)).status).toBe(200);
    expect((await admin.delete(`${grants}/${own}`)).body.error).toBe('NOT_FOUND');
  });
});

import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { verifyToken } from '@odograph/keyless/token';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { accessService } from '../service.ts';

const secret = (letter: string) => letter.repeat(32);
let api: ApiClient;
let vehicle: TestVehicle;
let serviceToken: string;

const platform = await usePlatform([accessService], { ENCRYPTION_KEYS: secret('a') });
const { admin } = platform;
beforeEach(async () => {
  const application = await createApplication(platform.db);
  serviceToken = application.token;
  api = platform.as(serviceToken);
  vehicle = await createVehicle(platform.db, application);
});

const rotate = (deviceId = vehicle.deviceId) => admin.post(`/v1/x/admin/devices/${deviceId}/key`);
const stateOf = async () => (await admin.get(`/v1/x/admin/devices/${vehicle.deviceId}/key`)).body;
const issue = async () => {
  const period = { from: Date.now() - 1000, until: Date.now() + 3_600_000 };
  return (await api.post('/v1/bluetooth-token', { vehicleId: vehicle.id, userId: 'x', level: 'DRIVE', ...period }))
    .body;
};

describe('the key of a device', () => {
  it('is shown once, stored sealed, and replaced by a rotation that makes a new key list due', async () => {
    const { status, body } = await rotate();
    expect([status, body.deviceId, body.keyVersion]).toEqual([200, vehicle.deviceId, 1]);
    expect(Buffer.from(body.key, 'base64url')).toHaveLength(32);
    const before = await issue();
    const second = (await rotate()).body;
    expect(second.keyVersion).toBe(2);
    expect(second.key).not.toBe(body.key);
    expect(await stateOf()).toMatchObject({ keyVersion: 2, listVersion: 2, confirmedVersion: 0, confirmedAt: null });
    const after = (await api.get(`/v1/bluetooth-token/${before.authorizationId}`)).body;
    expect(after.token).not.toBe(before.token);

    const audited = await sql`select action from audit
      where subject = ${`device:${vehicle.deviceId}`} order by position`.execute(platform.db);
    expect(audited.rows).toEqual([{ action: 'device-key.create' }, { action: 'device-key.rotate' }]);
    const { rows } = await sql<{ text: string }>`select device_key::text as text from device_key
      where device_id = ${vehicle.deviceId}
      union all select audit::text from audit where subject = ${`device:${vehicle.deviceId}`}`.execute(platform.db);
    expect(rows).toHaveLength(3);
    for (const { text } of rows) {
      for (const { key } of [body, second]) {
        expect(text.includes(key) || text.includes(Buffer.from(key, 'base64url').toString('hex'))).toBe(false);
      }
    }
  });

  it('stays when all tokens of the device are ended, and its authorizations have new ones', async () => {
    const end = (deviceId: string) => admin.delete(`/v1/x/admin/devices/${deviceId}/tokens`);
    const { body: key } = await rotate();
    const device = { deviceId: vehicle.deviceId, deviceKey: Buffer.from(key.key, 'base64url'), keyVersion: 1 };
    const { authorizationId, token } = await issue();
    const { listVersion } = await stateOf();
    expect((await end(vehicle.deviceId)).body).toEqual({ epoch: 2 });
    expect(await stateOf()).toMatchObject({ epoch: 2, keyVersion: 1, listVersion: listVersion + 1 });
    const renewed = (await api.get(`/v1/bluetooth-token/${authorizationId}`)).body.token;
    const list = { version: listVersion + 1, issuedAtMs: Date.now(), keyVersion: 1, epoch: 2, authorizations: [] };
    const check = (text: string) =>
      verifyToken(nodeCrypto, device, list, Buffer.from(text, 'base64url'), Date.now() + 60_000);
    expect([check(token), check(renewed)]).toMatchObject([{ ok: false, reason: 'EPOCH' }, { ok: true }]);
    expect((await end('none')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('is created by the first authorization of a device', async () => {
    expect((await admin.get(`/v1/x/admin/devices/${vehicle.deviceId}/key`)).body.error).toBe('UNKNOWN_DEVICE');
    await issue();
    expect((await stateOf()).keyVersion).toBe(1);
    expect((await rotate()).body.keyVersion).toBe(2);
  });

  it('gives no token for a vehicle that its device leaves while the key is created', async () => {
    const [answer] = await platform.db.transaction().execute(async (change) => {
      await sql`select from device where id = ${vehicle.deviceId} for no key update`.execute(change);
      await sql`update device_link set period = tstzrange(lower(period), now())
        where device_id = ${vehicle.deviceId}`.execute(change);
      const issuing = issue();
      await waitForLock(change);
      return [issuing];
    });
    expect(await answer).toMatchObject({ error: 'INVALID_DEVICE' });
  });

  // The embedded engine runs one transaction at a time.
  it.skipIf(!inject('isNativeDatabase'))(
    'is not created by a read while a suspension of its vehicle begins',
    async () => {
      const { authorizationId } = await issue();
      await sql`delete from device_key where device_id = ${vehicle.deviceId}`.execute(platform.db);
      const [reading] = await platform.db.transaction().execute(async (change) => {
        await sql`select from device where id = ${vehicle.deviceId} for no key update`.execute(change);
        const answer = api.get(`/v1/bluetooth-token/${authorizationId}`);
        await waitForLock(change);
        const { rows } = await sql`select from vehicle where id = ${vehicle.id}::integer
        for no key update skip locked`.execute(platform.db);
        expect(rows).toHaveLength(0);
        return [answer];
      });
      expect((await reading)?.body.token).not.toBe('');
    },
  );

  it('is refused for an unknown device, and without the admin token', async () => {
    expect((await rotate('none')).body.error).toBe('UNKNOWN_DEVICE');
    const { status } = await api.post(`/v1/x/admin/devices/${vehicle.deviceId}/key`);
    expect(status).toBe(401);
  });
});

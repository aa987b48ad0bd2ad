import { randomUUID } from 'node:crypto';
import { hashSecret } from '@odograph/runtime/secrets';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { connackOf } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';

const platform = await usePlatform([brokerService]);

it('accepts a device with its id as client id and user name, and its secret', async () => {
  const { deviceId, secret } = await createDevice(platform.db);
  const code = await connackOf(platform.mqttUrl, { clientId: deviceId, username: deviceId, password: secret });
  expect(code).toBe(0);
});

it('gives a wrong secret, an unknown device and a foreign client id the same answer', async () => {
  const { deviceId, secret } = await createDevice(platform.db);
  const other = await createDevice(platform.db);
  const unknown = `unknown-${randomUUID()}`;
  const attempts = [
    { clientId: deviceId, username: deviceId, password: other.secret },
    { clientId: deviceId, username: deviceId, password: '' },
    { clientId: unknown, username: unknown, password: secret },
    { clientId: deviceId, username: other.deviceId, password: other.secret },
    { clientId: '', username: deviceId, password: secret },
    { clientId: `${deviceId}/x`, username: `${deviceId}/x`, password: secret },
  ];
  const codes = await Promise.all(attempts.map((attempt) => connackOf(platform.mqttUrl, attempt)));
  expect(codes).toEqual(attempts.map(() => 4));
});

it('never accepts a device whose id is reserved, even with a row of that id', async () => {
  const id = `odograph-${randomUUID()}`;
  await platform.db
    .insertInto('device')
    .values({ id, model_id: 'generic', secret_sha256: hashSecret('known') })
    .execute();
  expect(await connackOf(platform.mqttUrl, { clientId: id, username: id, password: 'known' })).toBe(4);
});

it('answers "server unavailable" while the database is unavailable', async () => {
  const unreachable = `postgres://nobody@127.0.0.1:${await freePort()}/nowhere`;
  const withoutDatabase = await startTestPlatform([brokerService], { DATABASE_URL: unreachable });
  try {
    expect(await connackOf(withoutDatabase.mqttUrl, { clientId: 'd-1', username: 'd-1', password: 'x' })).toBe(3);
  } finally {
    await withoutDatabase.stop();
  }
});

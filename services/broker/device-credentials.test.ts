import { setImmediate as turn } from 'node:timers/promises';
import { openDatabase } from '@odograph/database/database';
import { hashSecret } from '@odograph/runtime/secrets';
import { createDevice } from '@odograph/testkit/fixtures';
import type { KyselyPlugin } from 'kysely';
import { afterAll, expect, inject, it } from 'vitest';
import { DeviceCredentials } from './device-credentials.ts';

const db = openDatabase({ url: inject('databaseUrl'), name: 'test', size: 2 });
afterAll(() => db.destroy());

/** Counts the statements that go through a database. */
function createStatementCounter(): KyselyPlugin & { readonly count: number } {
  let count = 0;
  return {
    get count() {
      return count;
    },
    transformQuery({ node }) {
      count += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

it('looks devices up that come one after the other with a statement in 10 ms, and answers each with its own', async () => {
  const devices = await Promise.all(Array.from({ length: 40 }, () => createDevice(db)));
  const counter = createStatementCounter();
  const credentials = new DeviceCredentials(db.withPlugin(counter));
  const start = performance.now();
  const lookups = [credentials.find('nobody')];
  for (const { deviceId } of devices) {
    lookups.push(credentials.find(deviceId));
    await turn();
    await turn();
  }
  const [nobody, ...found] = await Promise.all(lookups);
  expect(counter.count).toBeLessThanOrEqual(2 + (performance.now() - start) / 10);
  expect(nobody).toBeUndefined();
  expect(found.map((stored) => stored?.secretSha256.toString('hex'))).toEqual(
    devices.map(({ secret }) => hashSecret(secret).toString('hex')),
  );
});

it('does not answer with what was looked up before a revocation', async () => {
  const { deviceId } = await createDevice(db);
  const credentials = new DeviceCredentials(db);
  const [before] = await Promise.allSettled([
    credentials.find(deviceId),
    turn().then(() => credentials.revoke(deviceId)),
  ]);
  expect(before.status).toBe('rejected');
  expect(await credentials.find(deviceId)).toBeDefined();
});

import { setImmediate as turn } from 'node:timers/promises';
import { hashSecret } from '@odograph/runtime/secrets';
import { createDevice } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { afterEachStatement } from '@odograph/testkit/statements';
import { expect, it } from 'vitest';
import { CredentialStore } from './credentials.ts';

const db = useDatabase();

it('looks up devices that connect within 10 ms with one statement', async () => {
  const devices = await Promise.all(Array.from({ length: 40 }, () => createDevice(db)));
  let statements = 0;
  const count = (): void => {
    statements += 1;
  };
  const credentials = new CredentialStore(db.withPlugin(afterEachStatement(count)));
  const start = performance.now();
  const lookups = [credentials.find('nobody')];
  for (const { deviceId } of devices) {
    lookups.push(credentials.find(deviceId));
    await turn();
    await turn();
  }
  const [nobody, ...found] = await Promise.all(lookups);
  expect(statements).toBeLessThanOrEqual(2 + (performance.now() - start) / 10);
  expect(nobody).toBeUndefined();
  expect(found.map((stored) => stored?.secretSha256.toString('hex'))).toEqual(
    devices.map(({ secret }) => hashSecret(secret).toString('hex')),
  );
});

it.each(['of this device', 'of any device'])(
  'finds the current credentials after a change %s during the lookup',
  async (whose) => {
    const { deviceId } = await createDevice(db);
    const secretSha256 = hashSecret('another');
    let changes = 0;
    const changeOnce = async (): Promise<void> => {
      changes += 1;
      if (changes > 1) return;
      await db.updateTable('device').set({ secret_sha256: secretSha256 }).where('id', '=', deviceId).execute();
      if (whose === 'of this device') credentials.invalidate(deviceId);
      else credentials.invalidateAll();
    };
    const credentials = new CredentialStore(db.withPlugin(afterEachStatement(changeOnce)));
    const [stored, nobody] = await Promise.all([credentials.find(deviceId), credentials.find('nobody')]);
    expect(stored?.secretSha256).toEqual(secretSha256);
    expect(nobody).toBeUndefined();
  },
);

import { randomUUID } from 'node:crypto';
import { accessService } from '@odograph/access/service';
import { consoleService } from '@odograph/console/service';
import type { Database } from '@odograph/database/database';
import { migrate } from '@odograph/database/migrate';
import { openPushKey } from '@odograph/events/notifications/push-key';
import { eventService } from '@odograph/events/service';
import { fleetService } from '@odograph/fleet/service';
import { InvalidSettings } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { deviceKeyContext, quarantineContext, Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createSource, createVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireReadableValues } from '../../services/platform/engines.ts';
import { createSeparateDatabase, type SeparateDatabase } from '../faults/parts/separate-database.fixture.ts';

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
const services = ['access', 'gateway', 'console', 'ingest', 'events'];
let database: SeparateDatabase;

beforeAll(async () => {
  database = await createSeparateDatabase();
  await migrate(database.url);
}, 180_000);
afterAll(() => database?.drop());

const logger = createLogger('silent');
const configWith = (keys: string) => testConfig({ DATABASE_URL: database.url, ENCRYPTION_KEYS: keys });

/** Runs a task on a platform with these encryption keys. */
async function withKeys<T>(
  keys: string,
  task: (platform: Awaited<ReturnType<typeof start>>) => Promise<T>,
): Promise<T> {
  const platform = await start(keys);
  try {
    return await task(platform);
  } finally {
    await platform.stop();
  }
}
async function start(keys: string) {
  const settings = { DATABASE_URL: database.url, ENCRYPTION_KEYS: keys };
  const platform = await startTestPlatform([fleetService, accessService, consoleService, eventService], settings);
  const { admin } = platform;
  return { ...platform, admin };
}

/** Opens the device key and the token of the source. */
async function openSealed(db: Database, key: string): Promise<string[]> {
  const { rows: keys } = await sql<{ id: string; version: number; sealed: Buffer }>`
    select device_id as id, key_version as version, sealed_key as sealed from device_key`.execute(db);
  const { rows: tokens } = await sql<{ id: string; sealed: Buffer }>`
    select id::text as id, sealed_command_token as sealed from source`.execute(db);
  const [deviceKeys, sourceTokens] = [new Sealer([key], 'device keys'), new Sealer([key], 'source tokens')];
  return [
    ...keys.map(({ id, version, sealed }) => deviceKeys.open(sealed, deviceKeyContext(id, version)).toString('hex')),
    ...tokens.map(({ id, sealed }) => sourceTokens.open(sealed, sourceTokenContext(id)).toString()),
  ];
}

describe('rotating ENCRYPTION_KEYS as documented', () => {
  it('keeps device keys, tokens of sources and quarantined uploads readable, and refuses keys that open none', async () => {
    const payload = Buffer.from('{"no":"reading"}');
    const { quarantineId, opened, pushKey } = await withKeys(first, async ({ db, admin }) => {
      const application = await createApplication(db);
      const { deviceId } = await createVehicle(db, application);
      await admin.post(`/v1/x/admin/devices/${deviceId}/key`);
      const { sourceId } = await createSource(db, application, { format: 'flespi' });
      const token = new Sealer([first], 'source tokens').seal(Buffer.from('a token'), sourceTokenContext(sourceId));
      const commanded = { sealed_command_token: token, takes_commands: true };
      await db.updateTable('source').set(commanded).where('id', '=', sourceId).execute();
      const sealed = new Sealer([first], 'quarantine').seal(payload, quarantineContext(deviceId));
      const { rows } = await sql<{ id: string }>`
        insert into quarantine (device_id, received_at, payload_bytes, sealed_payload, payload_fingerprint, faults)
        values (${deviceId}, now(), ${payload.length}, ${sealed}, ${Buffer.from(randomUUID())}, '[]')
        returning id::text`.execute(db);
      const { privateKey } = await openPushKey(db, new Sealer([first], 'webhook secrets'));
      return { quarantineId: rows[0]?.id, opened: await openSealed(db, first), pushKey: privateKey };
    });
    await expect(requireReadableValues(await configWith(second), logger, services)).rejects.toThrow(
      /ENCRYPTION_KEYS: no key opens 1 device keys and 1 tokens of sources and 1 quarantined uploads and 1 push keys/,
    );
    await expect(requireReadableValues(await configWith(second), logger, services)).rejects.toThrow(InvalidSettings);
    await requireReadableValues(await configWith(`${second},${first}`), logger, services);

    const counts = { resealed: 1, unreadable: 0, total: 1 };
    await withKeys(`${second},${first}`, async ({ admin, db }) => {
      // The service reseals the key pair for push messages at its start.
      await eventually(async () =>
        expect((await openPushKey(db, new Sealer([second], 'webhook secrets'))).privateKey).toBe(pushKey),
      );
      expect((await admin.post('/v1/x/admin/device-keys/reseal', {})).body).toEqual(counts);
      expect((await admin.post('/v1/x/admin/quarantine/reseal', {})).body).toEqual(counts);
      expect((await admin.post('/v1/x/admin/sources/reseal', {})).body).toEqual(counts);
    });
    await requireReadableValues(await configWith(second), logger, services);
    await withKeys(second, async ({ admin, db }) => {
      expect(opened).toEqual([expect.stringMatching(/^[0-9a-f]{32,}$/), 'a token']);
      expect(await openSealed(db, second)).toEqual(opened);
      const { body } = await admin.post(`/v1/x/admin/quarantine/${quarantineId}/open`, {});
      expect(Buffer.from(body.base64, 'base64')).toEqual(payload);
    });
  });
});

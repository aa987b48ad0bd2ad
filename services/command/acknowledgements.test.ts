import { randomBytes, randomUUID } from 'node:crypto';
import { keyListAcknowledgementId } from '@odograph/contracts/topics';
import { RefusedWork } from '@odograph/database/postgres-failure';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { deviceKeyContext, openSealer, Sealer } from '@odograph/runtime/sealing';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { acknowledge } from './acknowledgements.ts';
import { openCommandEvents } from './command-events.ts';
import { insertCommand, markSent } from './commands.ts';

const platform = await usePlatform([]);

/** Tries to record the acknowledgement of a command for which PostgreSQL raises an SQLSTATE. @returns the failed attempts */
async function failedAttempts(state: string, attempts: number): Promise<number> {
  const { config, db } = platform;
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const [id, trigger] = [randomUUID(), `fail_${randomUUID().slice(0, 8)}`];
  await insertCommand(db, {
    ...{ id, caller: { applicationId: application.id }, address: '127.0.0.1', vehicleId: Number(vehicle.id) },
    ...{ deviceId: vehicle.deviceId, action: 'LOCK', idempotencyKey: undefined, remainingMs: 60_000 },
  });
  await markSent(db, id);
  await sql`create function public.${sql.ref(trigger)}() returns trigger language plpgsql
    as ${sql.lit(`begin raise exception 'test' using errcode = '${state}'; end`)}`.execute(db);
  await sql`create trigger ${sql.ref(trigger)} before update on command for each row
    when (new.id = ${sql.lit(id)}) execute function public.${sql.ref(trigger)}()`.execute(db);
  const logger = createLogger('silent');
  const redis = connectRedis(config.REDIS_URL, logger);
  const events = openCommandEvents(redis, { config, logger }, { announceSoon: () => undefined });
  const context = { db, events, logger, sealer: await openSealer(config, 'device keys'), refused: new RefusedWork() };
  const job = { deviceId: vehicle.deviceId, receivedAtMs: Date.now(), text: JSON.stringify({ id, ok: true }) };
  let failed = 0;
  for (let n = 0; n < attempts; n += 1) {
    await acknowledge(context, job).catch(() => {
      failed += 1;
    });
  }
  events.close();
  redis.disconnect();
  await sql`drop trigger ${sql.ref(trigger)} on command`.execute(db);
  return failed;
}

it.each([
  ['22003', 0],
  ['XX000', 6],
])(
  'an acknowledgement that the database refuses with %s fails %i times and is then dropped',
  async (state, expected) => {
    expect(await failedAttempts(state, 10)).toBe(expected);
  },
);

it('ignores the confirmation of a key list while the device key cannot be opened', async () => {
  const { config, db } = platform;
  const { deviceId } = await createVehicle(db, await createApplication(db));
  const sealed = new Sealer([randomUUID()], 'device keys').seal(randomBytes(32), deviceKeyContext(deviceId, 1));
  await db.insertInto('device_key').values({ device_id: deviceId, sealed_key: sealed, list_version: 1 }).execute();
  const logger = createLogger('silent');
  const redis = connectRedis(config.REDIS_URL, logger);
  const events = openCommandEvents(redis, { config, logger }, { announceSoon: () => undefined });
  const context = { db, events, logger, sealer: await openSealer(config, 'device keys'), refused: new RefusedWork() };
  const text = JSON.stringify({ id: keyListAcknowledgementId(1), ok: true, mac: '00'.repeat(32) });
  await acknowledge(context, { deviceId, receivedAtMs: Date.now(), text });
  events.close();
  redis.disconnect();
  const states = db.selectFrom('device_key').select(['confirmed_version', 'refused_reason']);
  expect(await states.where('device_id', '=', deviceId).execute()).toEqual([
    { confirmed_version: 0, refused_reason: 'CONFIRMATION_MAC' },
  ]);
});

it('an acknowledgement is retried as long as the database is unavailable', async () => {
  expect(await failedAttempts('57P03', 20)).toBe(20);
});

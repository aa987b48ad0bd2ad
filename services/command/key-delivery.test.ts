import { randomBytes, randomUUID } from 'node:crypto';
import { keyListRetentionKey } from '@odograph/contracts/presence';
import { keyListChannel } from '@odograph/contracts/topics';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { deviceKeyContext, Sealer } from '@odograph/runtime/sealing';
import { DeviceMessenger } from '@odograph/sessions/presence';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  claimDue,
  markPublished,
  readList,
  republishAll,
  republishUnconfirmed,
  startKeyDelivery,
} from './key-delivery.ts';

const sealer = new Sealer([randomUUID()], 'device keys');
let deviceId: string;
let vehicleId: number;

const { config, db } = await usePlatform([]);
const addDevice = async () => {
  const vehicle = await createVehicle(db, await createApplication(db));
  ({ deviceId } = vehicle);
  vehicleId = Number(vehicle.id);
  const key = sealer.seal(randomBytes(32), deviceKeyContext(deviceId, 1));
  await db.insertInto('device_key').values({ device_id: deviceId, sealed_key: key, list_version: 1 }).execute();
};
beforeEach(addDevice);

/** Connects to Redis until the test ends. @returns its clients, and a function that starts key delivery */
function delivery() {
  const logger = createLogger('silent');
  const { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix } = config;
  const messenger = new DeviceMessenger(redisUrl, prefix, logger);
  const redis = connectRedis(redisUrl, logger);
  onTestFinished(() => {
    messenger.close();
    redis.disconnect();
  });
  return { messenger, redis, start: () => startKeyDelivery({ db, sealer, messenger, logger }, config) };
}

const claim = async (by: string, limit = 100) => (await claimDue(db, sealer, by, limit)).includes(deviceId);
const change = () =>
  sql`update device_key set list_version = list_version + 1 where device_id = ${deviceId}`.execute(db);
const stateOf = async () =>
  db
    .selectFrom('device_key')
    .select(['published_version', 'claim'])
    .where('device_id', '=', deviceId)
    .executeTakeFirstOrThrow();

describe('the claim of a due list', () => {
  it('belongs to one of many processes, and to another after it expires', async () => {
    const claims = await Promise.all([1, 2, 3, 4].map(() => claim(randomUUID())));
    expect(claims.filter(Boolean)).toHaveLength(1);
    await sql`update device_key set claimed_until = now() - interval '1 second'
      where device_id = ${deviceId}`.execute(db);
    expect(await claim(randomUUID())).toBe(true);
  });

  it('expires even if the clock of the database is set back', async () => {
    const claimUntil = (seconds: number) =>
      sql`update device_key set claimed_until = now() + make_interval(secs => ${seconds})
        where device_id = ${deviceId}`.execute(db);
    await claimUntil(15);
    expect(await claim(randomUUID())).toBe(false);
    await claimUntil(25);
    expect(await claim(randomUUID())).toBe(true);
  });

  it('is refused to a process that cannot open the key', async () => {
    expect((await claimDue(db, new Sealer(['another'], 'device keys'), randomUUID(), 100)).includes(deviceId)).toBe(
      false,
    );
    expect(await claim(randomUUID())).toBe(true);
  });

  it('ends with the publication; a change made in the meantime is due', async () => {
    const mine = randomUUID();
    await claim(mine);
    await change();
    await markPublished(db, deviceId, mine, 1);
    expect(await stateOf()).toEqual({ published_version: 1, claim: null });
    expect(await claim(mine)).toBe(true);
    await markPublished(db, deviceId, mine, 2);
    expect(await claim(mine)).toBe(false);
  });

  it('makes the newest list due again when it was lost to another process before the end', async () => {
    const [slow, quick] = [randomUUID(), randomUUID()];
    await claim(slow);
    await sql`update device_key set claimed_until = now() - interval '1 second'
      where device_id = ${deviceId}`.execute(db);
    await change();
    await claim(quick);
    await markPublished(db, deviceId, quick, 2);
    await markPublished(db, deviceId, slow, 1);
    expect(await stateOf()).toEqual({ published_version: 0, claim: null });
    expect(await claim(quick)).toBe(true);
  });

  it('does not outlive the broker that the list was published to', async () => {
    const mine = randomUUID();
    await claim(mine);
    await republishAll(db, sealer);
    await markPublished(db, deviceId, mine, 1);
    expect(await claim(randomUUID())).toBe(true);
  });
});

describe('a list', () => {
  it('that was published long ago and never confirmed is due again', async () => {
    const mine = randomUUID();
    await claim(mine);
    await markPublished(db, deviceId, mine, 1);
    await republishUnconfirmed(db);
    expect(await claim(mine)).toBe(false);
    await sql`update device_key set published_at = now() - interval '6 minutes'
      where device_id = ${deviceId}`.execute(db);
    await republishUnconfirmed(db);
    expect(await claim(mine)).toBe(true);
    await markPublished(db, deviceId, mine, 1);
    await sql`update device_key set confirmed_version = 1, published_at = now() - interval '6 minutes'
      where device_id = ${deviceId}`.execute(db);
    await republishUnconfirmed(db);
    expect(await claim(mine)).toBe(false);
  });

  it('is published once to a Redis that keeps it, although other lists become due', async () => {
    const { start, redis } = delivery();
    const stop = start();
    const subscribers = async () => (await redis.pubsub('NUMSUB', keyListChannel(config.QUEUE_PREFIX)))[1];
    await eventually(async () => expect(await subscribers()).toBe(1));
    const publishedAt = async (version: number) =>
      eventually(async () => {
        const { rows } = await sql<{
          at: Date;
          version: number;
        }>`select published_at as at, published_version as version
          from device_key where device_id = ${deviceId}`.execute(db);
        expect(rows[0]?.version).toBe(version);
        return rows[0]?.at;
      });
    const first = { deviceId, at: await publishedAt(1) };
    await addDevice();
    await publishedAt(1);
    await stop();
    ({ deviceId } = first);
    expect(await publishedAt(1)).toEqual(first.at);
  });

  it('is written before the delivery stops', async () => {
    const { start, redis, messenger } = delivery();
    const held = await db.startTransaction().execute();
    await sql`select from device_key where device_id = ${deviceId} for update`.execute(held);
    await eventually(() => redis.del(keyListRetentionKey(config.QUEUE_PREFIX)));
    const stop = start();
    await waitForLock(held);
    const stopped = stop();
    expect(await Promise.race([stopped, redis.ping()])).toBe('PONG');
    await held.rollback().execute();
    await stopped;
    expect(await messenger.keepsKeyLists()).toBe(true);
  });

  it('holds the revoked and suspended authorizations of the linked vehicle until 5 minutes after they expire, and no driver', async () => {
    const insert = async (until: string, revoked: string | null, suspended: string | null, vehicle = vehicleId) => {
      const { rows } = await sql<{ id: string; untilMs: number; suspendedMs: number | null }>`
        insert into bluetooth_authorization
          (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at, suspended_until)
        values (${vehicle}, 'somebody', 'DRIVE', now() - interval '1 day',
          date_trunc('milliseconds', now() + ${until}::interval), now() + ${revoked}::interval,
          date_trunc('milliseconds', now() + ${suspended}::interval))
        returning id, (extract(epoch from valid_until) * 1000)::bigint as "untilMs",
          (extract(epoch from suspended_until) * 1000)::bigint as "suspendedMs"`.execute(db);
      if (!rows[0]) throw new Error('it was inserted');
      return rows[0];
    };
    const revoked = await insert('1 hour', '-1 minute', null);
    const suspended = await insert('1 hour', null, '5 minutes');
    const both = await insert('2 hours', '-1 minute', '5 minutes');
    // A device whose clock is behind still accepts their tokens.
    const expired = await insert('-4 minutes', '-1 hour', null);
    const resumed = await insert('1 hour', null, '-4 minutes');
    await insert('-6 minutes', '-1 hour', null);
    await insert('1 hour', null, '-6 minutes');
    await insert('1 hour', null, null);
    const other = await createVehicle(db, await createApplication(db));
    await insert('1 hour', '-1 minute', null, Number(other.id));
    const { deviceKey, ...list } = (await readList(db, sealer, deviceId)) ?? {};
    expect(deviceKey).toHaveLength(32);
    expect(list).toEqual({
      ...{ version: 1, keyVersion: 1, epoch: 1, issuedAtMs: expect.any(Number) },
      authorizations: [
        { id: revoked.id, state: 'revoked', untilMs: revoked.untilMs },
        { id: suspended.id, state: 'suspended', untilMs: suspended.suspendedMs },
        { id: both.id, state: 'revoked', untilMs: both.untilMs },
        { id: expired.id, state: 'revoked', untilMs: expired.untilMs },
        { id: resumed.id, state: 'suspended', untilMs: resumed.suspendedMs },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    });
  });
});

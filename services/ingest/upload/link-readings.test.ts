import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { LinkCache } from './link-readings.ts';

const links = new LinkCache();

const platform = await usePlatform([]);
const vehicle = await createVehicle(platform.db, await createApplication(platform.db));

const find = () =>
  platform.db.transaction().execute(async (transaction) => {
    const { decisions: version } = await shareIngestBarrier(transaction);
    const found = await links.find(transaction, version, [vehicle.deviceId, 'unknown']);
    expect(found.get('unknown')).toEqual([]);
    return found.get(vehicle.deviceId);
  });

describe('cached links', () => {
  it.each([
    [
      'the start of a privacy interval',
      () => sql`insert into privacy_period values (${Number(vehicle.id)}, tstzrange(to_timestamp(1e9), null))`,
      () => [
        { vehicleId: Number(vehicle.id), privacyIntervals: [{ fromMicroseconds: 1e15, untilMicroseconds: Infinity }] },
      ],
    ],
    [
      'the end of a privacy interval',
      () => sql`update privacy_period set period = tstzrange(lower(period), to_timestamp(2e9))
        where vehicle_id = ${Number(vehicle.id)}`,
      () => [{ privacyIntervals: [{ fromMicroseconds: 1e15, untilMicroseconds: 2e15 }] }],
    ],
    [
      'the end of a link',
      () =>
        sql`update device_link set period = tstzrange(null, to_timestamp(3e8)) where device_id = ${vehicle.deviceId}`,
      () => [{ fromMicroseconds: -Infinity, untilMicroseconds: 3e14 }],
    ],
    [
      'a new link',
      () => sql`insert into device_link (device_id, vehicle_id, period)
        values (${vehicle.deviceId}, ${Number(vehicle.id)}, tstzrange(to_timestamp(4e8), null))`,
      () => [{ untilMicroseconds: 3e14 }, { fromMicroseconds: 4e14 }],
    ],
    [
      'the deletion of the vehicle',
      () => sql`update vehicle set deleted_at = now() where id = ${Number(vehicle.id)}`,
      () => [],
    ],
  ])('reflect %s, whichever statement changes it', async (_change, statement, expected) => {
    await find();
    await statement().execute(platform.db);
    const found = [...((await find()) ?? [])].sort((a, b) => a.fromMicroseconds - b.fromMicroseconds);
    expect(found).toMatchObject(expected());
  });
});

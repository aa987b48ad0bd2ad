import { createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';

setUpVehicle();

const since = Date.parse('2025-01-21T08:00:00Z');

beforeEach(async () => {
  const gaps = JSON.stringify([{ from: 5, until: 9, sinceMs: since }]);
  await sql`insert into device_sequence (device_id, received, gaps, open_gaps, missing_readings)
    values (${vehicle.deviceId}, '{[1,4],[10,12]}', ${gaps}, 1, 5)`.execute(platform.db);
  await sql`insert into closed_gap (device_id, from_sequence, until_sequence, since, closed_at, outcome)
    select ${vehicle.deviceId}, age, age, now() - make_interval(days => age), now() - make_interval(days => age) / 2, 'ARRIVED'
    from unnest('{2, 4, 40}'::int[]) as age`.execute(platform.db);
});

const path = () => `/v1/x/vehicle/${vehicle.id}/gaps`;
const froms = (body: { gaps: { fromSequence: number }[] }) => body.gaps.map(({ fromSequence }) => fromSequence);

describe('GET /v1/x/vehicle/{id}/gaps', () => {
  it('lists open gaps, then gaps closed in the last days, newest first', async () => {
    const { body } = await client.get(path());
    expect(body.gaps[0]).toEqual({
      deviceId: vehicle.deviceId,
      fromSequence: 5,
      untilSequence: 9,
      missing: 5,
      state: 'OPEN',
      since: '2025-01-21T08:00:00.000Z',
    });
    expect(body.gaps[1]).toMatchObject({ fromSequence: 2, missing: 1, state: 'ARRIVED', closedAt: expect.any(String) });
    expect(froms(body)).toEqual([5, 2, 4]);
    expect(froms((await client.get(`${path()}?days=1`)).body)).toEqual([5]);
    expect(froms((await client.get(`${path()}?days=30`)).body)).toEqual([5, 2, 4, 40]);
  });

  it('lists only gaps detected while the device was linked to the vehicle', async () => {
    const other = await createVehicle(platform.db, application);
    await sql`delete from device_link where device_id = ${other.deviceId}`.execute(platform.db);
    await sql`update device_link set period = tstzrange(null, now() - interval '3 days')
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    await sql`insert into device_link (device_id, vehicle_id, period)
      values (${vehicle.deviceId}, ${Number(other.id)}, tstzrange(now() - interval '3 days', null))`.execute(
      platform.db,
    );
    expect(froms((await client.get(path())).body)).toEqual([5, 4]);
    expect(froms((await client.get(`/v1/x/vehicle/${other.id}/gaps`)).body)).toEqual([2]);
  });

  it('answers an empty list for a device without sequence numbers', async () => {
    const silent = await createVehicle(platform.db, application);
    expect((await client.get(`/v1/x/vehicle/${silent.id}/gaps`)).body).toEqual({ gaps: [] });
  });

  it('names days when it is malformed', async () => {
    for (const days of ['-1', '31', 'x']) {
      const { status, body } = await client.get(`${path()}?days=${days}`);
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'days']);
    }
  });
});

describe('GET /v1/x/vehicle/{id}/breaks', () => {
  const read = async (from: string, until: string) =>
    (await client.get(`/v1/x/vehicle/${vehicle.id}/breaks?from=${from}&until=${until}`)).body;
  const store = (seconds: number, sequence: number) =>
    sql`insert into reading (time, application_id, vehicle_id, device_id, sequence, received_at)
      values (to_timestamp(${since / 1000 + seconds}), ${application.id}, ${Number(vehicle.id)}, ${vehicle.deviceId},
        ${sequence}, now())`.execute(platform.db);

  it('places a gap between its neighbours in the sequence, and lists privacy intervals', async () => {
    for (const [seconds, sequence] of [
      [-60, 3],
      [-50, 4],
      [-5, 10],
      [-1, 11],
      [20, 12],
    ] as const) {
      await store(seconds, sequence);
    }
    await sql`insert into privacy_period values
      (${Number(vehicle.id)}, tstzrange('2025-01-21T06:00:00Z', '2025-01-21T07:00:00Z')),
      (${Number(vehicle.id)}, tstzrange('2025-01-21T09:00:00Z', null))`.execute(platform.db);
    const gap = { kind: 'GAP', from: '2025-01-21T07:59:10.000Z', until: '2025-01-21T07:59:55.000Z', missing: 5 };
    const first = { kind: 'PRIVACY', from: '2025-01-21T06:00:00.000Z', until: '2025-01-21T07:00:00.000Z' };
    const last = { kind: 'PRIVACY', from: '2025-01-21T09:00:00.000Z' };
    expect(await read('2025-01-21', '2025-01-22')).toEqual({ breaks: [first, gap, last] });
    expect(await read('2025-01-21T07:30:00Z', '2025-01-21T08:30:00Z')).toEqual({ breaks: [gap] });
    expect(await read('2025-01-21T07:00:00Z', '2025-01-21T07:30:00Z')).toEqual({ breaks: [] });
  });

  it('leaves out a gap that arrived, and one whose neighbours are not known', async () => {
    expect(await read('2025-01-21', '2025-01-22')).toEqual({ breaks: [] });
    const now = Math.floor(Date.now() / 1000);
    expect(await read(String(now - 7 * 86_400), String(now))).toEqual({ breaks: [] });
  });
});

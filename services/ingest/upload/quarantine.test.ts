import { randomUUID } from 'node:crypto';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { deleteOldQuarantine } from '../maintenance/policies.ts';
import { ingestService } from '../service.ts';
import { openIngest, upload } from './uploads.fixture.ts';

const quota = 20;
const start = 1_750_000_000;

const platform = await usePlatform(
  [ingestService],
  {},
  { maxQuarantinedUploadsPerHour: quota, maxUploadDelaySeconds: 1 },
);
const queue = openIngest(platform);
afterAll(() => queue.close());

const reading = (second: number, mileage = 1) => ({ timestamp: start + second, status: { mileage } });

const ingest = (...uploads: QueuedUpload[]) => queue.ingest(...uploads);

async function rowsOf(deviceId: string) {
  const { rows } = await sql<{ bytes: number; reason: string; seen: number }>`
    select payload_bytes as bytes, faults->0->>'reason' as reason, times_seen as seen from quarantine
    where device_id = ${deviceId} order by payload_bytes desc, id`.execute(platform.db);
  return rows;
}

describe('the quarantine quota', () => {
  it('keeps a bounded number of uploads of a device in an hour and counts the others in one row', async () => {
    const [noisy, quiet] = [await createDevice(platform.db), await createDevice(platform.db)];
    const garbage = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => upload(noisy.deviceId, `{"n":${from + index}`));
    await ingest(...garbage(0, 15), upload(quiet.deviceId, '{'));
    await ingest(...garbage(15, 15));
    await ingest(...garbage(30, 200), upload(quiet.deviceId, '['));
    const rows = await rowsOf(noisy.deviceId);
    expect(rows).toHaveLength(quota + 1);
    expect(rows.at(-1)).toEqual({ bytes: 0, reason: 'QUOTA_EXCEEDED', seen: 230 - quota });
    expect(await rowsOf(quiet.deviceId)).toHaveLength(2);
  });

  it('does not apply to valid readings', async () => {
    const vehicle = await createVehicle(platform.db, await createApplication(platform.db));
    await ingest(...Array.from({ length: 2 * quota }, (_, n) => upload(vehicle.deviceId, `{"n":${n}`)));
    await ingest(upload(vehicle.deviceId, [reading(1), { timestamp: 'never' }]));
    const { rows } = await sql`select from reading where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toHaveLength(1);
  });
});

describe('invalid values', () => {
  const wrong = (second: number, mileage: unknown) => ({ ...reading(second), status: { mileage, ignition: true } });
  const partialRows = async (deviceId: string) => {
    const { rows } = await sql<{ id: string; fields: string[]; seen: number; resolved: boolean; partial: boolean }>`
      select id::text, jsonb_path_query_array(faults, '$[*].field') as fields, times_seen as seen,
        resolved_at is not null as resolved, is_partial as partial
      from quarantine where device_id = ${deviceId} order by id`.execute(platform.db);
    return rows;
  };
  const readingsOf = async ({ id }: TestVehicle) => {
    const { rows } = await sql<{ ignition: boolean | null; mileage: number | null }>`
      select ignition, mileage from reading_in_units where vehicle_id = ${Number(id)} order by time`.execute(
      platform.db,
    );
    return rows;
  };
  const create = async () => createVehicle(platform.db, await createApplication(platform.db));

  it('leave their readings stored, and add one row for each device, field and reason a day, which counts', async () => {
    const [vehicle, other] = [await create(), await create()];
    const { deviceId } = vehicle;
    const many = Array.from({ length: 3 * quota }, (_, n) => upload(deviceId, wrong(n, `${n}`)));
    await ingest(...many.slice(0, quota), upload(other.deviceId, wrong(0, 'x')));
    await ingest(...many.slice(quota));
    const can = [
      { key: 'a', value: 1 },
      { key: 'b', value: 'kept' },
      { key: 'c', value: 2 },
    ];
    await ingest(upload(deviceId, [{ ...wrong(1000, 'x'), can }, reading(1001)]));
    expect(await partialRows(deviceId)).toMatchObject([
      { fields: ['status.mileage'], seen: 3 * quota + 1, resolved: false, partial: true },
      { fields: ['can.0.value', 'can.2.value'], seen: 1, partial: true },
    ]);
    expect(await partialRows(other.deviceId)).toMatchObject([{ fields: ['status.mileage'], seen: 1 }]);
    const stored = await readingsOf(vehicle);
    expect(stored).toHaveLength(3 * quota + 2);
    expect(stored[0]).toEqual({ ignition: true, mileage: null });
  });

  it('do not count against the quarantine quota', async () => {
    const { deviceId } = await create();
    await ingest(...Array.from({ length: quota }, (_, n) => upload(deviceId, wrong(n, `${n}`))));
    await ingest(...Array.from({ length: quota }, (_, n) => upload(deviceId, `{"n":${n}`)));
    const rows = await rowsOf(deviceId);
    expect(rows.filter(({ reason }) => reason === 'NOT_JSON')).toHaveLength(quota);
    expect(rows.filter(({ reason }) => reason === 'QUOTA_EXCEEDED')).toEqual([]);
  });

  it('raise no event of a quarantined upload', async () => {
    const { deviceId } = await create();
    await ingest(upload(deviceId, wrong(0, 'x')), upload(deviceId, '{'));
    const { rows } = await sql<{ partial: boolean }>`select is_partial as partial from quarantine
      join event on event.subject = quarantine.id::text and event.type = 'upload.quarantined'
      where device_id = ${deviceId}`.execute(platform.db);
    expect(rows).toEqual([{ partial: false }]);
  });

  it('stay on their own row when a replay fails again, and resolve it once they can be decoded', async () => {
    const vehicle = await create();
    const { deviceId } = vehicle;
    await ingest(upload(deviceId, wrong(0, 'x')));
    const [row] = await partialRows(deviceId);
    const replay = (text: string) => ingest({ ...upload(deviceId, text), quarantineId: row?.id ?? '' });
    await replay(JSON.stringify(wrong(0, 'x')));
    expect(await partialRows(deviceId)).toEqual([{ ...row, seen: 2 }]);
    await replay('{');
    expect(await partialRows(deviceId)).toEqual([{ ...row, fields: [], seen: 3, partial: false }]);
    // As in a version that can decode the value.
    await replay(JSON.stringify(wrong(0, 12)));
    expect(await partialRows(deviceId)).toMatchObject([{ id: row?.id, resolved: true }]);
    expect(await readingsOf(vehicle)).toEqual([{ ignition: true, mileage: 12 }]);
  });

  it('make the row of a replayed upload partial when the rest of the upload is stored', async () => {
    const device = await createDevice(platform.db);
    const text = JSON.stringify(wrong(0, 'x'));
    await ingest(upload(device.deviceId, text));
    const [row] = await partialRows(device.deviceId);
    expect(row).toMatchObject({ partial: false, fields: ['status.mileage'] });
    const vehicle = await create();
    await sql`update device_link
      set device_id = ${device.deviceId} where device_id = ${vehicle.deviceId}`.execute(platform.db);
    await ingest({ ...upload(device.deviceId, text), quarantineId: row?.id ?? '' });
    expect(await partialRows(device.deviceId)).toEqual([{ ...row, partial: true, seen: 2 }]);
    expect(await readingsOf(vehicle)).toEqual([{ ignition: true, mileage: null }]);
    // The same bytes again, of which nothing can be stored now.
    await sql`delete from device_link where device_id = ${device.deviceId}`.execute(platform.db);
    await ingest(upload(device.deviceId, text));
    expect(await partialRows(device.deviceId)).toEqual([{ ...row, partial: false, seen: 3 }]);
  });
});

describe('a dismissed upload', () => {
  it('is no longer dismissed once it is received again, or stored by a replay', async () => {
    const vehicle = await createVehicle(platform.db, await createApplication(platform.db));
    const { deviceId } = vehicle;
    const dismiss = async () => {
      const { rows } = await sql<{ id: string }>`update quarantine set resolved_at = now(), dismissed_reason = 'a test'
        where device_id = ${deviceId} returning id::text`.execute(platform.db);
      return rows[0]?.id ?? '';
    };
    const stateOf = async () => {
      const { rows } = await sql`select resolved_at is not null as resolved, dismissed_reason as reason
        from quarantine where device_id = ${deviceId}`.execute(platform.db);
      return rows;
    };
    await ingest(upload(deviceId, '{'));
    const quarantineId = await dismiss();
    await ingest(upload(deviceId, '{'));
    expect(await stateOf()).toEqual([{ resolved: false, reason: null }]);
    await dismiss();
    await ingest({ ...upload(deviceId, '['), quarantineId });
    expect(await stateOf()).toEqual([{ resolved: false, reason: null }]);
    await dismiss();
    await ingest({ ...upload(deviceId, [reading(1)]), quarantineId });
    expect(await stateOf()).toEqual([{ resolved: true, reason: null }]);
  });
});

describe('the retention of quarantine', () => {
  it('deletes uploads by their age, resolved or not', async () => {
    const device = await createDevice(platform.db);
    await ingest(upload(device.deviceId, '{"old"'), upload(device.deviceId, '{"new"'));
    await sql`update quarantine set received_at = now() - interval '3650 days'
      where device_id = ${device.deviceId} and id = (select min(id) from quarantine
      where device_id = ${device.deviceId})`.execute(platform.db);
    expect(await deleteOldQuarantine(platform.db, 3600)).toBe(1);
    expect(await rowsOf(device.deviceId)).toHaveLength(1);
  });
});

describe('a database error', () => {
  let vehicle: TestVehicle;
  const suffix = randomUUID().slice(0, 8);

  /**
   * Makes PostgreSQL raise an SQLSTATE for a mileage of 666 of the vehicle. A trigger, since TimescaleDB cannot check a
   * constraint with a function on the chunks that other tests have compressed.
   */
  async function failWith(state: string): Promise<void> {
    vehicle = await createVehicle(platform.db, await createApplication(platform.db));
    await sql`create or replace function public.${sql.ref(`fail_${suffix}`)}() returns trigger language plpgsql
      as ${sql.lit(`begin raise exception 'test' using errcode = '${state}'; end`)}`.execute(platform.db);
    await sql`create trigger ${sql.ref(`fail_${suffix}`)} before insert on reading for each row
      when (new.vehicle_id = ${sql.lit(Number(vehicle.id))} and new.mileage_metres = 666000)
      execute function public.${sql.ref(`fail_${suffix}`)}()`.execute(platform.db);
  }
  const recover = () => sql`drop trigger if exists ${sql.ref(`fail_${suffix}`)} on reading`.execute(platform.db);
  afterEach(recover);

  const count = async () => {
    const { rows } = await sql`select from reading where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    return rows.length;
  };

  it.each(['53200', '54000', '22003'])(
    'for the values or size of a statement (%s) quarantines only the reading at fault',
    async (state) => {
      await failWith(state);
      const readings = Array.from({ length: 9 }, (_, n) => reading(n, n === 5 ? 666 : 1));
      await ingest(upload(vehicle.deviceId, readings), upload(vehicle.deviceId, reading(20)));
      expect(await count()).toBe(9);
      expect(await rowsOf(vehicle.deviceId)).toMatchObject([{ reason: 'NOT_STORABLE' }]);
    },
  );

  it('without an explanation (XX000) is retried, and then quarantines only the reading at fault', async () => {
    await failWith('XX000');
    const job = await queue.addJob(
      upload(vehicle.deviceId, [reading(0), reading(1, 666), reading(2)]),
      upload(vehicle.deviceId, reading(20)),
    );
    await queue.processed(job, 60_000);
    expect(await count()).toBe(3);
    expect(await rowsOf(vehicle.deviceId)).toMatchObject([{ reason: 'NOT_STORABLE' }]);
  });

  it('leaves a replayed upload unresolved as long as one of its readings cannot be stored', async () => {
    await failWith('22003');
    const payload = JSON.stringify([reading(0, 666), reading(1), reading(2)]);
    await ingest(upload(vehicle.deviceId, payload));
    const row = async () => {
      const { rows } = await sql<{ id: string; resolved: boolean }>`select id::text, resolved_at is not null as resolved
        from quarantine where device_id = ${vehicle.deviceId}`.execute(platform.db);
      return rows[0];
    };
    const quarantineId = (await row())?.id ?? '';
    await ingest({ ...upload(vehicle.deviceId, payload), quarantineId });
    expect(await row()).toEqual({ id: quarantineId, resolved: false });
    await recover();
    await ingest({ ...upload(vehicle.deviceId, payload), quarantineId });
    expect(await row()).toEqual({ id: quarantineId, resolved: true });
  });

  it('of an outage is retried, and /health fails while an upload waits for too long', async () => {
    const health = () => platform.anonymous.get('/health');
    await failWith('57P03');
    expect((await health()).status).toBe(200);
    const jobId = await queue.addJob(upload(vehicle.deviceId, reading(0, 666)));
    await eventually(async () => {
      const { status, body } = await health();
      expect([status, body.services.ingest.ok]).toEqual([503, false]);
    });
    await recover();
    await queue.processed(jobId);
    expect((await health()).status).toBe(200);
    expect(await count()).toBe(1);
    expect(await rowsOf(vehicle.deviceId)).toEqual([]);
  });
});

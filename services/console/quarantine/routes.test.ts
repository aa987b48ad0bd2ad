import { randomUUID } from 'node:crypto';
import type { UploadBatch } from '@odograph/contracts/queues';
import { openQueue } from '@odograph/queue/queues';
import { openSealer, quarantineContext, Sealer } from '@odograph/runtime/sealing';
import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { consoleService } from '../service.ts';

const path = '/v1/x/admin/quarantine';
const receivedAt = new Date('2026-01-02T03:04:05.678Z');

const platform = await usePlatform([consoleService]);
const sealer = await openSealer(platform.config, 'quarantine');
const { admin } = platform;
const queue = openQueue('uploads', { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX });
await queue.waitUntilReady();
afterAll(() => queue.close());
beforeEach(() => queue.drain());

async function quarantine(
  payload: Buffer,
  resolvedAt: Date | null = null,
  deviceId = `test-${randomUUID()}`,
): Promise<{ id: string; deviceId: string }> {
  const { id } = await platform.db
    .insertInto('quarantine')
    .values({
      device_id: deviceId,
      received_at: receivedAt,
      payload_bytes: payload.length,
      sealed_payload: sealer.seal(payload, quarantineContext(deviceId)),
      payload_fingerprint: sealer.fingerprint(payload),
      faults: JSON.stringify([
        { index: 0, reason: 'INVALID_FIELD', field: 'location', message: 'location is malformed' },
      ]),
      resolved_at: resolvedAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id: String(id), deviceId };
}

async function queued(): Promise<UploadBatch[]> {
  return (await queue.getWaiting()).map(({ data }) => data);
}

describe('/v1/x/admin/quarantine', () => {
  it('opens the payload of an upload and records the access in the audit', async () => {
    const payload = Buffer.from([0x7b, 0xff, 0x00]);
    const { id, deviceId } = await quarantine(payload);
    const opened = await admin.post(`${path}/${id}/open`);
    expect(opened.body).toEqual({ id, deviceId, base64: payload.toString('base64'), readings: [] });
    const { rows } = await sql`select actor, address, details from audit
      where action = 'quarantine.open' and subject = ${`quarantine:${id}`}`.execute(platform.db);
    expect(rows).toEqual([{ actor: 'operator', address: '127.0.0.1', details: { deviceId } }]);
    expect((await admin.post(`${path}/999999999/open`)).body.error).toBe('NOT_FOUND');
  });

  it('refuses to open an upload that may hold readings of a vehicle outside the applications of the operator', async () => {
    const [before, now] = [await createApplication(platform.db), await createApplication(platform.db)];
    const { deviceId } = await createVehicle(platform.db, now);
    const elsewhere = await createVehicle(platform.db, before);
    await sql`update device_link set period = tstzrange('2026-01-01', null)
      where device_id = ${deviceId}`.execute(platform.db);
    await sql`update device_link set device_id = ${deviceId}, period = tstzrange(null, '2025-12-01')
      where device_id = ${elsewhere.deviceId}`.execute(platform.db);
    const operatorOf = async ({ id }: TestApplication) => {
      const { cookie } = await createOperator(platform.db, { applicationIds: [id] });
      const client = createApiClient(platform.httpUrl, { cookie, origin: new URL(platform.httpUrl).origin });
      return async (upload: { id: string }) =>
        (await client.post(`${path}/${upload.id}/open`, { id: upload.id })).status;
    };
    const open = await operatorOf(now);
    const payload = (...readings: unknown[]) => Buffer.from(JSON.stringify(readings));
    const at = (time: string) => ({
      timestamp: Date.parse(time) / 1000,
      location: { latitude: 48.85, longitude: 2.35 },
    });
    const gap = at('2025-12-15T00:00:00Z');
    const secret = [
      payload(gap, at('2025-11-15T00:00:00Z')),
      payload(gap, { ...gap, timestamp: 'never' }),
      Buffer.from('{"lat'),
    ];
    for (const one of secret) {
      const upload = await quarantine(one, null, deviceId);
      expect(await open(upload)).toBe(403);
      expect((await admin.post(`${path}/${upload.id}/open`)).status).toBe(200);
    }
    expect(await open(await quarantine(payload(gap, at('2026-01-02T00:00:00Z')), null, deviceId))).toBe(200);
  });

  it('lists uploads with their faults page by page, and one by id, without the payload', async () => {
    const payload = Buffer.from('{"location":{"latitude":"48.8566"}}');
    const { id, deviceId } = await quarantine(payload);
    const { id: second } = await quarantine(Buffer.from([1, 2, 3]), receivedAt);
    const described = {
      id,
      deviceId,
      receivedAt: receivedAt.toISOString(),
      format: 'native',
      bytes: payload.length,
      partial: false,
      faults: [{ index: 0, reason: 'INVALID_FIELD', field: 'location', message: 'location is malformed' }],
      timesSeen: 1,
      resolvedAt: null,
      dismissedReason: null,
    };
    const page = await admin.get(`${path}?after=${Number(id) - 1}&limit=1`);
    expect(page.body).toEqual({ quarantine: [described] });
    expect((await admin.get(`${path}/${id}`)).body).toEqual(described);
    const next = await admin.get(`${path}?after=${id}`);
    expect(next.body.quarantine[0]).toMatchObject({ id: second, resolvedAt: receivedAt.toISOString() });
    expect(JSON.stringify([page.body, next.body])).not.toContain('48.8566');
  });

  it('lists the newest first, and by device, reason, vehicle and whether they are open', async () => {
    const vehicle = await createVehicle(platform.db, await createApplication(platform.db));
    const first = await quarantine(Buffer.from('first'));
    const second = await quarantine(Buffer.from('second'), receivedAt);
    await sql`update quarantine set device_id = ${vehicle.deviceId}, faults = '[{"index":null,"reason":"DEVICE_NOT_LINKED"}]'
      where id = ${second.id}::bigint`.execute(platform.db);
    const ids = async (query: string) =>
      (await admin.get(`${path}?${query}`)).body.quarantine.map(({ id }: { id: string }) => id);
    expect(await ids('order=newest&limit=2')).toEqual([second.id, first.id]);
    expect(await ids(`order=newest&limit=1&after=${second.id}`)).toEqual([first.id]);
    expect(await ids(`deviceId=${first.deviceId}`)).toEqual([first.id]);
    expect(await ids(`deviceId=${first.deviceId}&open=false`)).toEqual([]);
    expect(await ids(`reason=DEVICE_NOT_LINKED&after=${Number(first.id) - 1}`)).toEqual([second.id]);
    expect(await ids(`vehicleId=${vehicle.id}`)).toEqual([second.id]);
    await sql`update device_link set period = tstzrange('2026-03-01', null)
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    expect(await ids(`vehicleId=${vehicle.id}`)).toEqual([second.id]);
    const other = await createVehicle(platform.db, await createApplication(platform.db));
    await sql`update device_link set device_id = ${vehicle.deviceId}, period = tstzrange(null, '2026-03-01')
      where device_id = ${other.deviceId}`.execute(platform.db);
    expect(await ids(`vehicleId=${vehicle.id}`)).toEqual([]);
    expect(await ids(`vehicleId=${other.id}`)).toEqual([second.id]);
    expect((await admin.get(`${path}?vehicleId=1`)).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('counts open uploads by the reasons of their faults', async () => {
    const { id, deviceId } = await quarantine(Buffer.from('counted'));
    const reason = `REASON_${id}`;
    const faults = [
      { index: 0, reason },
      { index: 1, reason },
    ];
    await sql`update quarantine set faults = ${JSON.stringify(faults)}::jsonb
      where id = ${id}::bigint`.execute(platform.db);
    const counted = { reason, uploads: 1, devices: 1, newestAt: receivedAt.toISOString() };
    expect((await admin.get(`${path}/reasons`)).body.reasons).toContainEqual(counted);
    await sql`update quarantine set resolved_at = now() where device_id = ${deviceId}`.execute(platform.db);
    expect((await admin.get(`${path}/reasons`)).body.reasons).not.toContainEqual(counted);
  });

  it('answers NOT_FOUND for an id that does not exist, 401 without the admin token', async () => {
    for (const id of ['999999999999', 'none', '0', '%00', '9'.repeat(40)]) {
      expect((await admin.get(`${path}/${id}`)).body.error).toBe('NOT_FOUND');
    }
    for (const answer of [
      await platform.anonymous.get(path),
      await platform.anonymous.post(`${path}/replay`, { all: true }),
    ]) {
      expect(answer.status).toBe(401);
    }
  });

  it('replays the given uploads byte for byte with their original receive time and quarantine id', async () => {
    const [text, bytes] = [Buffer.from('\ufeff{"é":1}'), Buffer.from([0xff, 0x00, 0x80])];
    const [first, second] = [await quarantine(text), await quarantine(bytes, receivedAt)];
    const { status, body } = await admin.post(`${path}/replay`, { ids: [second.id, first.id, first.id] });
    expect([status, body]).toEqual([200, { replayed: 2 }]);
    const origin = { receivedAtMs: receivedAt.getTime(), format: 'native' };
    expect(await queued()).toEqual([
      {
        uploads: [
          { ...origin, deviceId: first.deviceId, quarantineId: first.id, text: text.toString() },
          { ...origin, deviceId: second.deviceId, quarantineId: second.id, base64: bytes.toString('base64') },
        ],
        devices: 2,
        bytes: text.length + bytes.length,
      },
    ]);
  });

  it('replays all unresolved uploads and no others, in jobs of bounded size', async () => {
    const resolved = await quarantine(Buffer.from('resolved'), receivedAt);
    const open = [];
    for (let index = 0; index < 70; index += 1) open.push((await quarantine(Buffer.from(`open ${index}`))).id);
    const { body } = await admin.post(`${path}/replay`, { all: true });
    const batches = await queued();
    const ids = batches.flatMap(({ uploads }) => uploads.map(({ quarantineId }) => quarantineId));
    expect(body.replayed).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(open));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(resolved.id);
    expect(Math.max(...batches.map(({ uploads }) => uploads.length))).toBeLessThanOrEqual(32);
  });

  it('replays no row that only counts uploads beyond the quota', async () => {
    const [counted, kept] = [await quarantine(Buffer.alloc(0)), await quarantine(Buffer.from('kept'))];
    const { body } = await admin.post(`${path}/replay`, { ids: [counted.id, kept.id] });
    expect(body).toEqual({ replayed: 1 });
    expect((await queued()).flatMap(({ uploads }) => uploads.map(({ quarantineId }) => quarantineId))).toEqual([
      kept.id,
    ]);
  });

  it('skips uploads sealed with a dropped key and replays the others', async () => {
    const { deviceId } = await quarantine(Buffer.from('{"timestamp":7}'));
    const lost = await quarantine(Buffer.from('{"timestamp":8}'));
    const sealed = new Sealer(['a key that was lost'], 'quarantine').seal(
      Buffer.from('x'),
      quarantineContext(lost.deviceId),
    );
    await platform.db
      .updateTable('quarantine')
      .set({ sealed_payload: sealed })
      .where('id', '=', Number(lost.id))
      .execute();
    expect((await admin.post(`${path}/replay`, { all: true })).status).toBe(200);
    const devices = (await queued()).flatMap(({ uploads }) => uploads.map((upload) => upload.deviceId));
    expect(devices).toContain(deviceId);
    expect(devices).not.toContain(lost.deviceId);
  });

  it('dismisses uploads with a reason, audited once, and leaves them out of a replay of all', async () => {
    const { id } = await quarantine(Buffer.from('hopeless'));
    const dismiss = () => admin.post(`${path}/dismiss`, { ids: [id], reason: 'test device' });
    expect([(await dismiss()).body, (await dismiss()).body]).toEqual([{ dismissed: 1 }, { dismissed: 0 }]);
    const { body } = await admin.get(`${path}/${id}`);
    expect(body).toMatchObject({ dismissedReason: 'test device', resolvedAt: expect.any(String) });
    const { rows } = await sql`select details from audit
      where action = 'quarantine.dismiss' and subject = ${`quarantine:${id}`}`.execute(platform.db);
    expect(rows).toEqual([{ details: { reason: 'test device' } }]);
    await admin.post(`${path}/replay`, { all: true });
    expect((await queued()).flatMap(({ uploads }) => uploads.map(({ quarantineId }) => quarantineId))).not.toContain(
      id,
    );
    expect((await admin.post(`${path}/dismiss`, { ids: [id] })).body.field).toBe('reason');
    expect((await admin.post(`${path}/dismiss`, { ids: ['999999999999'], reason: 'x' })).status).toBe(404);
  });

  it('replays nothing when an id does not exist, and names malformed parameters', async () => {
    const { id } = await quarantine(Buffer.from('kept'));
    const missing = await admin.post(`${path}/replay`, { ids: [id, '999999999999'] });
    expect([missing.status, missing.body.error]).toEqual([404, 'NOT_FOUND']);
    for (const body of [{}, { ids: [id], all: true }, { ids: [] }, { ids: ['x'] }, { ids: 'x' }, { all: false }]) {
      const answer = await admin.post(`${path}/replay`, body);
      expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_PARAMETER']);
      expect(answer.body.field).toMatch(/^(ids|all)/);
    }
    expect(await queued()).toEqual([]);
  });
});

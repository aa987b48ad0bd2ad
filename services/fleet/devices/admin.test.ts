import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { hashSecret } from '@odograph/runtime/secrets';
import { createBrowser } from '@odograph/testkit/api-client';
import {
  createApplication,
  createImei,
  createOperator,
  createUnlinkedVehicle,
  createVehicle,
} from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { maxLines } from '../common/csv-import.ts';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, as } = await startFleet();
const { db } = platform;
const newId = () => `test-${randomUUID()}`;
const newVehicle = async (appId = application.appId): Promise<string> =>
  (await admin.post('/v1/x/admin/vehicles', { appId, plate: randomUUID().slice(0, 20) })).body.id;
const newDevice = async (more: object = {}): Promise<string> =>
  (await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic', ...more })).body.deviceId;

describe('/v1/x/admin/devices', () => {
  it.each([
    ['id', { id: 'a/b' }],
    ['id', { id: 'a+' }],
    ['id', { id: '' }],
    ['id', { id: 'odograph-command' }],
    ['model', { model: 'none' }],
    ['model', { model: undefined }],
  ])('names %s if a device is malformed', async (field, change) => {
    const { status, body } = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic', ...change });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('lists the device models if a device names an unknown one', async () => {
    const { body } = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'none' });
    expect(body.message).toMatch(/^model must be a device model: .*generic.*obd.*tracker/);
  });

  it('creates a device once, stores only the hash of its secret, and rolls back if its vehicle is linked', async () => {
    const vehicleId = await newVehicle();
    const id = newId();
    const { body } = await admin.post('/v1/x/admin/devices', { id, model: 'obd', vehicleId });
    const row = await db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ model_id: 'obd', application_id: application.id });
    expect(row.secret_sha256).toEqual(hashSecret(body.secret));
    expect(JSON.stringify((await admin.get(`/v1/x/admin/devices?appId=${application.appId}`)).body)).not.toContain(
      body.secret,
    );
    const refused = async (device: object) =>
      (await admin.post('/v1/x/admin/devices', { model: 'generic', ...device })).body.error;
    expect((await admin.post('/v1/x/admin/devices', { id, model: 'generic' })).body).toEqual({
      error: 'ALREADY_EXISTS',
      message: 'there is a device with this id already',
    });
    const second = newId();
    expect(await refused({ id: second, vehicleId })).toBe('VEHICLE_ALREADY_LINKED');
    expect(await refused({ id: second, vehicleId: '1999999999' })).toBe('UNKNOWN_VEHICLE');
    expect(
      (await admin.get(`/v1/x/admin/devices?after=${second.slice(0, -1)}&limit=1`)).body.devices[0]?.deviceId,
    ).not.toBe(second);
  });

  it('replaces a secret and notifies the brokers', async () => {
    const id = await newDevice();
    const redis = connectRedis(platform.config.REDIS_URL, createLogger('silent'));
    await once(redis, 'ready');
    await redis.subscribe(deviceRevokedChannel(platform.config.QUEUE_PREFIX));
    const notified = once(redis, 'message');
    const { body } = await admin.post(`/v1/x/admin/devices/${id}/secret`);
    expect((await notified)[1]).toBe(id);
    redis.disconnect();
    const row = await db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row.secret_sha256).toEqual(hashSecret(body.secret));
    expect((await admin.post('/v1/x/admin/devices/none/secret')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('keeps the old secret valid during the overlap', async () => {
    const id = await newDevice();
    const rowOf = () => db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const old = (await rowOf()).secret_sha256;
    const { body } = await admin.post(`/v1/x/admin/devices/${id}/secret`, { overlapSeconds: 3600 });
    const row = await rowOf();
    expect([row.secret_sha256, row.previous_secret_sha256]).toEqual([hashSecret(body.secret), old]);
    expect(Math.abs((row.previous_secret_until?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(10_000);
    await admin.post(`/v1/x/admin/devices/${id}/secret`);
    expect(await rowOf()).toMatchObject({ previous_secret_sha256: null, previous_secret_until: null });
    for (const overlapSeconds of [-1, 0.5, 30 * 86_400 + 1, 'x']) {
      const { status, body: failure } = await admin.post(`/v1/x/admin/devices/${id}/secret`, { overlapSeconds });
      expect([status, failure.field]).toEqual([400, 'overlapSeconds']);
    }
  });

  it('revokes the certificates issued before now', async () => {
    const id = await newDevice();
    expect((await admin.delete(`/v1/x/admin/devices/${id}/certificates`)).status).toBe(200);
    const row = await db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(Math.abs((row.certificates_issued_from?.getTime() ?? 0) - Date.now())).toBeLessThan(10_000);
    expect((await admin.delete('/v1/x/admin/devices/none/certificates')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('links, moves and unlinks a device by the rules of /v1/device', async () => {
    const [first, second] = [await newVehicle(), await newVehicle()];
    const foreign = await newVehicle((await createApplication(db)).appId);
    const link = `/v1/x/admin/devices/${await newDevice()}/link`;
    const linkedVehicles = async () => {
      const { body } = await admin.get(`/v1/x/admin/vehicles?appId=${application.appId}&after=${Number(first) - 1}`);
      return body.vehicles
        .filter((vehicle: { deviceId: unknown }) => vehicle.deviceId)
        .map(({ id }: { id: string }) => id);
    };
    expect((await admin.delete(link)).status).toBe(200);
    expect((await admin.post(link, { vehicleId: first })).status).toBe(200);
    expect((await admin.post(link, { vehicleId: second })).body.error).toBe('DEVICE_ALREADY_LINKED');
    expect((await admin.put(link, { vehicleId: foreign })).body.error).toBe('UNKNOWN_DEVICE');
    expect(await linkedVehicles()).toEqual([first]);
    expect((await admin.put(link, { vehicleId: second })).status).toBe(200);
    expect(await linkedVehicles()).toEqual([second]);
    expect((await admin.delete(link)).status).toBe(200);
    expect(await linkedVehicles()).toEqual([]);
    for (const answer of [
      await admin.delete('/v1/x/admin/devices/none/link'),
      await admin.post('/v1/x/admin/devices/none/link', { vehicleId: first }),
      await admin.put('/v1/x/admin/devices/none/link', { vehicleId: first }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'UNKNOWN_DEVICE']);
    }
  });

  it('moves and unlinks a device only from the vehicle that a person saw it linked to, if that is given', async () => {
    const [first, second, third] = [await newVehicle(), await newVehicle(), await newVehicle()];
    const deviceId = await newDevice({ vehicleId: first });
    const link = `/v1/x/admin/devices/${deviceId}/link`;
    const move = (vehicleId: string, fromVehicleId: string) => admin.put(link, { vehicleId, fromVehicleId });
    expect((await move(second, first)).status).toBe(200);
    const { status, body } = await move(third, first);
    expect([status, body.error]).toEqual([412, 'CHANGED_MEANWHILE']);
    expect((await admin.delete(link, { vehicleId: first })).body.error).toBe('CHANGED_MEANWHILE');
    expect((await admin.delete(link, { vehicleId: second })).status).toBe(200);
    expect((await admin.delete(link, { vehicleId: second })).body.error).toBe('CHANGED_MEANWHILE');
    expect((await move(third, second)).body.error).toBe('CHANGED_MEANWHILE');
  });

  it('names the addresses of the broker at the name by which it was asked', async () => {
    const { body } = await admin.get('/v1/x/admin/device-connection');
    expect(body).toMatchObject({ urls: [platform.mqttUrl] });
  });

  it('lists TLS addresses first, without reading the certificate, and omits disabled ports', async () => {
    const tls = { MQTT_TLS_CERTIFICATE: '/none.crt', MQTT_TLS_KEY: '/none.key', MQTTS_PORT: '8883' };
    const teltonika = { TELTONIKA_TLS_PORT: '5028', TELTONIKA_PORT: '5027', TELTONIKA_UDP: 'false' };
    const { admin, platform } = await startFleet({ ...tls, ...teltonika });
    const { body } = await admin.get('/v1/x/admin/device-connection');
    expect(body).toEqual({
      urls: ['mqtts://127.0.0.1:8883', platform.mqttUrl],
      teltonika: ['tls://127.0.0.1:5028', 'tcp://127.0.0.1:5027'],
    });
  });

  it('wants the IMEI of a Teltonika device as its id, because that is all it says of itself', async () => {
    const refused = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'teltonika-outputs' });
    expect([refused.status, refused.body.field]).toEqual([400, 'id']);
    expect((await admin.post('/v1/x/admin/devices', { id: createImei(), model: 'teltonika-outputs' })).status).toBe(
      200,
    );
  });

  it('releases a device from its vehicle and application, to be claimed with a new code', async () => {
    const vehicleId = await newVehicle();
    const deviceId = await newDevice({ vehicleId });
    const next = await createApplication(db);
    const nextApi = as(next.token);
    const link = { deviceId, vehicleId: await newVehicle(next.appId) };
    const codes: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const { status, body } = await admin.post(`/v1/x/admin/devices/${deviceId}/release`);
      expect([status, body.deviceId]).toEqual([200, deviceId]);
      codes.push(body.claimCode);
    }
    const [old, current] = codes;
    expect((await api.delete('/v1/device', { deviceId })).body.error).toBe('UNKNOWN_DEVICE');
    expect((await nextApi.post('/v1/device', { ...link, claimCode: old })).body.error).toBe('INVALID_CLAIM_CODE');
    expect((await nextApi.post('/v1/device', { ...link, claimCode: current })).status).toBe(200);
    expect((await admin.post('/v1/x/admin/devices/none/release')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('deletes a device: its link ends, its credentials are invalid, and its id can be used again', async () => {
    const vehicleId = await newVehicle();
    const deviceId = await newDevice({ vehicleId });
    const rowOf = () => db.selectFrom('device').selectAll().where('id', '=', deviceId).executeTakeFirstOrThrow();
    const before = await rowOf();
    expect((await admin.delete(`/v1/x/admin/devices/${deviceId}`)).status).toBe(200);
    const deleted = await rowOf();
    expect(deleted.secret_sha256).not.toEqual(before.secret_sha256);
    expect(Number(deleted.certificates_issued_from)).toBeGreaterThan(Date.now() + 1e12);
    expect((await api.get(`/v1/vehicle/${vehicleId}`)).body.deviceId).toBe('');
    for (const answer of [
      await admin.delete(`/v1/x/admin/devices/${deviceId}`),
      await admin.post(`/v1/x/admin/devices/${deviceId}/secret`),
      await admin.delete(`/v1/x/admin/devices/${deviceId}/certificates`),
      await admin.post(`/v1/x/admin/devices/${deviceId}/link`, { vehicleId }),
      await api.post('/v1/device', { deviceId, vehicleId }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'UNKNOWN_DEVICE']);
    }
    const { body } = await admin.post('/v1/x/admin/devices', { id: deviceId, model: 'obd', vehicleId });
    expect(await rowOf()).toMatchObject({ model_id: 'obd', deleted_at: null, secret_sha256: hashSecret(body.secret) });
    expect((await api.get(`/v1/vehicle/${vehicleId}`)).body.deviceId).toBe(deviceId);
  });

  it('stores no secret of a device in plain text', async () => {
    const { body } = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic' });
    const { rows } = await sql<{ row: string }>`select to_jsonb(device)::text as row from device`.execute(db);
    const text = rows.map(({ row }) => row).join('\n');
    expect(text).toContain(hashSecret(body.secret).toString('hex'));
    for (const secret of [body.secret, body.claimCode, body.claimCode.replaceAll('-', '')]) {
      expect(text).not.toContain(secret);
    }
  });
});

const post = (csv: string, check = false, as = admin) => as.post('/v1/x/admin/device-imports', { csv, check });
const file = (...lines: string[]) => ['id,model,appId,vehicleId,plate,bluetoothName', ...lines].join('\r\n');
const stored = async (...ids: string[]) =>
  db.selectFrom('device').selectAll().where('id', 'in', ids).orderBy('id').execute();

describe('POST /v1/x/admin/device-imports', () => {
  it('creates all devices of a file with their links, and shows each secret once', async () => {
    const [first, second, third] = ['a', 'b', 'c'].map((letter) => `${letter}-${newId()}`) as [string, string, string];
    const [byId, byPlate] = [
      await createUnlinkedVehicle(db, application),
      await createUnlinkedVehicle(db, application),
    ];
    const plate = `PL ${randomUUID().slice(0, 8)}`;
    await sql`update vehicle set plate = ${plate} where id = ${byPlate}::integer`.execute(db);
    const { body } = await post(
      file(
        `${first},generic,${application.appId},${byId},,ODO-1`,
        `${second}, tracker ,,,${plate.replace(' ', '-')},`,
        '',
        `${third},obd`,
      ),
    );
    expect(body).toMatchObject({ lines: 3, faults: [] });
    const rows = await stored(first, second, third);
    expect(
      rows.map(({ model_id, application_id, bluetooth_name }) => [model_id, application_id, bluetooth_name]),
    ).toEqual([
      ['generic', application.id, 'ODO-1'],
      ['tracker', application.id, ''],
      ['obd', null, ''],
    ]);
    expect(rows.map(({ secret_sha256 }) => secret_sha256)).toEqual(
      body.devices.map(({ secret }: { secret: string }) => hashSecret(secret)),
    );
    expect(body.devices[2].claimCode).toMatch(/^[A-Z0-9-]+$/);
    const links = await sql<{ vehicle: string }>`select vehicle_id::text as vehicle from device_link
      where device_id in (${first}, ${second}) order by device_id`.execute(db);
    expect(links.rows.map(({ vehicle }) => vehicle)).toEqual([byId, byPlate]);
    const audit = await sql<{ actions: string[] }>`select array_agg(action order by action) as actions from audit
      where subject in (${`device:${first}`}, ${`device:${third}`})`.execute(db);
    expect(audit.rows[0]?.actions).toEqual(['device.create', 'device.create', 'device.link']);
  });

  it.each([true, false])('names the fault of every line, and writes none of them (check: %s)', async (check) => {
    const linked = await createVehicle(db, application);
    const free = await createUnlinkedVehicle(db, application);
    const good = newId();
    const { body } = await post(
      file(
        `${good},generic,${application.appId},${free}`,
        'not an id,generic',
        `${newId()},none`,
        `${linked.deviceId},generic`,
        `${newId()},generic,${application.appId},${linked.id}`,
        `${good},generic`,
        `${newId()},generic,,${free}`,
        `${newId()},generic,app-missing`,
        `${newId()},generic,,,ZZ-MISSING`,
        `${newId()},generic,,1,AB-1`,
        `${newId()},generic,a,b,c,d,e`,
      ),
      check,
    );
    const messages = body.faults.map(({ line, column }: { line: number; column: string }) => [line, column]);
    expect(messages).toEqual([
      [3, 'id'],
      [4, 'model'],
      [5, ''],
      [6, ''],
      [7, ''],
      [8, ''],
      [9, ''],
      [10, 'plate'],
      [11, 'plate'],
      [12, ''],
    ]);
    expect(body.faults[1].message).toMatch(/^must be a device model: /);
    expect(body.devices).toEqual([]);
    expect(await stored(good)).toEqual([]);
  });

  it('writes nothing when it only checks, also for a file without a fault', async () => {
    const id = newId();
    expect((await post(`id;model\n${id};generic`, true)).body).toEqual({ lines: 1, faults: [], devices: [] });
    expect(await stored(id)).toEqual([]);
    expect((await post(`id;model\n${id};generic`)).body.devices).toHaveLength(1);
  });

  it.each([
    ['', 'INVALID_PARAMETER'],
    ['id,type\na,b', [1, 'type']],
    ['model\ngeneric', [1, 'id']],
    ['id,model,id\na,b,c', [1, 'id']],
    ['id,model', [1, '']],
    ['id,model\n"a,b', [2, '']],
    ['\n\n', [1, '']],
    [`id,model\n${'a,generic\n'.repeat(maxLines + 1)}`, [1, '']],
  ])('refuses a file that is no table of devices: %j', async (csv, expected) => {
    const { body } = await post(csv);
    const [fault] = body.faults ?? [];
    expect(fault ? [fault.line, fault.column] : body.error).toEqual(expected);
  });

  it('confines an operator with limits to its applications, and refuses one who only reads', async () => {
    const foreign = await createApplication(db);
    const vehicle = await createUnlinkedVehicle(db, foreign);
    const browserOf = async (role: 'viewer' | 'operator') =>
      createBrowser(platform.httpUrl, (await createOperator(db, { role, applicationIds: [application.id] })).cookie);
    const csv = file(
      `${newId()},generic,${foreign.appId}`,
      `${newId()},generic,,${vehicle}`,
      `${newId()},generic`,
      `${newId()},generic,${application.appId}`,
    );
    const { body } = await post(csv, false, await browserOf('operator'));
    expect(body.faults.map(({ line }: { line: number }) => line)).toEqual([2, 3, 4]);
    expect((await post(csv, false, await browserOf('viewer'))).status).toBe(403);
  });
});

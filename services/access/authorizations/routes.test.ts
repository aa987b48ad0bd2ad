import { randomUUID } from 'node:crypto';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { parseTokenText, readToken, verifyToken } from '@odograph/keyless/token';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import { fillWithoutTriggers, linkDevice, unlinkDevice } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { expectFailure, inHours, useAccess } from '../access.fixture.ts';

const access = await useAccess();
const { issue, issuedId } = access;

/** Provisions a device as its operator does. */
async function provision(deviceId = access.vehicle.deviceId) {
  const { body } = await access.operator.post(`/v1/x/admin/devices/${deviceId}/key`);
  return { deviceId, deviceKey: Buffer.from(body.key, 'base64url'), keyVersion: body.keyVersion as number };
}

function verdictOf(device: Awaited<ReturnType<typeof provision>>, token: string, nowMs = Date.now(), epoch = 0) {
  const bytes = parseTokenText(token);
  if (!bytes) return 'NO_TOKEN';
  const list = { version: 1, keyVersion: device.keyVersion, epoch, issuedAtMs: 0, authorizations: [] };
  const verdict = verifyToken(nodeCrypto, device, list, bytes, nowMs);
  return verdict.ok ? 'OK' : verdict.reason;
}

const archive = () => access.changeVehicle({ archived_at: new Date() });

describe('POST /v1/bluetooth-token', () => {
  it('issues a token that the device accepts offline, for exactly its interval', async () => {
    const device = await provision();
    const [from, until] = [inHours(1), inHours(2)];
    const { body } = await issue({ from, until });
    expect(Object.keys(body).sort()).toEqual(['authorizationId', 'key', 'token']);
    expect(verdictOf(device, body.token, Date.parse(from) - 1)).toBe('NOT_ACTIVE');
    expect(verdictOf(device, body.token, Date.parse(from))).toBe('OK');
    expect(verdictOf(device, body.token, Date.parse(until) - 1)).toBe('OK');
    expect(verdictOf(device, body.token, Date.parse(until))).toBe('EXPIRED');
    const other = await provision((await access.newVehicle()).deviceId);
    expect(verdictOf({ ...other, deviceId: device.deviceId, keyVersion: 1 }, body.token)).toBe('MAC');
  });

  it('accepts ISO 8601, UNIX seconds and milliseconds, as numbers or text', async () => {
    const [from, until] = [Date.now() - 5000, Date.now() + 3_600_000];
    for (const write of [
      (ms: number) => new Date(ms).toISOString(),
      (ms: number) => ms / 1000,
      (ms: number) => String(ms / 1000),
      (ms: number) => ms,
      (ms: number) => String(ms),
      (ms: number) => new Date(ms + 7_200_000).toISOString().replace('Z', '+02:00'),
    ]) {
      const id = await issuedId({ from: write(from), until: write(until) });
      const { body } = await access.api.get(`/v1/bluetooth-token/${id}`);
      expect([body.from, body.until]).toEqual([new Date(from).toISOString(), new Date(until).toISOString()]);
    }
  });

  it('checks vehicle, level, dates and interval in this order', async () => {
    expectFailure(await issue({ vehicleId: '2147483648', level: 'FLY', from: 'x' }), 404, 'UNKNOWN_VEHICLE');
    expectFailure(await issue({ level: 'FLY', from: 'x' }), 400, 'INVALID_LEVEL');
    expectFailure(await issue({ level: undefined }), 400, 'INVALID_LEVEL');
    for (const wrong of ['x', '', '2026-02-30', null, undefined, -1]) {
      const answer = await issue({ from: wrong });
      expectFailure(answer, 400, 'INVALID_DATE');
      expect(answer.body.field).toBe('from');
      expectFailure(await issue({ until: wrong }), 400, 'INVALID_DATE');
    }
    expectFailure(await issue({ from: inHours(2), until: inHours(1) }), 400, 'INVALID_INTERVAL');
    const moment = inHours(2);
    expectFailure(await issue({ from: moment, until: moment }), 400, 'INVALID_INTERVAL');
    expectFailure(await issue({ from: inHours(-2), until: inHours(-1) }), 400, 'INVALID_DATE');
  });

  it.each([
    ['vehicleId', undefined],
    ['userId', undefined],
    ['userId', ' '],
  ])('names %s in the failure when it is %j', async (field, value) => {
    const { status, body } = await issue({ [field]: value });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('answers VEHICLE_ARCHIVED for an archived vehicle and INVALID_DEVICE for one without a device', async () => {
    await archive();
    expectFailure(await issue(), 409, 'VEHICLE_ARCHIVED');
    access.vehicle = await access.newVehicle();
    await unlinkDevice(access.platform.db, access.vehicle.deviceId);
    const answer = await issue();
    expectFailure(answer, 400, 'INVALID_DEVICE');
    expect(answer.body.reason).toBe('NO_DEVICE');
  });

  it('answers TOO_MANY_REQUESTS when the device can store no more, and still revokes', async () => {
    const id = await issuedId();
    const fill = (until: string, count: number) =>
      fillWithoutTriggers(
        access.platform.db,
        sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at)
          select ${Number(access.vehicle.id)}, 'x', 'DRIVE', now() - interval '2 hours', now() + ${until}::interval, now()
          from generate_series(1, ${count})`,
      );
    await fill('-1 hour', 1999);
    await issuedId();
    // The limit of a user does not apply to the application.
    await fill('1 hour', 100);
    await issuedId();
    await fill('1 hour', 1000);
    // Key lists still contain those of the last 5 minutes.
    await fill('-4 minutes', 897);
    expectFailure(await issue(), 429, 'TOO_MANY_REQUESTS');
    expectFailure(await access.api.post(`/v1/bluetooth-token/${id}`, { until: inHours(2) }), 429, 'TOO_MANY_REQUESTS');
    expect((await access.api.delete('/v1/bluetooth-token', { authorizationId: id })).status).toBe(200);
  });

  it('writes no token or key into the audit', async () => {
    const { body } = await issue();
    await access.api.delete('/v1/bluetooth-token', { authorizationId: body.authorizationId });
    const { rows } = await sql<{ text: string }>`select audit::text as text from audit
      where subject = ${`authorization:${body.authorizationId}`} order by position`.execute(access.platform.db);
    expect(rows.map(({ text }) => /authorization\.\w+/.exec(text)?.[0])).toEqual([
      'authorization.create',
      'authorization.delete',
    ]);
    expect(rows.some(({ text }) => text.includes(body.token) || text.includes(body.key))).toBe(false);
  });
});

describe('an authorization', () => {
  it('is read with the token and key of its issue', async () => {
    const [from, until] = [inHours(-1), inHours(1)];
    const { body: issued } = await issue({ from, until });
    const { status, body } = await access.api.get(`/v1/bluetooth-token/${issued.authorizationId}`);
    const { token, key } = issued;
    expect([status, body]).toEqual([
      200,
      { vehicleId: access.vehicle.id, userId: 'driver-1', from, until, token, key },
    ]);
  });

  it('gets a new identifier, token and key on update, and the old identifier becomes unknown', async () => {
    const id = await issuedId({ level: 'LOCK_UNLOCK' });
    const until = inHours(5);
    const { status, body } = await access.api.post(`/v1/bluetooth-token/${id}`, { until });
    expect([status, body.until, body.userId, body.vehicleId]).toEqual([200, until, 'driver-1', access.vehicle.id]);
    expect(body.authorizationId).not.toBe(id);
    expect(readToken(Buffer.from(body.token, 'base64url'))).toMatchObject({
      authorizationId: body.authorizationId,
      level: 'LOCK_UNLOCK',
      notAfterMs: Date.parse(until),
    });
    for (const answer of [
      await access.api.get(`/v1/bluetooth-token/${id}`),
      await access.api.post(`/v1/bluetooth-token/${id}`, { until }),
      await access.api.delete(`/v1/bluetooth-token?authorizationId=${id}`),
      await access.api.post('/v1/bluetooth-token/validate', { authorizationId: id }),
    ]) {
      expectFailure(answer, 404, 'UNKNOWN_AUTHORIZATION');
    }
    expect((await access.api.get(`/v1/bluetooth-token/${body.authorizationId}`)).body.token).toBe(body.token);
    const unchanged = await access.api.post(`/v1/bluetooth-token/${body.authorizationId}`, { from: '', until: null });
    expect(unchanged.body.until).toBe(until);
    const refused = await access.api.post(`/v1/bluetooth-token/${unchanged.body.authorizationId}`, {
      until: inHours(-3),
    });
    expectFailure(refused, 400, 'INVALID_INTERVAL');
  });

  it('is updated by exactly one of several concurrent requests', async () => {
    const id = await issuedId();
    const update = () => access.api.post(`/v1/bluetooth-token/${id}`, { until: inHours(2) });
    const answers = await Promise.all([1, 2, 3, 4, 5].map(update));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(4);
    const { body } = await access.api.get(`/v1/vehicle/${access.vehicle.id}/authorizations/current`);
    expect(body.authorizations).toHaveLength(1);
  });

  it('is unknown after its deletion, like identifiers that cannot exist', async () => {
    const id = await issuedId();
    const { status, body } = await access.api.delete('/v1/bluetooth-token', { authorizationId: id });
    expect([status, body]).toEqual([200, {}]);
    for (const unknown of [id, randomUUID(), 'x', '%00', "'", 'params2']) {
      expectFailure(await access.api.get(`/v1/bluetooth-token/${unknown}`), 404, 'UNKNOWN_AUTHORIZATION');
    }
  });

  it('outlives its device, and has a new token when the device of its vehicle is replaced', async () => {
    const device = await provision();
    const { body: issued } = await issue();
    await unlinkDevice(access.platform.db, access.vehicle.deviceId);
    const without = (await access.api.get(`/v1/bluetooth-token/${issued.authorizationId}`)).body;
    expect([without.token, without.key]).toEqual(['', '']);
    const { epoch } = (await access.operator.get(`/v1/x/admin/devices/${access.vehicle.deviceId}/key`)).body;
    expect(verdictOf(device, issued.token, Date.now(), epoch)).toBe('EPOCH');

    const spare = await access.newVehicle();
    await unlinkDevice(access.platform.db, spare.deviceId);
    await linkDevice(access.platform.db, spare.deviceId, access.vehicle.id);
    const second = await provision(spare.deviceId);
    const { token } = (await access.api.get(`/v1/bluetooth-token/${issued.authorizationId}`)).body;
    expect(verdictOf(second, token)).toBe('OK');
    expect(verdictOf(device, token)).not.toBe('OK');
  });

  it('has no token while its vehicle is archived, which also invalidates the earlier one', async () => {
    const device = await provision();
    const { body: issued } = await issue();
    await archive();
    const { body } = await access.api.get(`/v1/bluetooth-token/${issued.authorizationId}`);
    expect([body.token, body.key]).toEqual(['', '']);
    const { epoch } = (await access.operator.get(`/v1/x/admin/devices/${access.vehicle.deviceId}/key`)).body;
    expect(verdictOf(device, issued.token, Date.now(), epoch)).toBe('EPOCH');
    const path = `/v1/bluetooth-token/${issued.authorizationId}`;
    expectFailure(await access.api.post(path, { until: inHours(2) }), 409, 'VEHICLE_ARCHIVED');
    const { authorizationId } = issued;
    const suspended = await access.api.post('/v1/bluetooth-token/invalidate', { authorizationId, until: inHours(0.5) });
    expect(suspended.status).toBe(200);
    const resumed = await access.api.post('/v1/bluetooth-token/validate', { authorizationId });
    expectFailure(resumed, 409, 'VEHICLE_ARCHIVED');
    expect((await access.api.delete('/v1/bluetooth-token', { authorizationId: issued.authorizationId })).status).toBe(
      200,
    );
  });
});

describe('a suspension', () => {
  const suspend = (authorizationId: string, until: unknown) =>
    access.api.post('/v1/bluetooth-token/invalidate', { authorizationId, until });
  const resume = (authorizationId: string) => access.api.post('/v1/bluetooth-token/validate', { authorizationId });

  it('is refused with INVALID_DATE unless its end is a date between now and the end of the authorization', async () => {
    const until = inHours(1);
    const id = await issuedId({ until });
    for (const wrong of ['x', undefined, inHours(-0.1), inHours(1.1)]) {
      expectFailure(await suspend(id, wrong), 400, 'INVALID_DATE');
    }
    expect((await suspend(id, until)).status).toBe(200);
  });

  it('is refused for an authorization that has not started, whatever the date', async () => {
    expect.assertions(2);
    const id = await issuedId({ from: inHours(1), until: inHours(2) });
    expectFailure(await suspend(id, 'x'), 409, 'AUTHORIZATION_NOT_ACTIVE');
    expectFailure(await resume(id), 409, 'AUTHORIZATION_NOT_ACTIVE');
  });
});

describe('params and commands of a device', () => {
  const both = async (id: string, of: 'params' | 'commands') => {
    const answers = [
      await access.api.get(`/v1/bluetooth-token/${of}?authorizationId=${id}`),
      await access.api.get(`/v1/bluetooth-token/${id}/${of}`),
    ];
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    return answers[1] as ApiAnswer;
  };
  const strings = ['immobilize', 'demobilize', 'lock', 'unlock', 'honk', 'turningLights', 'unlockTrunk'];
  const windows = ['openWindows', 'closeWindows'];
  const flagOf = (command: string) => `encrypt${command.charAt(0).toUpperCase()}${command.slice(1)}`;

  it('contain name and pin', async () => {
    await access.platform.db
      .updateTable('device')
      .set({ bluetooth_name: 'ODO-1', bluetooth_pin: '4711' })
      .where('id', '=', access.vehicle.deviceId)
      .execute();
    const { status, body } = await both(await issuedId(), 'params');
    expect([status, body]).toEqual([200, { name: 'ODO-1', pin: '4711' }]);
  });

  it('contain every command string and flag of the specification', async () => {
    const { body } = await both(await issuedId(), 'commands');
    const commands = [...strings, ...windows];
    const flags = [...commands, 'readio'].map(flagOf);
    expect(Object.keys(body).sort()).toEqual(['key', 'digitalOutput', ...commands, ...flags].sort());
    for (const command of commands) expect([command, body[command].length]).toEqual([command, 27]);
    expect(new Set(commands.map((command) => body[command])).size).toBe(9);
    for (const flag of flags) expect(body[flag]).toBe(false);
    expect(body.digitalOutput).toEqual({});
    expect(Buffer.from(body.key, 'base64url')).toHaveLength(32);
  });

  it('follow the device model: supported actions, encryption and outputs', async () => {
    const model = randomUUID();
    await sql`insert into device_model (id, actions, proprietary_can, bluetooth, encrypted_commands, digital_outputs)
      values (${model}, '{LOCK,UNLOCK}', false, true, '{unlock,readio}', '{"lock": 1, "unlock": 2}')`.execute(
      access.platform.db,
    );
    access.vehicle = await access.newVehicle({ model });
    const { body } = await both(await issuedId({ level: 'LOCK_UNLOCK' }), 'commands');
    expect([...strings, ...windows].filter((command) => body[command] !== '')).toEqual(['lock', 'unlock']);
    expect([...strings, 'readio'].filter((command) => body[flagOf(command)])).toEqual(['unlock', 'readio']);
    expect(body.digitalOutput).toEqual({ lock: 1, unlock: 2 });
    const outputOf = (command: string) => [...Buffer.from(body[command], 'base64url').subarray(2, 4)];
    expect([outputOf('lock'), outputOf('unlock')]).toEqual([
      ...[
        [2, 1],
        [3, 2],
      ],
    ]);
  });

  it('contain no engine commands for LOCK_UNLOCK', async () => {
    const { body } = await both(await issuedId({ level: 'LOCK_UNLOCK' }), 'commands');
    expect([...strings, ...windows].filter((command) => body[command] === '')).toEqual(['immobilize', 'demobilize']);
  });

  it('are refused with INVALID_DEVICE without Bluetooth, and without a device', async () => {
    expect.assertions(12);
    for (const model of ['tracker', 'obd']) {
      access.vehicle = await access.newVehicle({ model });
      const id = await issuedId();
      expectFailure(await both(id, 'params'), 400, 'INVALID_DEVICE');
      expectFailure(await both(id, 'commands'), 400, 'INVALID_DEVICE');
      await unlinkDevice(access.platform.db, access.vehicle.deviceId);
      expectFailure(await both(id, 'params'), 400, 'INVALID_DEVICE');
    }
  });
});

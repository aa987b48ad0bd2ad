import { randomBytes } from 'node:crypto';
import { parseCommandString } from '@odograph/keyless/command-string';
import { signConfirmation } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { answerChallenge, DeviceSession, hello, openPhoneSession } from '@odograph/keyless/session';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type KeyDevice, type KeylessFixture, startKeylessFixture } from './keyless.fixture.ts';

let fixture: KeylessFixture;

beforeAll(async () => {
  fixture = await startKeylessFixture();
});
afterAll(() => fixture?.stop());
beforeEach(async () => {
  await fixture.startBroker();
  await fixture.startCommand();
});
afterEach(() => fixture.disconnectAll());

/** Creates a vehicle whose device is connected. */
async function newConnected() {
  const vehicle = await fixture.newVehicle();
  const device = await fixture.newDevice(vehicle);
  await device.connect();
  return { vehicle, device };
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));

describe('keyless access, from the platform to the device', () => {
  it('opens an offline device with the token and keys that the interface issued', async () => {
    const vehicle = await fixture.newVehicle();
    const device = await fixture.newDevice(vehicle);
    const { authorizationId, token, key } = await fixture.issue(vehicle);
    const { body: record } = await fixture.api.get(`/v1/bluetooth-token/${authorizationId}/commands`);

    const session = new DeviceSession({
      ...{ crypto: nodeCrypto, device: device.identity, list: device.list },
      createNonce: () => randomBytes(16),
      encryptReadio: record.encryptReadio,
    });
    const phoneNonce = randomBytes(16);
    const keys = { token: bytes(token), sessionKey: bytes(key), encryptionKey: bytes(record.key) };
    const challenge = session.acceptHello(hello(keys, phoneNonce), Date.now());
    if (!challenge.ok) throw new Error(challenge.reason);
    const { proof, handshake } = answerChallenge(nodeCrypto, keys, phoneNonce, challenge.value);
    const proved = session.acceptProof(proof, Date.now());
    const phone = proved.ok ? openPhoneSession(nodeCrypto, handshake, proved.value) : undefined;
    for (const encrypted of [false, true]) {
      const frame = phone?.frame('command', parseCommandString(record.unlock) ?? bytes(''), encrypted);
      expect(session.acceptFrame(frame ?? bytes(''), Date.now())).toMatchObject({
        ok: true,
        value: { command: 'unlock' },
      });
    }
  });

  it('makes a connected device refuse a revoked authorization, and no other', async () => {
    const { vehicle, device } = await newConnected();
    const [revoked, kept] = [await fixture.issue(vehicle), await fixture.issue(vehicle)];
    expect([device.verdict(revoked.token), device.verdict(kept.token)]).toEqual(['OK', 'OK']);
    await fixture.revoke(revoked.authorizationId);
    await fixture.expectConfirmed(device);
    expect([device.verdict(revoked.token), device.verdict(kept.token)]).toEqual(['REVOKED', 'OK']);
  });

  it('suspends and resumes an authorization at the device, which ends a suspension on its own clock', async () => {
    const { vehicle, device } = await newConnected();
    const { authorizationId, token } = await fixture.issue(vehicle);
    const suspend = (until: number) => fixture.api.post('/v1/bluetooth-token/invalidate', { authorizationId, until });
    expect((await suspend(Date.now() + 600_000)).status).toBe(200);
    await fixture.expectConfirmed(device);
    expect(device.verdict(token)).toBe('SUSPENDED');
    await fixture.api.post('/v1/bluetooth-token/validate', { authorizationId });
    await fixture.expectConfirmed(device);
    expect([device.verdict(token), device.list()?.authorizations]).toEqual(['OK', []]);

    await suspend(Date.now() + 1500);
    await fixture.expectConfirmed(device);
    await device.disconnect();
    expect(device.verdict(token)).toBe('SUSPENDED');
    await eventually(async () => expect(device.verdict(token)).toBe('OK'));
  });

  it('replaces an authorization at the device: the update ends the old token', async () => {
    const { vehicle, device } = await newConnected();
    const old = await fixture.issue(vehicle);
    const { body } = await fixture.api.post(`/v1/bluetooth-token/${old.authorizationId}`, {
      until: Date.now() + 60_000,
    });
    await fixture.expectConfirmed(device);
    expect([device.verdict(old.token), device.verdict(body.token)]).toEqual(['REVOKED', 'OK']);
  });

  it('updates an offline device as soon as it reconnects, and DELETE /v1/user succeeds from then on', async () => {
    const vehicle = await fixture.newVehicle();
    const device = await fixture.newDevice(vehicle);
    const { token } = await fixture.issue(vehicle, 'driver-offline');
    const first = await fixture.api.delete('/v1/user/driver-offline');
    expect([first.status, first.body.error]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED']);
    expect(device.verdict(token)).toBe('OK');
    await device.connect();
    await fixture.expectConfirmed(device);
    expect(device.verdict(token)).toBe('REVOKED');
    expect((await fixture.api.delete('/v1/user/driver-offline')).status).toBe(200);
  });

  it('deletes a driver at every device before it answers, and reports a device that does not confirm in time', async () => {
    const connected = [await newConnected(), await newConnected()];
    const [vehicles, devices] = [connected.map(({ vehicle }) => vehicle), connected.map(({ device }) => device)];
    const issued: { token: string }[] = [];
    for (const vehicle of vehicles) issued.push(await fixture.issue(vehicle, 'driver-two'));
    const { status, body } = await fixture.api.delete('/v1/user/driver-two');
    expect([status, body]).toEqual([200, {}]);
    expect(devices.map((device, index) => device.verdict(issued[index]?.token ?? ''))).toEqual(['REVOKED', 'REVOKED']);

    const silent = await fixture.newDevice(await fixture.newVehicle());
    await silent.connect(false);
    await fixture.api.delete('/v1/device', { deviceId: devices[1]?.identity.deviceId });
    await fixture.api.delete('/v1/device', { deviceId: silent.identity.deviceId });
    await fixture.api.post('/v1/device', { deviceId: silent.identity.deviceId, vehicleId: vehicles[1]?.id });
    for (const vehicle of vehicles) await fixture.issue(vehicle, 'driver-three');
    const answer = await fixture.api.delete('/v1/user/driver-three');
    expect([answer.status, answer.body.reason]).toEqual([409, 'NO_ACKNOWLEDGEMENT']);
  });

  it('ends the tokens of a device that is unlinked from its vehicle', async () => {
    const { vehicle, device } = await newConnected();
    const { authorizationId, token } = await fixture.issue(vehicle);
    await fixture.api.delete('/v1/device', { deviceId: vehicle.deviceId });
    await fixture.expectConfirmed(device);
    expect(device.verdict(token)).toBe('EPOCH');
    await fixture.api.post('/v1/device', { deviceId: vehicle.deviceId, vehicleId: vehicle.id });
    const { body } = await fixture.api.get(`/v1/bluetooth-token/${authorizationId}`);
    expect(device.verdict(body.token)).toBe('OK');
  });
});

describe('a suspension', () => {
  const link = async (deviceId: string, vehicleId: string) =>
    expect((await fixture.api.post('/v1/device', { deviceId, vehicleId })).status).toBe(200);
  const unlink = async (deviceId: string) =>
    expect((await fixture.api.delete('/v1/device', { deviceId })).status).toBe(200);
  const suspend = async (authorizationId: string) => {
    const body = { authorizationId, until: Date.now() + 600_000 };
    expect((await fixture.api.post('/v1/bluetooth-token/invalidate', body)).status).toBe(200);
  };
  /** Suspends an authorization in a transaction that is not committed. */
  const suspendInFlight = async (vehicleId: string, authorizationId: string) => {
    const inFlight = await fixture.fleet.db.startTransaction().execute();
    await sql`select from vehicle where id = ${Number(vehicleId)} for no key update`.execute(inFlight);
    await sql`update bluetooth_authorization set suspended_until = valid_until
      where id = ${authorizationId}`.execute(inFlight);
    return inFlight;
  };
  /** Waits until the device has its list. @returns its verdict on the token that the interface returns now */
  const verdictOf = async (device: KeyDevice, authorizationId: string) => {
    const { body } = await fixture.api.get(`/v1/bluetooth-token/${authorizationId}`);
    await fixture.expectConfirmed(device);
    return device.verdict(body.token);
  };

  it('reaches the device that replaces another one', async () => {
    const { vehicle, device } = await newConnected();
    const { authorizationId } = await fixture.issue(vehicle);
    await suspend(authorizationId);
    await fixture.expectConfirmed(device);
    const spare = await fixture.newVehicle();
    await unlink(spare.deviceId);
    const replacement = await fixture.newDevice(spare);
    await replacement.connect();
    await fixture.expectConfirmed(replacement);

    await unlink(vehicle.deviceId);
    await link(spare.deviceId, vehicle.id);
    expect(await verdictOf(replacement, authorizationId)).toBe('SUSPENDED');
  });

  it('reaches its device again after the device was unlinked for a while', async () => {
    const { vehicle, device } = await newConnected();
    const { authorizationId } = await fixture.issue(vehicle);
    await suspend(authorizationId);
    await unlink(vehicle.deviceId);
    await fixture.expectConfirmed(device);
    expect(device.list()?.authorizations).toEqual([]);
    await link(vehicle.deviceId, vehicle.id);
    expect(await verdictOf(device, authorizationId)).toBe('SUSPENDED');
  });

  it('that began while the vehicle had no device reaches the next one, in flight or committed', async () => {
    const { vehicle, device } = await newConnected();
    const [early, late] = [await fixture.issue(vehicle), await fixture.issue(vehicle)];
    await unlink(vehicle.deviceId);
    await suspend(early.authorizationId);
    const inFlight = await suspendInFlight(vehicle.id, late.authorizationId);
    const linked = link(vehicle.deviceId, vehicle.id);
    await waitForLock(inFlight);
    await inFlight.commit().execute();
    await linked;
    expect(await verdictOf(device, early.authorizationId)).toBe('SUSPENDED');
    expect(await verdictOf(device, late.authorizationId)).toBe('SUSPENDED');
  });

  it('reaches a linked device that gets its first key, in flight or committed', async () => {
    const { vehicle } = await newConnected();
    const [early, late] = [await fixture.issue(vehicle), await fixture.issue(vehicle)];
    await suspend(early.authorizationId);
    const spare = await fixture.newVehicle();
    await unlink(spare.deviceId);
    await unlink(vehicle.deviceId);
    await link(spare.deviceId, vehicle.id);
    const inFlight = await suspendInFlight(vehicle.id, late.authorizationId);
    const created = fixture.newDevice(spare);
    await waitForLock(inFlight);
    await inFlight.commit().execute();
    const keyed = await created;
    expect(keyed.identity.keyVersion).toBe(1);
    await keyed.connect();
    expect(await verdictOf(keyed, early.authorizationId)).toBe('SUSPENDED');
    expect(await verdictOf(keyed, late.authorizationId)).toBe('SUSPENDED');
  });
});

describe('key distribution', () => {
  it('resumes after a broker outage, with changes made meanwhile and lists that the broker lost', async () => {
    const [changed, forgotten] = [await fixture.newVehicle(), await fixture.newVehicle()];
    const [first, second] = [await fixture.newDevice(changed), await fixture.newDevice(forgotten)];
    const [early, late] = [await fixture.issue(forgotten), await fixture.issue(changed)];
    await fixture.revoke(early.authorizationId);
    await second.connect();
    await fixture.expectConfirmed(second);
    await second.disconnect();

    await fixture.stopBroker();
    await fixture.revoke(late.authorizationId);
    await fixture.startBroker();
    await first.connect();
    await fixture.expectConfirmed(first);
    expect(first.verdict(late.token)).toBe('REVOKED');
    const replaced = fixture.erased(second);
    await replaced.connect();
    await eventually(async () => expect(replaced.verdict(early.token)).toBe('REVOKED'));
  });

  it('resumes when the command service starts, regardless of the devices connected at the change', async () => {
    const { vehicle, device } = await newConnected();
    const { authorizationId, token } = await fixture.issue(vehicle);
    await fixture.stopCommand();
    await fixture.revoke(authorizationId);
    expect(device.verdict(token)).toBe('OK');
    await fixture.startCommand();
    await fixture.expectConfirmed(device);
    expect(device.verdict(token)).toBe('REVOKED');
  });

  it('brings the newest list to every device with two publishing processes and concurrent changes', async () => {
    const vehicles = await Promise.all([1, 2, 3, 4].map(() => fixture.newVehicle()));
    const devices = [];
    for (const vehicle of vehicles) devices.push(await fixture.newDevice(vehicle));
    for (const device of devices) await device.connect();
    const issued = [];
    for (let round = 0; round < 6; round += 1) {
      for (const vehicle of vehicles) issued.push(await fixture.issue(vehicle));
    }
    await Promise.all(issued.map(({ authorizationId }) => fixture.revoke(authorizationId)));
    for (const [index, device] of devices.entries()) {
      await fixture.expectConfirmed(device);
      expect(device.list()).toMatchObject({ version: 7 });
      expect(device.list()?.authorizations).toHaveLength(6);
      const tokens = issued.filter((_one, number) => number % vehicles.length === index);
      expect(tokens.map(({ token }) => device.verdict(token))).toEqual(Array(6).fill('REVOKED'));
      expect([...device.received].sort((a, b) => a - b)).toEqual(device.received);
    }
  });

  it('recovers a device whose list is newer than that of the platform', async () => {
    const { vehicle, device } = await newConnected();
    const [before, after] = [await fixture.issue(vehicle), await fixture.issue(vehicle)];
    for (let change = 0; change < 3; change += 1) {
      const body = { authorizationId: before.authorizationId, until: Date.now() + 600_000 };
      await fixture.api.post('/v1/bluetooth-token/invalidate', body);
    }
    await fixture.expectConfirmed(device);
    // As after the restoration of a backup.
    await sql`update device_key set list_version = 1, published_version = 1, confirmed_version = 1
      where device_id = ${vehicle.deviceId}`.execute(fixture.fleet.db);
    await fixture.revoke(after.authorizationId);
    await eventually(async () => expect(device.verdict(after.token)).toBe('REVOKED'));
    await fixture.expectConfirmed(device);
  });

  it('shows the operator a device that rejects its list because its key differs', async () => {
    const { vehicle } = await newConnected();
    await fixture.newDevice(vehicle);
    await eventually(async () => {
      const { rows } = await sql<{ reason: string }>`select refused_reason as reason from device_key
        where device_id = ${vehicle.deviceId}`.execute(fixture.fleet.db);
      expect(rows[0]?.reason).toBe('KEY_VERSION');
    });
  });

  it('is not confirmed with the MQTT credentials alone: a confirmation needs the MAC of the device key', async () => {
    const vehicle = await fixture.newVehicle();
    const { identity } = await fixture.newDevice(vehicle);
    await fixture.revoke((await fixture.issue(vehicle)).authorizationId);
    const connection = await connectDevice(fixture.fleet.mqttUrl, identity);
    const stateAfter = async (acknowledgement: { id: string; ok: boolean; mac?: string }) => {
      await sql`update device_key set refused_reason = null
        where device_id = ${vehicle.deviceId}`.execute(fixture.fleet.db);
      await connection.acknowledge(acknowledgement);
      return eventually(async () => {
        const { rows } = await sql<{ reason: string; versions: number[] }>`
          select refused_reason as reason, array[list_version::float8, confirmed_version::float8] as versions from device_key
          where device_id = ${vehicle.deviceId}`.execute(fixture.fleet.db);
        expect(rows[0]?.reason).toBe('CONFIRMATION_MAC');
        return rows[0]?.versions;
      });
    };
    const other = signConfirmation(nodeCrypto, identity, { version: 2, keyVersion: 1 });
    for (const mac of [{}, { mac: '' }, { mac: other }]) {
      expect(await stateAfter({ id: 'keys:1', ok: true, ...mac })).toEqual([2, 0]);
    }
    expect(await stateAfter({ id: 'keys:999999999999999', ok: true })).toEqual([2, 0]);
    await connection.close();
  });

  it('writes an audit row for each list that a device confirms', async () => {
    const { vehicle, device } = await newConnected();
    await fixture.expectConfirmed(device);
    await fixture.revoke((await fixture.issue(vehicle)).authorizationId);
    await fixture.expectConfirmed(device);
    const { rows } = await sql`select chain, (details ->> 'version')::integer as version, outcome from audit
      where action = 'key-list.confirm' and actor = ${`device:${vehicle.deviceId}`}`.execute(fixture.fleet.db);
    const row = { chain: fixture.application.id, outcome: 'done' };
    expect(rows).toEqual([1, 2].map((version) => ({ ...row, version })));
  });
});

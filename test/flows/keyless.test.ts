import { randomBytes } from 'node:crypto';
import { BoxSession } from '@odograph/keyless/box-session';
import { parseCommandString } from '@odograph/keyless/command-string';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { answerChallenge, hello, openPhoneSession } from '@odograph/keyless/phone-session';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type KeylessHouse, startKeylessHouse } from './keyless-house.ts';

let house: KeylessHouse;

beforeAll(async () => {
  house = await startKeylessHouse();
});
afterAll(() => house?.stop());
beforeEach(async () => {
  await house.startBroker();
  await house.startCommand();
});
afterEach(() => house.disconnectAll());

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'));

describe('keyless access, from the platform to the box', () => {
  it('opens the box with what the interface answered, while the box is offline', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    const { authorizationId, token, key } = await house.issue(vehicle);
    const { body: record } = await house.api.get(`/v1/bluetooth-token/${authorizationId}/commands`);

    const session = new BoxSession({
      ...{ crypto: nodeCrypto, box: box.identity, list: box.list },
      createNonce: () => randomBytes(16),
      encryptReadio: record.encryptReadio,
    });
    const phoneNonce = randomBytes(16);
    const keys = { token: bytes(token), sessionKey: bytes(key), encryptionKey: bytes(record.key) };
    const challenge = session.hello(hello(keys, phoneNonce), Date.now());
    if (!challenge.ok) throw new Error(challenge.reason);
    const { proof, handshake } = answerChallenge(nodeCrypto, keys, phoneNonce, challenge.value);
    const proved = session.prove(proof, Date.now());
    const phone = proved.ok ? openPhoneSession(nodeCrypto, handshake, proved.value) : undefined;
    for (const encrypted of [false, true]) {
      const frame = phone?.frame('command', parseCommandString(record.unlock) ?? bytes(''), encrypted);
      expect(session.ask(frame ?? bytes(''), Date.now())).toMatchObject({ ok: true, value: { command: 'unlock' } });
    }
  });

  it('shuts a connected box to a revoked authorization, and to no other', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const [revoked, kept] = [await house.issue(vehicle), await house.issue(vehicle)];
    expect([box.verdict(revoked.token), box.verdict(kept.token)]).toEqual(['OK', 'OK']);
    await house.revoke(revoked.authorizationId);
    await house.expectConfirmed(box);
    expect([box.verdict(revoked.token), box.verdict(kept.token)]).toEqual(['REVOKED', 'OK']);
  });

  it('suspends and resumes an authorization at the box, and leaves the end of a suspension to the box itself', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const { authorizationId, token } = await house.issue(vehicle);
    const suspend = (until: number) => house.api.post('/v1/bluetooth-token/invalidate', { authorizationId, until });
    expect((await suspend(Date.now() + 600_000)).status).toBe(200);
    await house.expectConfirmed(box);
    expect(box.verdict(token)).toBe('SUSPENDED');
    await house.api.post('/v1/bluetooth-token/validate', { authorizationId });
    await house.expectConfirmed(box);
    expect([box.verdict(token), box.list()?.authorizations]).toEqual(['OK', []]);

    await suspend(Date.now() + 1500);
    await house.expectConfirmed(box);
    await box.disconnect();
    expect(box.verdict(token)).toBe('SUSPENDED');
    await eventually(async () => expect(box.verdict(token)).toBe('OK'));
  });

  it('replaces an authorization at the box: the old token ends with the update', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const old = await house.issue(vehicle);
    const { body } = await house.api.post(`/v1/bluetooth-token/${old.authorizationId}`, { until: Date.now() + 60_000 });
    await house.expectConfirmed(box);
    expect([box.verdict(old.token), box.verdict(body.token)]).toEqual(['REVOKED', 'OK']);
  });

  it('tells a box that was offline as soon as it is back, and DELETE /v1/user succeeds from then on', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    const { token } = await house.issue(vehicle, 'driver-offline');
    const first = await house.api.delete('/v1/user/driver-offline');
    expect([first.status, first.body.error]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED']);
    expect(box.verdict(token)).toBe('OK');
    await box.connect();
    await house.expectConfirmed(box);
    expect(box.verdict(token)).toBe('REVOKED');
    expect((await house.api.delete('/v1/user/driver-offline')).status).toBe(200);
  });

  it('deletes a driver at every box before it answers, and says so when one does not confirm in time', async () => {
    const vehicles = [await house.newVehicle(), await house.newVehicle()];
    const boxes = [];
    for (const vehicle of vehicles) boxes.push(await house.newBox(vehicle));
    for (const box of boxes) await box.connect();
    const issued: { token: string }[] = [];
    for (const vehicle of vehicles) issued.push(await house.issue(vehicle, 'driver-two'));
    const { status, body } = await house.api.delete('/v1/user/driver-two');
    expect([status, body]).toEqual([200, {}]);
    expect(boxes.map((box, index) => box.verdict(issued[index]?.token ?? ''))).toEqual(['REVOKED', 'REVOKED']);

    const silent = await house.newBox(await house.newVehicle());
    await silent.connect(false);
    await house.api.delete('/v1/device', { deviceId: boxes[1]?.identity.deviceId });
    await house.api.delete('/v1/device', { deviceId: silent.identity.deviceId });
    await house.api.post('/v1/device', { deviceId: silent.identity.deviceId, vehicleId: vehicles[1]?.id });
    for (const vehicle of vehicles) await house.issue(vehicle, 'driver-three');
    const answer = await house.api.delete('/v1/user/driver-three');
    expect([answer.status, answer.body.reason]).toEqual([409, 'NO_ACKNOWLEDGEMENT']);
  });

  it('ends the tokens of a device that is taken out of its vehicle', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const { authorizationId, token } = await house.issue(vehicle);
    await house.api.delete('/v1/device', { deviceId: vehicle.deviceId });
    await house.expectConfirmed(box);
    expect(box.verdict(token)).toBe('EPOCH');
    await house.api.post('/v1/device', { deviceId: vehicle.deviceId, vehicleId: vehicle.id });
    const { body } = await house.api.get(`/v1/bluetooth-token/${authorizationId}`);
    expect(box.verdict(body.token)).toBe('OK');
  });
});

describe('the way of a list of keys', () => {
  it('goes on after the broker was away: what was changed meanwhile, and what it had forgotten', async () => {
    const [changed, forgotten] = [await house.newVehicle(), await house.newVehicle()];
    const [first, second] = [await house.newBox(changed), await house.newBox(forgotten)];
    const [early, late] = [await house.issue(forgotten), await house.issue(changed)];
    await house.revoke(early.authorizationId);
    await second.connect();
    await house.expectConfirmed(second);
    await second.disconnect();

    await house.stopBroker();
    await house.revoke(late.authorizationId);
    await house.startBroker();
    await first.connect();
    await house.expectConfirmed(first);
    expect(first.verdict(late.token)).toBe('REVOKED');
    const replaced = house.erased(second);
    await replaced.connect();
    await eventually(async () => expect(replaced.verdict(early.token)).toBe('REVOKED'));
  });

  it('starts when the command service does, whoever was there at the change', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const { authorizationId, token } = await house.issue(vehicle);
    await house.stopCommand();
    await house.revoke(authorizationId);
    expect(box.verdict(token)).toBe('OK');
    await house.startCommand();
    await house.expectConfirmed(box);
    expect(box.verdict(token)).toBe('REVOKED');
  });

  it('ends at the newest list on every box, with two processes that publish, whatever is changed at once', async () => {
    const vehicles = await Promise.all([1, 2, 3, 4].map(() => house.newVehicle()));
    const boxes = [];
    for (const vehicle of vehicles) boxes.push(await house.newBox(vehicle));
    for (const box of boxes) await box.connect();
    const issued = [];
    for (let round = 0; round < 6; round += 1) {
      for (const vehicle of vehicles) issued.push(await house.issue(vehicle));
    }
    await Promise.all(issued.map(({ authorizationId }) => house.revoke(authorizationId)));
    for (const [index, box] of boxes.entries()) {
      await house.expectConfirmed(box);
      expect(box.list()).toMatchObject({ version: 6 });
      expect(box.list()?.authorizations).toHaveLength(6);
      const tokens = issued.filter((_one, number) => number % vehicles.length === index);
      expect(tokens.map(({ token }) => box.verdict(token))).toEqual(Array(6).fill('REVOKED'));
      expect([...box.received].sort((a, b) => a - b)).toEqual(box.received);
    }
  });

  it('is taken up again for a box whose list is newer than the platform knows', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    const [before, after] = [await house.issue(vehicle), await house.issue(vehicle)];
    for (let change = 0; change < 3; change += 1) {
      const body = { authorizationId: before.authorizationId, until: Date.now() + 600_000 };
      await house.api.post('/v1/bluetooth-token/invalidate', body);
    }
    await house.expectConfirmed(box);
    // As after the restoration of a backup.
    await sql`update device_key set list_version = 1, published_version = 1, confirmed_version = 1
      where device_id = ${vehicle.deviceId}`.execute(house.fleet.db);
    await house.revoke(after.authorizationId);
    await eventually(async () => expect(box.verdict(after.token)).toBe('REVOKED'));
    await house.expectConfirmed(box);
  });

  it('shows the operator a box that does not take it: its key is not the one of the platform', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    await house.newBox(vehicle);
    await eventually(async () => {
      const { rows } = await sql<{ reason: string }>`select refused_reason as reason from device_key
        where device_id = ${vehicle.deviceId}`.execute(house.fleet.db);
      expect(rows[0]?.reason).toBe('KEY_VERSION');
    });
  });

  it('leaves a row in the audit for each list that a box confirmed', async () => {
    const vehicle = await house.newVehicle();
    const box = await house.newBox(vehicle);
    await box.connect();
    await house.revoke((await house.issue(vehicle)).authorizationId);
    await house.expectConfirmed(box);
    const { rows } = await sql<{ chain: number; version: number }>`
      select chain, (details ->> 'version')::integer as version from audit
      where action = 'key-list.confirm' and actor = ${`device:${vehicle.deviceId}`}`.execute(house.fleet.db);
    expect(rows).toEqual([{ chain: house.application.id, version: 1 }]);
  });
});

import { randomUUID } from 'node:crypto';
import type { ApiAnswer, ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestVehicle, unlinkDevice } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, type Issuer, startIssuer } from '../access.fixture.ts';

let issuer: Issuer;
let api: ApiClient;
let vehicle: TestVehicle;

beforeAll(async () => {
  issuer = await startIssuer();
  ({ api } = issuer);
});
afterAll(() => issuer?.platform.stop());
beforeEach(async () => {
  vehicle = await createVehicle(issuer.platform.db, issuer.application);
});
const issuedId = (changes: Record<string, unknown> = {}) => issuer.issuedId(vehicle, changes);

describe('the params and commands of a device', () => {
  const both = async (id: string, of: 'params' | 'commands') => {
    const answers = [
      await api.get(`/v1/bluetooth-token/${of}?authorizationId=${id}`),
      await api.get(`/v1/bluetooth-token/${id}/${of}`),
    ];
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    return answers[1] as ApiAnswer;
  };
  const strings = ['immobilize', 'demobilize', 'lock', 'unlock', 'honk', 'turningLights', 'unlockTrunk'];
  const windows = ['openWindows', 'closeWindows'];
  const flagOf = (command: string) => `encrypt${command.charAt(0).toUpperCase()}${command.slice(1)}`;

  it('tell name and pin', async () => {
    await issuer.platform.db
      .updateTable('device')
      .set({ bluetooth_name: 'ODO-1', bluetooth_pin: '4711' })
      .where('id', '=', vehicle.deviceId)
      .execute();
    const { status, body } = await both(await issuedId(), 'params');
    expect([status, body]).toEqual([200, { name: 'ODO-1', pin: '4711' }]);
  });

  it('have every command string and flag of the record', async () => {
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

  it('follow the device model: what it does, what it wants encrypted, which outputs it switches', async () => {
    const model = randomUUID();
    await sql`insert into device_model (id, actions, proprietary_can, bluetooth, encrypted_commands, digital_outputs)
      values (${model}, '{LOCK,UNLOCK}', false, true, '{unlock,readio}', '{"lock": 1, "unlock": 2}')`.execute(
      issuer.platform.db,
    );
    vehicle = await createVehicle(issuer.platform.db, issuer.application, { model });
    const { body } = await both(await issuedId({ level: 'LOCK_UNLOCK' }), 'commands');
    expect([...strings, ...windows].filter((command) => body[command] !== '')).toEqual(['lock', 'unlock']);
    expect([...strings, 'readio'].filter((command) => body[flagOf(command)])).toEqual(['unlock', 'readio']);
    expect(body.digitalOutput).toEqual({ lock: 1, unlock: 2 });
  });

  it('leave the engine out of what LOCK_UNLOCK allows', async () => {
    const { body } = await both(await issuedId({ level: 'LOCK_UNLOCK' }), 'commands');
    expect([...strings, ...windows].filter((command) => body[command] === '')).toEqual(['immobilize', 'demobilize']);
  });

  it('are refused with INVALID_DEVICE for a device without Bluetooth, and for none', async () => {
    expect.assertions(14);
    for (const model of ['tracker', 'obd']) {
      vehicle = await createVehicle(issuer.platform.db, issuer.application, { model });
      const id = await issuedId();
      expectFailure(await both(id, 'params'), 400, 'INVALID_DEVICE');
      expectFailure(await both(id, 'commands'), 400, 'INVALID_DEVICE');
      await unlinkDevice(issuer.platform.db, vehicle.deviceId);
      expectFailure(await both(id, 'params'), 400, 'INVALID_DEVICE');
    }
  });
});

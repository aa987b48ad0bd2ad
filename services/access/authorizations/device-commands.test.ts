import { randomUUID } from 'node:crypto';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import { unlinkDevice } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { expectFailure, useAccess } from '../access.fixture.ts';

const access = useAccess();
const { issuedId } = access;

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
  });

  it('contain no engine commands for LOCK_UNLOCK', async () => {
    const { body } = await both(await issuedId({ level: 'LOCK_UNLOCK' }), 'commands');
    expect([...strings, ...windows].filter((command) => body[command] === '')).toEqual(['immobilize', 'demobilize']);
  });

  it('are refused with INVALID_DEVICE without Bluetooth, and without a device', async () => {
    expect.assertions(14);
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

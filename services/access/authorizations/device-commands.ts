import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import {
  type BluetoothCommand,
  bluetoothCommands,
  commandString,
  isWithinLevel,
} from '@odograph/keyless/command-string';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import type { Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import Type from 'typebox';
import { type DeviceKey, findVehicleKey } from '../device-keys/queries.ts';
import { commandSecrets } from './credentials.ts';
import type { Authorization } from './queries.ts';

/** The device protocol's action that each command string stands for; a device model lists the actions it supports. */
const actions: Readonly<Record<BluetoothCommand, string>> = {
  immobilize: 'IMMOBILIZE',
  demobilize: 'START',
  lock: 'LOCK',
  unlock: 'UNLOCK',
  honk: 'HONK',
  turningLights: 'TURNING-LIGHTS',
  unlockTrunk: 'UNLOCK-TRUNK',
  openWindows: 'OPEN-WINDOWS',
  closeWindows: 'CLOSE-WINDOWS',
};

type Flagged = BluetoothCommand | 'readio';
const flagged: readonly Flagged[] = [...bluetoothCommands, 'readio'];
const flagName = (command: Flagged): `encrypt${Capitalize<Flagged>}` =>
  `encrypt${command.charAt(0).toUpperCase()}${command.slice(1)}` as `encrypt${Capitalize<Flagged>}`;

const Command = Type.String({ description: 'empty when the device or the level does not allow it' });
const Flag = Type.Boolean({ description: 'whether it must be encrypted before it is sent' });

/** Interface specification, "Device commands record (Bluetooth)". */
export const CommandsRecord = Type.Object({
  key: Type.String({ description: 'encryption key, base64url' }),
  ...(Object.fromEntries(bluetoothCommands.map((command) => [command, Command])) as Record<
    BluetoothCommand,
    typeof Command
  >),
  ...(Object.fromEntries(flagged.map((command) => [flagName(command), Flag])) as Record<
    `encrypt${Capitalize<Flagged>}`,
    typeof Flag
  >),
  digitalOutput: Type.Record(Type.String(), Type.Number(), { description: 'command to number of its digital output' }),
});
export type CommandsRecord = Type.Static<typeof CommandsRecord>;

/** The Bluetooth side of the device that sits in a vehicle now. */
export interface BluetoothDevice {
  readonly name: string;
  readonly pin: string;
  readonly actions: readonly string[];
  /** Command strings, and `readio`. */
  readonly encrypted: readonly string[];
  readonly outputs: Readonly<Record<string, number>>;
}

/** @throws Failure INVALID_DEVICE when the vehicle has no device, or one of a family without these commands */
export async function findBluetoothDevice(db: Database, vehicleId: number): Promise<BluetoothDevice> {
  const row = await db
    .selectFrom('device_link')
    .innerJoin('device', 'device.id', 'device_link.device_id')
    .innerJoin('device_model', 'device_model.id', 'device.model_id')
    .select(['bluetooth_name', 'bluetooth_pin', 'actions', 'bluetooth', 'encrypted_commands', 'digital_outputs'])
    .where('vehicle_id', '=', vehicleId)
    .where(sql<boolean>`upper_inf(period)`)
    .executeTakeFirst();
  if (!row) throw new Failure('INVALID_DEVICE', 'the vehicle has no device', { reason: 'NO_DEVICE' });
  if (!row.bluetooth) throw new Failure('INVALID_DEVICE', 'the device has no Bluetooth', { reason: 'NO_BLUETOOTH' });
  return {
    name: row.bluetooth_name,
    pin: row.bluetooth_pin,
    actions: row.actions,
    encrypted: row.encrypted_commands,
    outputs: row.digital_outputs,
  };
}

/** One command as the box of this key takes it from the holder of this authorization; empty when it does not. */
function stringOf(
  command: BluetoothCommand,
  authorization: Pick<Authorization, 'level'>,
  { actions: supported, encrypted, outputs }: BluetoothDevice,
  { key, signed }: { key: Buffer; signed: Uint8Array },
): string {
  if (!supported.includes(actions[command]) || !isWithinLevel(authorization.level, command)) return '';
  const output = outputs[command];
  const allowed = { command, encrypted: encrypted.includes(command), ...(output === undefined ? {} : { output }) };
  return commandString(nodeCrypto, key, signed, allowed);
}

/**
 * What a phone needs to give commands to the device that sits in the vehicle now.
 * @param held the key of that device; without one nobody gets in, and every string is empty
 */
export function commandsRecord(
  device: BluetoothDevice,
  held: DeviceKey | undefined,
  authorization: Omit<Authorization, 'archived' | 'suspendedUntil'>,
): CommandsRecord {
  const secrets = held && { ...commandSecrets(held, authorization), deviceKey: held.key };
  const write = (command: BluetoothCommand) =>
    secrets ? stringOf(command, authorization, device, { key: secrets.deviceKey, signed: secrets.signed }) : '';
  return {
    key: secrets?.key ?? '',
    ...(Object.fromEntries(bluetoothCommands.map((command) => [command, write(command)])) as Record<
      BluetoothCommand,
      string
    >),
    ...(Object.fromEntries(flagged.map((command) => [flagName(command), device.encrypted.includes(command)])) as Record<
      `encrypt${Capitalize<Flagged>}`,
      boolean
    >),
    digitalOutput: { ...device.outputs },
  };
}

/** The device commands record of an authorization now. @throws Failure INVALID_DEVICE */
export async function findCommandsRecord(
  db: Database,
  sealer: Sealer,
  authorization: Omit<Authorization, 'archived' | 'suspendedUntil'>,
): Promise<CommandsRecord> {
  const device = await findBluetoothDevice(db, authorization.vehicleId);
  return commandsRecord(device, await findVehicleKey(db, sealer, authorization.vehicleId), authorization);
}

import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import {
  type BluetoothCommand,
  bluetoothCommands,
  commandString,
  isWithinLevel,
} from '@odograph/keyless/command-string';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import type { Level } from '@odograph/keyless/token';
import type { Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import Type from 'typebox';
import { type DeviceKey, findVehicleKey } from '../device-keys/queries.ts';
import type { AccessOptions } from '../shared/access-options.ts';
import { commandSecrets } from './issue.ts';
import { findAuthorization, type NewAuthorization } from './queries.ts';
import { AuthorizationPath, mayOpenVehicles, opensVehicles, route } from './rules.ts';

/** Action of the device protocol for each command string; a device model lists the actions it supports. */
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

const Command = Type.String({
  description: 'empty when the device or the level does not allow it',
  examples: ['AQIDBAUGBwg'],
});
const Flag = Type.Boolean({ description: 'whether it must be encrypted before it is sent' });

/** Interface specification, "Device commands record (Bluetooth)". */
export const DeviceCommands = Type.Object(
  {
    key: Type.String({ description: 'encryption key, base64url', examples: ['q83vEjRWeJCrze8SNFZ4kA'] }),
    ...(Object.fromEntries(bluetoothCommands.map((command) => [command, Command])) as Record<
      BluetoothCommand,
      typeof Command
    >),
    ...(Object.fromEntries(flagged.map((command) => [flagName(command), Flag])) as Record<
      `encrypt${Capitalize<Flagged>}`,
      typeof Flag
    >),
    digitalOutput: Type.Record(Type.String(), Type.Number(), {
      description: 'command to number of its digital output',
      examples: [{ lock: 1 }],
    }),
  },
  { title: 'DeviceCommands' },
);
export type DeviceCommands = Type.Static<typeof DeviceCommands>;

/** Bluetooth properties of a device and its model. */
interface BluetoothDevice {
  readonly name: string;
  readonly pin: string;
  readonly actions: readonly string[];
  /** Command strings, and `readio`. */
  readonly encrypted: readonly string[];
  readonly outputs: Readonly<Record<string, number>>;
}

const noBluetooth: BluetoothDevice = { name: '', pin: '', actions: [], encrypted: [], outputs: {} };

/**
 * Finds the Bluetooth properties of the device that is linked to a vehicle now.
 * @throws Failure INVALID_DEVICE when the vehicle has no device, or one without Bluetooth
 */
async function findBluetoothDevice(db: Database, vehicleId: number): Promise<BluetoothDevice> {
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

/** The command string for the device with this key; empty when model or level do not allow the command. */
function stringOf(
  command: BluetoothCommand,
  level: Level,
  { actions: supported, encrypted, outputs }: BluetoothDevice,
  { key, signed }: { key: Buffer; signed: Uint8Array },
): string {
  if (!supported.includes(actions[command]) || !isWithinLevel(level, command)) return '';
  const output = outputs[command];
  const allowed = { command, encrypted: encrypted.includes(command), ...(output === undefined ? {} : { output }) };
  return commandString(nodeCrypto, key, signed, allowed);
}

/** @param deviceKey without one, every command string is empty */
function toDeviceCommands(
  device: BluetoothDevice,
  deviceKey: DeviceKey | undefined,
  authorization: NewAuthorization,
): DeviceCommands {
  const secrets = deviceKey && { ...commandSecrets(deviceKey, authorization), deviceKey: deviceKey.key };
  const write = (command: BluetoothCommand) =>
    secrets ? stringOf(command, authorization.level, device, { key: secrets.deviceKey, signed: secrets.signed }) : '';
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

async function findDeviceCommands(
  db: Database,
  sealer: Sealer,
  authorization: NewAuthorization,
): Promise<DeviceCommands> {
  const device = await findBluetoothDevice(db, authorization.vehicleId);
  return toDeviceCommands(device, await findVehicleKey(db, sealer, authorization.vehicleId), authorization);
}

/**
 * Computes the device commands of a booking's authorization; all of them empty for a device without Bluetooth, and for
 * an API key that must not open vehicles.
 */
export async function findBookingCommands(
  db: Database,
  sealer: Sealer,
  caller: Caller,
  authorization: NewAuthorization,
): Promise<DeviceCommands> {
  if (!mayOpenVehicles(caller)) return toDeviceCommands(noBluetooth, undefined, authorization);
  try {
    return await findDeviceCommands(db, sealer, authorization);
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'INVALID_DEVICE')) throw error;
    return toDeviceCommands(noBluetooth, undefined, authorization);
  }
}

const ConnectionParams = Type.Object(
  {
    name: Type.String({ description: 'Bluetooth connection name', examples: ['ODO-0001'] }),
    pin: Type.String({ examples: ['0000'] }),
  },
  { title: 'BluetoothConnection' },
);

/** GET /v1/bluetooth-token/params and commands, each with its equivalent route. */
export function deviceCommandRoutes({ db, sealer }: AccessOptions): RoutePlugin {
  const paramsSchema = {
    ...route,
    summary: 'Name and pin for the Bluetooth connection',
    response: answers(ConnectionParams, 'UNKNOWN_AUTHORIZATION', 'INVALID_DEVICE', 'UNAUTHORIZED'),
  };
  const commandsSchema = {
    ...route,
    summary: 'Command strings that a phone may send to the device over Bluetooth',
    response: answers(DeviceCommands, 'UNKNOWN_AUTHORIZATION', 'INVALID_DEVICE', 'UNAUTHORIZED'),
  };
  const paramsOf = async (caller: Caller, id: string) => {
    const { vehicleId } = await findAuthorization(db, caller, id);
    const { name, pin } = await findBluetoothDevice(db, vehicleId);
    return { name, pin };
  };
  const commandsOf = (caller: Caller, id: string) =>
    db.transaction().execute(async (trx) => findDeviceCommands(trx, sealer, await findAuthorization(trx, caller, id)));

  const [inQuery, inPath] = ['/v1/bluetooth-token', '/v1/bluetooth-token/:authorizationId'];
  const config = opensVehicles;
  return (http) => {
    const query = { querystring: AuthorizationPath };
    const path = { params: AuthorizationPath };
    http.get(`${inQuery}/params`, { config, schema: { ...paramsSchema, ...query } }, async (request) =>
      paramsOf(request.caller, request.query.authorizationId),
    );
    http.get(`${inPath}/params`, { config, schema: { ...paramsSchema, ...path } }, async (request) =>
      paramsOf(request.caller, request.params.authorizationId),
    );
    http.get(`${inQuery}/commands`, { config, schema: { ...commandsSchema, ...query } }, async (request) =>
      commandsOf(request.caller, request.query.authorizationId),
    );
    http.get(`${inPath}/commands`, { config, schema: { ...commandsSchema, ...path } }, async (request) =>
      commandsOf(request.caller, request.params.authorizationId),
    );
  };
}

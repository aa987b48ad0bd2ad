import { ascii, concat, equalInConstantTime, fromBase64Url, toBase64Url } from './bytes.ts';
import { commandStringKey, type KeylessCrypto } from './key-hierarchy.ts';
import type { Level } from './token.ts';

/** The commands of the device commands record; the position in this list, from 1, is the opcode. */
export const bluetoothCommands = [
  'immobilize',
  'demobilize',
  'lock',
  'unlock',
  'honk',
  'turningLights',
  'unlockTrunk',
  'openWindows',
  'closeWindows',
] as const;
export type BluetoothCommand = (typeof bluetoothCommands)[number];

/** A command that the platform allows to the holder of one token. */
export interface AllowedCommand {
  readonly command: BluetoothCommand;
  /** Whether the device accepts it only encrypted. */
  readonly encrypted: boolean;
  /** Digital output to switch, 0 to 255, on devices that execute commands by switching outputs. */
  readonly output?: number;
}

const format = 1;
const encryptedFlag = 1;
const outputFlag = 2;
const macBytes = 16;
const fieldBytes = 4;

/** Tells whether a level includes a command: LOCK_UNLOCK includes all but those of the engine. */
export function isWithinLevel(level: Level, command: BluetoothCommand): boolean {
  return level === 'DRIVE' || (command !== 'immobilize' && command !== 'demobilize');
}

function macOf(crypto: KeylessCrypto, deviceKey: Uint8Array, signedToken: Uint8Array, fields: Uint8Array): Uint8Array {
  const key = commandStringKey(crypto, deviceKey);
  return crypto.hmacSha256(key, concat(ascii('command string'), signedToken, fields)).subarray(0, macBytes);
}

/** Encodes the command as the phone sends it, 20 bytes: "Command strings" in docs/keyless.md. */
export function encodeCommand(
  crypto: KeylessCrypto,
  deviceKey: Uint8Array,
  signedToken: Uint8Array,
  { command, encrypted, output }: AllowedCommand,
): Uint8Array {
  const flags = (encrypted ? encryptedFlag : 0) | (output === undefined ? 0 : outputFlag);
  const fields = Uint8Array.of(format, bluetoothCommands.indexOf(command) + 1, flags, output ?? 0);
  return concat(fields, macOf(crypto, deviceKey, signedToken, fields));
}

/** Encodes the command as the device commands record contains it: encodeCommand() in base64url. */
export function commandString(
  crypto: KeylessCrypto,
  deviceKey: Uint8Array,
  signedToken: Uint8Array,
  allowed: AllowedCommand,
): string {
  return toBase64Url(encodeCommand(crypto, deviceKey, signedToken, allowed));
}

/** Verifies a command sent with a token. @returns undefined for one that the platform did not allow to its holder */
export function verifyCommand(
  crypto: KeylessCrypto,
  deviceKey: Uint8Array,
  signedToken: Uint8Array,
  bytes: Uint8Array,
): AllowedCommand | undefined {
  if (bytes.length !== fieldBytes + macBytes) return undefined;
  const fields = bytes.subarray(0, fieldBytes);
  const mac = macOf(crypto, deviceKey, signedToken, fields);
  if (!equalInConstantTime(mac, bytes.subarray(fieldBytes)) || fields[0] !== format) return undefined;
  const command = bluetoothCommands[(fields[1] ?? 0) - 1];
  const flags = fields[2] ?? 0;
  if (command === undefined || flags > (encryptedFlag | outputFlag)) return undefined;
  return {
    command,
    encrypted: (flags & encryptedFlag) !== 0,
    ...((flags & outputFlag) === 0 ? {} : { output: fields[3] ?? 0 }),
  };
}

/** Decodes a command string. @returns undefined for other text */
export function parseCommandString(text: string): Uint8Array | undefined {
  const bytes = fromBase64Url(text);
  return bytes?.length === fieldBytes + macBytes ? bytes : undefined;
}

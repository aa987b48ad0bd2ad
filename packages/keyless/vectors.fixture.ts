import { concat, toBase64Url } from './bytes.ts';
import { deviceProof, openChannel, phoneProof, protectFrame, protectResult } from './channel.ts';
import { bluetoothCommands, commandString, encodeCommand } from './command-string.ts';
import type { KeylessCrypto } from './crypto.ts';
import { commandStringKey, deviceTag, encryptionKey, listKey, sessionKey, tokenKey } from './key-hierarchy.ts';
import { type KeyList, signConfirmation, signKeyList } from './key-list.ts';
import { encodeSignedPart, signToken, type TokenFields } from './token.ts';

/** Inputs of the test vectors; bytes in hexadecimal. */
export interface VectorInput {
  readonly deviceKey: string;
  readonly token: TokenFields;
  readonly phoneNonce: string;
  readonly deviceNonce: string;
  readonly list: KeyList;
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const bytes = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

/** Computes every value of vectors.json from the inputs, in the order of docs/keyless.md. */
export function vectorsFrom(crypto: KeylessCrypto, input: VectorInput) {
  const deviceKey = bytes(input.deviceKey);
  const signed = encodeSignedPart(crypto, input.token);
  const token = signToken(crypto, deviceKey, input.token);
  const handshake = {
    sessionKey: sessionKey(crypto, deviceKey, signed),
    encryptionKey: encryptionKey(crypto, deviceKey, signed),
    phoneNonce: bytes(input.phoneNonce),
    deviceNonce: bytes(input.deviceNonce),
  };
  const channel = openChannel(crypto, handshake);
  const unlock = encodeCommand(crypto, deviceKey, signed, { command: 'unlock', encrypted: true, output: 2 });
  return {
    deviceTag: hex(deviceTag(crypto, input.token.deviceId)),
    tokenKey: hex(tokenKey(crypto, deviceKey)),
    listKey: hex(listKey(crypto, deviceKey)),
    commandStringKey: hex(commandStringKey(crypto, deviceKey)),
    signedPart: hex(signed),
    token: hex(token),
    tokenText: toBase64Url(token),
    sessionKey: hex(handshake.sessionKey),
    sessionKeyText: toBase64Url(handshake.sessionKey),
    encryptionKey: hex(handshake.encryptionKey),
    commandStrings: Object.fromEntries(
      bluetoothCommands.map((command) => [
        command,
        commandString(crypto, deviceKey, signed, { command, encrypted: false }),
      ]),
    ),
    encryptedUnlockOnOutput2: toBase64Url(unlock),
    hello: hex(concat(token, handshake.phoneNonce)),
    challenge: hex(handshake.deviceNonce),
    phoneProof: hex(phoneProof(crypto, handshake)),
    deviceProof: hex(deviceProof(crypto, handshake)),
    channelMacKey: hex(channel.mac),
    channelCipherKey: hex(channel.cipher),
    plainReadioFrame: hex(
      protectFrame(crypto, channel, { kind: 'readio', counter: 1, encrypted: false, body: new Uint8Array(0) }),
    ),
    encryptedUnlockFrame: hex(
      protectFrame(crypto, channel, { kind: 'command', counter: 2, encrypted: true, body: unlock }),
    ),
    result: hex(protectResult(crypto, channel, { counter: 2, status: 0, data: new Uint8Array(0) })),
    keyListMessage: signKeyList(crypto, { deviceId: input.token.deviceId, deviceKey }, input.list),
    confirmation: signConfirmation(crypto, { deviceId: input.token.deviceId, deviceKey }, input.list),
  };
}

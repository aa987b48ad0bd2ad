import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concat, fromBase64Url, toBase64Url, uuidBytes, uuidText } from './bytes.ts';
import { bluetoothCommands, commandString, encodeCommand } from './command-string.ts';
import {
  commandStringKey,
  deviceTag,
  encryptionKey,
  hkdf,
  type KeylessCrypto,
  listKey,
  sessionKey,
  tokenKey,
} from './key-hierarchy.ts';
import { type KeyList, signConfirmation, signKeyList } from './key-list.ts';
import { nodeCrypto } from './node-crypto.ts';
import { deviceProof, openChannel, phoneProof, protectFrame, protectResult } from './session.ts';
import { encodeSignedPart, signToken, type TokenFields } from './token.ts';

/** Inputs of the test vectors; bytes in hexadecimal. */
interface VectorInput {
  readonly deviceKey: string;
  readonly token: TokenFields;
  readonly phoneNonce: string;
  readonly deviceNonce: string;
  readonly list: KeyList;
}

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const hex = (text: string) => Buffer.from(text, 'hex');

/** Computes every value of vectors.json from the inputs, in the order of docs/keyless.md. */
function vectorsFrom(crypto: KeylessCrypto, input: VectorInput) {
  const deviceKey = hex(input.deviceKey);
  const signed = encodeSignedPart(crypto, input.token);
  const token = signToken(crypto, deviceKey, input.token);
  const handshake = {
    sessionKey: sessionKey(crypto, deviceKey, signed),
    encryptionKey: encryptionKey(crypto, deviceKey, signed),
    phoneNonce: hex(input.phoneNonce),
    deviceNonce: hex(input.deviceNonce),
  };
  const channel = openChannel(crypto, handshake);
  const unlock = encodeCommand(crypto, deviceKey, signed, { command: 'unlock', encrypted: true, output: 2 });
  return {
    deviceTag: toHex(deviceTag(crypto, input.token.deviceId)),
    tokenKey: toHex(tokenKey(crypto, deviceKey)),
    listKey: toHex(listKey(crypto, deviceKey)),
    commandStringKey: toHex(commandStringKey(crypto, deviceKey)),
    signedPart: toHex(signed),
    token: toHex(token),
    tokenText: toBase64Url(token),
    sessionKey: toHex(handshake.sessionKey),
    sessionKeyText: toBase64Url(handshake.sessionKey),
    encryptionKey: toHex(handshake.encryptionKey),
    commandStrings: Object.fromEntries(
      bluetoothCommands.map((command) => [
        command,
        commandString(crypto, deviceKey, signed, { command, encrypted: false }),
      ]),
    ),
    encryptedUnlockOnOutput2: toBase64Url(unlock),
    hello: toHex(concat(token, handshake.phoneNonce)),
    challenge: toHex(handshake.deviceNonce),
    phoneProof: toHex(phoneProof(crypto, handshake)),
    deviceProof: toHex(deviceProof(crypto, handshake)),
    channelMacKey: toHex(channel.mac),
    channelCipherKey: toHex(channel.cipher),
    plainReadioFrame: toHex(
      protectFrame(crypto, channel, { kind: 'readio', counter: 1, encrypted: false, body: new Uint8Array(0) }),
    ),
    encryptedUnlockFrame: toHex(
      protectFrame(crypto, channel, { kind: 'command', counter: 2, encrypted: true, body: unlock }),
    ),
    result: toHex(protectResult(crypto, channel, { counter: 2, status: 0, data: new Uint8Array(0) })),
    keyListMessage: signKeyList(crypto, { deviceId: input.token.deviceId, deviceKey }, input.list),
    confirmation: signConfirmation(crypto, { deviceId: input.token.deviceId, deviceKey }, input.list),
  };
}

const { input, expected } = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as {
  input: VectorInput;
  expected: unknown;
};
const anyBytes = (maxLength: number) => fc.uint8Array({ maxLength });

describe('the published formats', () => {
  it('produce the test vectors of vectors.json byte for byte', () => {
    expect(JSON.parse(JSON.stringify(vectorsFrom(nodeCrypto, input)))).toEqual(expected);
  });

  it('derive the keys of RFC 5869, test cases 1 and 3', () => {
    const key = hex('0b'.repeat(22));
    const first = { key, salt: hex('000102030405060708090a0b0c'), info: hex('f0f1f2f3f4f5f6f7f8f9'), length: 42 };
    expect(Buffer.from(hkdf(nodeCrypto, first)).toString('hex')).toBe(
      '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    );
    const third = { key, salt: hex(''), info: hex(''), length: 42 };
    expect(Buffer.from(hkdf(nodeCrypto, third)).toString('hex')).toBe(
      '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    );
  });

  it('derive the same keys as another implementation of HKDF', () => {
    fc.assert(
      fc.property(
        anyBytes(80),
        anyBytes(80),
        anyBytes(80),
        fc.integer({ min: 1, max: 200 }),
        (key, salt, info, length) => {
          const other = Buffer.from(hkdfSync('sha256', key, salt, info, length));
          expect(Buffer.from(hkdf(nodeCrypto, { key, salt, info, length }))).toEqual(other);
        },
      ),
    );
  });

  it('encode base64url and UUIDs as Node.js does, and decode only canonical text', () => {
    fc.assert(
      fc.property(anyBytes(100), (bytes) => {
        const text = Buffer.from(bytes).toString('base64url');
        expect(toBase64Url(bytes)).toBe(text);
        expect(fromBase64Url(text)).toEqual(bytes);
      }),
    );
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(uuidText(uuidBytes(uuid))).toBe(uuid);
      }),
    );
    for (const other of ['A', 'AB', 'AA=', 'A+', '*', 'AAA/']) expect(fromBase64Url(other)).toBeUndefined();
  });
});

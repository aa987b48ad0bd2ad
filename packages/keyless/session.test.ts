import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type BluetoothCommand,
  bluetoothCommands,
  commandString,
  encodeCommand,
  parseCommandString,
  verifyCommand,
} from './command-string.ts';
import { encryptionKey, sessionKey } from './key-hierarchy.ts';
import type { DeviceIdentity, KeyList } from './key-list.ts';
import { nodeCrypto } from './node-crypto.ts';
import {
  answerChallenge,
  challengeMs,
  DeviceSession,
  hello,
  openPhoneSession,
  type PhoneKeys,
  type PhoneSession,
  sessionMs,
} from './session.ts';
import { type Level, signedTokenBytes, signToken } from './token.ts';

const device: DeviceIdentity = { deviceId: '350000000000001', deviceKey: randomBytes(32), keyVersion: 1 };
const startMs = 1_763_712_000_000;
const endMs = startMs + 3_600_000;
const authorizationId = randomUUID();

/** The keys that the platform gives to a phone. */
function keysOf(level: Level = 'DRIVE', deviceKey = device.deviceKey): PhoneKeys {
  const interval = { notBeforeMs: startMs, notAfterMs: endMs };
  const fields = { ...interval, deviceId: device.deviceId, authorizationId, level, keyVersion: 1, epoch: 1 };
  const token = signToken(nodeCrypto, deviceKey, fields);
  const signed = token.subarray(0, signedTokenBytes);
  return {
    token,
    sessionKey: sessionKey(nodeCrypto, deviceKey, signed),
    encryptionKey: encryptionKey(nodeCrypto, deviceKey, signed),
  };
}

function allowed(keys: PhoneKeys, command: BluetoothCommand, encrypted = false): Uint8Array {
  return encodeCommand(nodeCrypto, device.deviceKey, keys.token.subarray(0, signedTokenBytes), { command, encrypted });
}

/** Copies of bytes, each with another bit changed. */
function bitFlips(bytes: Uint8Array): Uint8Array[] {
  return Array.from({ length: bytes.length * 8 }, (_, bit) =>
    bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))),
  );
}

let list: KeyList | undefined;
let session: DeviceSession;
beforeEach(() => {
  list = undefined;
  session = newSession();
});

function newSession(encryptReadio = false): DeviceSession {
  const createNonce = () => randomBytes(16);
  return new DeviceSession({ crypto: nodeCrypto, device, list: () => list, createNonce, encryptReadio });
}

function granted<T>(answer: { ok: true; value: T } | { ok: false; reason: string }): T {
  if (!answer.ok) throw new Error(answer.reason);
  return answer.value;
}

function open(keys: PhoneKeys, at = session, nowMs = startMs): PhoneSession {
  const phoneNonce = randomBytes(16);
  const challenge = granted(at.acceptHello(hello(keys, phoneNonce), nowMs));
  const { proof, handshake } = answerChallenge(nodeCrypto, keys, phoneNonce, challenge);
  const phone = openPhoneSession(nodeCrypto, handshake, granted(at.acceptProof(proof, nowMs)));
  if (!phone) throw new Error('the device sent a wrong proof');
  return phone;
}

describe('a session between a phone and a device', () => {
  it('transports every command string, plain and encrypted, and its answer', () => {
    const keys = keysOf();
    const phone = open(keys);
    for (const command of bluetoothCommands) {
      for (const encrypted of [false, true]) {
        const frame = phone.frame('command', allowed(keys, command, encrypted), encrypted);
        expect(session.acceptFrame(frame, startMs)).toEqual({
          ok: true,
          value: { kind: 'command', command, encrypted },
        });
        const result = session.protectAnswer(0);
        expect(result && phone.readResult(result)?.status).toBe(0);
      }
    }
    expect(session.acceptFrame(phone.frame('readio', new Uint8Array(0), false), startMs)).toEqual({
      ok: true,
      value: { kind: 'readio' },
    });
  });

  it('does not show an encrypted command in its bytes', () => {
    const keys = keysOf();
    const body = allowed(keys, 'unlock', true);
    expect(Buffer.from(open(keys).frame('command', body, true)).includes(Buffer.from(body))).toBe(false);
  });

  it('does not open for a phone that has the token without the key', () => {
    const keys = keysOf();
    const nonce = randomBytes(16);
    const challenge = granted(session.acceptHello(hello(keys, nonce), startMs));
    const thief = { ...keys, sessionKey: randomBytes(32) };
    const { proof } = answerChallenge(nodeCrypto, thief, nonce, challenge);
    expect(session.acceptProof(proof, startMs)).toEqual({ ok: false, reason: 'PROOF' });
    const right = answerChallenge(nodeCrypto, keys, nonce, challenge).proof;
    expect(session.acceptProof(right, startMs)).toEqual({ ok: false, reason: 'NO_CHALLENGE' });
  });

  it('does not open by a replayed or a late proof', () => {
    const keys = keysOf();
    const nonce = randomBytes(16);
    const challenge = granted(session.acceptHello(hello(keys, nonce), startMs));
    const { proof } = answerChallenge(nodeCrypto, keys, nonce, challenge);
    expect(session.acceptProof(proof, startMs + challengeMs - 1).ok).toBe(true);
    session.acceptHello(hello(keys, nonce), startMs);
    expect(session.acceptProof(proof, startMs)).toEqual({ ok: false, reason: 'PROOF' });
    const again = granted(session.acceptHello(hello(keys, nonce), startMs));
    const late = answerChallenge(nodeCrypto, keys, nonce, again).proof;
    expect(session.acceptProof(late, startMs + challengeMs)).toEqual({ ok: false, reason: 'NO_CHALLENGE' });
  });

  it('is not opened by the phone when the proof of the device is wrong', () => {
    const keys = keysOf();
    const { handshake } = answerChallenge(nodeCrypto, keys, randomBytes(16), randomBytes(16));
    expect(openPhoneSession(nodeCrypto, handshake, randomBytes(32))).toBeUndefined();
  });

  it('refuses a frame that is replayed, out of order, altered or from another session', () => {
    const keys = keysOf();
    const phone = open(keys);
    const first = phone.frame('command', allowed(keys, 'lock'), false);
    const second = phone.frame('command', allowed(keys, 'unlock'), false);
    expect(session.acceptFrame(second, startMs).ok).toBe(true);
    expect(session.acceptFrame(second, startMs)).toEqual({ ok: false, reason: 'REPLAY' });
    expect(session.acceptFrame(first, startMs)).toEqual({ ok: false, reason: 'REPLAY' });
    const third = phone.frame('command', allowed(keys, 'lock', true), true);
    for (const changed of bitFlips(third)) {
      expect(session.acceptFrame(changed, startMs)).toEqual({ ok: false, reason: 'FRAME' });
    }
    expect(session.acceptFrame(third, startMs).ok).toBe(true);
    const other = newSession();
    open(keys, other);
    expect(other.acceptFrame(third, startMs)).toEqual({ ok: false, reason: 'FRAME' });
  });

  it('ends after 120 s, when the token expires, and when a revocation arrives', () => {
    const keys = keysOf();
    const lock = (phone: PhoneSession) => phone.frame('command', allowed(keys, 'lock'), false);
    const phone = open(keys);
    expect(session.acceptFrame(lock(phone), startMs + sessionMs - 1).ok).toBe(true);
    expect(session.acceptFrame(lock(phone), startMs + sessionMs)).toEqual({ ok: false, reason: 'NO_SESSION' });
    const nearTheEnd = open(keys, session, endMs - 1);
    expect(session.acceptFrame(lock(nearTheEnd), endMs)).toEqual({ ok: false, reason: 'EXPIRED' });
    const revoked = open(keys);
    const authorizations = [{ id: authorizationId, state: 'revoked', untilMs: endMs } as const];
    list = { version: 1, keyVersion: 1, epoch: 1, issuedAtMs: startMs, authorizations };
    expect(session.acceptFrame(lock(revoked), startMs)).toEqual({ ok: false, reason: 'REVOKED' });
    expect(session.acceptHello(hello(keys, randomBytes(16)), startMs)).toEqual({ ok: false, reason: 'REVOKED' });
  });

  it('allows LOCK_UNLOCK all commands but those of the engine, and refuses command strings of another token', () => {
    const opener = keysOf('LOCK_UNLOCK');
    const phone = open(opener);
    for (const command of bluetoothCommands) {
      const verdict = session.acceptFrame(phone.frame('command', allowed(opener, command), false), startMs);
      expect([command, verdict.ok]).toEqual([command, !command.endsWith('mobilize')]);
    }
    const foreign = allowed(keysOf('DRIVE'), 'lock');
    const refused = { ok: false, reason: 'NOT_ALLOWED' };
    expect(session.acceptFrame(phone.frame('command', foreign, false), startMs)).toEqual(refused);
    expect(session.acceptFrame(phone.frame('command', randomBytes(20), false), startMs)).toEqual(refused);
    expect(session.acceptFrame(phone.frame('command', new Uint8Array(0), false), startMs)).toEqual(refused);
  });

  it('refuses a plain frame where encryption is required', () => {
    const keys = keysOf();
    const strict = newSession(true);
    const phone = open(keys, strict);
    const refused = { ok: false, reason: 'NOT_ALLOWED' };
    expect(strict.acceptFrame(phone.frame('command', allowed(keys, 'unlock', true), false), startMs)).toEqual(refused);
    expect(strict.acceptFrame(phone.frame('readio', new Uint8Array(0), false), startMs)).toEqual(refused);
    expect(strict.acceptFrame(phone.frame('readio', new Uint8Array(0), true), startMs).ok).toBe(true);
  });
});

describe('a command string', () => {
  it('carries command, output and encryption, and verifies only unaltered', () => {
    const signed = keysOf().token.subarray(0, signedTokenBytes);
    const command = { command: 'openWindows', encrypted: true, output: 0 } as const;
    const bytes = parseCommandString(commandString(nodeCrypto, device.deviceKey, signed, command));
    if (!bytes) throw new Error('not a command string');
    expect(verifyCommand(nodeCrypto, device.deviceKey, signed, bytes)).toEqual(command);
    for (const changed of bitFlips(bytes)) {
      expect(verifyCommand(nodeCrypto, device.deviceKey, signed, changed)).toBeUndefined();
    }
    expect(parseCommandString('AAAA')).toBeUndefined();
  });
});

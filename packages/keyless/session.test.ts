import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { BoxSession, challengeMs, sessionMs } from './box-session.ts';
import {
  type BluetoothCommand,
  bluetoothCommands,
  commandString,
  encodeCommand,
  parseCommandString,
  verifyCommand,
} from './command-string.ts';
import { encryptionKey, sessionKey } from './key-hierarchy.ts';
import type { BoxIdentity, KeyList } from './key-list.ts';
import { nodeCrypto } from './node-crypto.ts';
import { answerChallenge, hello, openPhoneSession, type PhoneKeys, type PhoneSession } from './phone-session.ts';
import { type Level, signedTokenBytes, signToken } from './token.ts';

const box: BoxIdentity = { deviceId: '350000000000001', deviceKey: randomBytes(32), keyVersion: 1 };
const startMs = 1_763_712_000_000;
const endMs = startMs + 3_600_000;
const authorizationId = randomUUID();

/** What the platform hands to a phone. */
function keysOf(level: Level = 'DRIVE', deviceKey = box.deviceKey): PhoneKeys {
  const period = { notBeforeMs: startMs, notAfterMs: endMs };
  const fields = { ...period, deviceId: box.deviceId, authorizationId, level, keyVersion: 1, epoch: 1 };
  const token = signToken(nodeCrypto, deviceKey, fields);
  const signed = token.subarray(0, signedTokenBytes);
  return {
    token,
    sessionKey: sessionKey(nodeCrypto, deviceKey, signed),
    encryptionKey: encryptionKey(nodeCrypto, deviceKey, signed),
  };
}

function allowed(keys: PhoneKeys, command: BluetoothCommand, encrypted = false): Uint8Array {
  return encodeCommand(nodeCrypto, box.deviceKey, keys.token.subarray(0, signedTokenBytes), { command, encrypted });
}

let list: KeyList | undefined;
let session: BoxSession;
beforeEach(() => {
  list = undefined;
  session = newSession();
});

function newSession(encryptReadio = false): BoxSession {
  const createNonce = () => randomBytes(16);
  return new BoxSession({ crypto: nodeCrypto, box, list: () => list, createNonce, encryptReadio });
}

function granted<T>(answer: { ok: true; value: T } | { ok: false; reason: string }): T {
  if (!answer.ok) throw new Error(answer.reason);
  return answer.value;
}

function open(keys: PhoneKeys, with_ = session, nowMs = startMs): PhoneSession {
  const phoneNonce = randomBytes(16);
  const challenge = granted(with_.hello(hello(keys, phoneNonce), nowMs));
  const { proof, handshake } = answerChallenge(nodeCrypto, keys, phoneNonce, challenge);
  const phone = openPhoneSession(nodeCrypto, handshake, granted(with_.prove(proof, nowMs)));
  if (!phone) throw new Error('the box did not prove itself');
  return phone;
}

describe('a session between a phone and a box', () => {
  it('carries every command string, plain and encrypted, and its answer back', () => {
    const keys = keysOf();
    const phone = open(keys);
    for (const command of bluetoothCommands) {
      for (const encrypted of [false, true]) {
        const frame = phone.frame('command', allowed(keys, command, encrypted), encrypted);
        expect(session.ask(frame, startMs)).toEqual({ ok: true, value: { kind: 'command', command, encrypted } });
        const result = session.answer(0);
        expect(result && phone.readResult(result)?.status).toBe(0);
      }
    }
    expect(session.ask(phone.frame('readio', new Uint8Array(0), false), startMs)).toEqual({
      ok: true,
      value: { kind: 'readio' },
    });
  });

  it('shows an encrypted command to nobody', () => {
    const keys = keysOf();
    const body = allowed(keys, 'unlock', true);
    expect(Buffer.from(open(keys).frame('command', body, true)).includes(Buffer.from(body))).toBe(false);
  });

  it('is not opened by a phone that has the token and not the key', () => {
    const keys = keysOf();
    const nonce = randomBytes(16);
    const challenge = granted(session.hello(hello(keys, nonce), startMs));
    const thief = { ...keys, sessionKey: randomBytes(32) };
    const { proof } = answerChallenge(nodeCrypto, thief, nonce, challenge);
    expect(session.prove(proof, startMs)).toEqual({ ok: false, reason: 'PROOF' });
    const right = answerChallenge(nodeCrypto, keys, nonce, challenge).proof;
    expect(session.prove(right, startMs)).toEqual({ ok: false, reason: 'NO_CHALLENGE' });
  });

  it('is not opened by a proof that was heard before, or comes too late', () => {
    const keys = keysOf();
    const nonce = randomBytes(16);
    const challenge = granted(session.hello(hello(keys, nonce), startMs));
    const { proof } = answerChallenge(nodeCrypto, keys, nonce, challenge);
    expect(session.prove(proof, startMs + challengeMs - 1).ok).toBe(true);
    session.hello(hello(keys, nonce), startMs);
    expect(session.prove(proof, startMs)).toEqual({ ok: false, reason: 'PROOF' });
    const again = granted(session.hello(hello(keys, nonce), startMs));
    const late = answerChallenge(nodeCrypto, keys, nonce, again).proof;
    expect(session.prove(late, startMs + challengeMs)).toEqual({ ok: false, reason: 'NO_CHALLENGE' });
  });

  it('is not opened by the phone when the box cannot prove itself', () => {
    const keys = keysOf();
    const { handshake } = answerChallenge(nodeCrypto, keys, randomBytes(16), randomBytes(16));
    expect(openPhoneSession(nodeCrypto, handshake, randomBytes(32))).toBeUndefined();
  });

  it('refuses a frame that was heard before, out of order, changed or of another session', () => {
    const keys = keysOf();
    const phone = open(keys);
    const first = phone.frame('command', allowed(keys, 'lock'), false);
    const second = phone.frame('command', allowed(keys, 'unlock'), false);
    expect(session.ask(second, startMs).ok).toBe(true);
    expect(session.ask(second, startMs)).toEqual({ ok: false, reason: 'REPLAY' });
    expect(session.ask(first, startMs)).toEqual({ ok: false, reason: 'REPLAY' });
    const third = phone.frame('command', allowed(keys, 'lock', true), true);
    for (let bit = 0; bit < third.length * 8; bit += 1) {
      const changed = third.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, session.ask(changed, startMs)]).toEqual([bit, { ok: false, reason: 'FRAME' }]);
    }
    expect(session.ask(third, startMs).ok).toBe(true);
    const other = newSession();
    open(keys, other);
    expect(other.ask(third, startMs)).toEqual({ ok: false, reason: 'FRAME' });
  });

  it('ends with its time, with the token, and when a revocation arrives', () => {
    const keys = keysOf();
    const lock = (phone: PhoneSession) => phone.frame('command', allowed(keys, 'lock'), false);
    const phone = open(keys);
    expect(session.ask(lock(phone), startMs + sessionMs - 1).ok).toBe(true);
    expect(session.ask(lock(phone), startMs + sessionMs)).toEqual({ ok: false, reason: 'NO_SESSION' });
    const nearTheEnd = open(keys, session, endMs - 1);
    expect(session.ask(lock(nearTheEnd), endMs)).toEqual({ ok: false, reason: 'EXPIRED' });
    const revokedLater = open(keys);
    const authorizations = [{ id: authorizationId, state: 'revoked', untilMs: endMs } as const];
    list = { version: 1, keyVersion: 1, epoch: 1, authorizations };
    expect(session.ask(lock(revokedLater), startMs)).toEqual({ ok: false, reason: 'REVOKED' });
    expect(session.hello(hello(keys, randomBytes(16)), startMs)).toEqual({ ok: false, reason: 'REVOKED' });
  });

  it('lets a holder of LOCK_UNLOCK do all but drive, and nobody what the platform did not allow to this token', () => {
    const opener = keysOf('LOCK_UNLOCK');
    const phone = open(opener);
    for (const command of bluetoothCommands) {
      const verdict = session.ask(phone.frame('command', allowed(opener, command), false), startMs);
      expect([command, verdict.ok]).toEqual([command, !command.endsWith('mobilize')]);
    }
    const foreign = allowed(keysOf('DRIVE'), 'lock');
    const refused = { ok: false, reason: 'NOT_ALLOWED' };
    expect(session.ask(phone.frame('command', foreign, false), startMs)).toEqual(refused);
    expect(session.ask(phone.frame('command', randomBytes(20), false), startMs)).toEqual(refused);
    expect(session.ask(phone.frame('command', new Uint8Array(0), false), startMs)).toEqual(refused);
  });

  it('refuses in plain what must come encrypted', () => {
    const keys = keysOf();
    const strict = newSession(true);
    const phone = open(keys, strict);
    const refused = { ok: false, reason: 'NOT_ALLOWED' };
    expect(strict.ask(phone.frame('command', allowed(keys, 'unlock', true), false), startMs)).toEqual(refused);
    expect(strict.ask(phone.frame('readio', new Uint8Array(0), false), startMs)).toEqual(refused);
    expect(strict.ask(phone.frame('readio', new Uint8Array(0), true), startMs).ok).toBe(true);
  });
});

describe('a command string', () => {
  it('tells the box command, output and encryption, and no bit of it can be changed', () => {
    const signed = keysOf().token.subarray(0, signedTokenBytes);
    const command = { command: 'openWindows', encrypted: true, output: 0 } as const;
    const bytes = parseCommandString(commandString(nodeCrypto, box.deviceKey, signed, command));
    if (!bytes) throw new Error('it is a command string');
    expect(verifyCommand(nodeCrypto, box.deviceKey, signed, bytes)).toEqual(command);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verifyCommand(nodeCrypto, box.deviceKey, signed, changed)).toBeUndefined();
    }
    expect(parseCommandString('AAAA')).toBeUndefined();
  });
});

import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acceptKeyList,
  type DeviceIdentity,
  isConfirmation,
  type KeyList,
  parseKeyList,
  signConfirmation,
  signKeyList,
} from './key-list.ts';
import { nodeCrypto } from './node-crypto.ts';
import { parseTokenText, signToken, type TokenFields, verifyToken } from './token.ts';

const device: DeviceIdentity = { deviceId: '350000000000001', deviceKey: randomBytes(32), keyVersion: 2 };
const fields: TokenFields = {
  deviceId: device.deviceId,
  authorizationId: randomUUID(),
  level: 'DRIVE',
  notBeforeMs: 1_763_712_000_000,
  notAfterMs: 1_763_719_200_000,
  keyVersion: 2,
  epoch: 3,
};
const during = fields.notBeforeMs + 1000;
const sign = (changes: Partial<TokenFields> = {}) => signToken(nodeCrypto, device.deviceKey, { ...fields, ...changes });
const reasonOf = (token: Uint8Array, nowMs = during, list?: KeyList) => {
  const verdict = verifyToken(nodeCrypto, device, list, token, nowMs);
  return verdict.ok ? 'OK' : verdict.reason;
};
const listOf = (changes: Partial<KeyList> = {}): KeyList => ({
  version: 5,
  keyVersion: 2,
  epoch: 3,
  issuedAtMs: fields.notBeforeMs,
  authorizations: [],
  ...changes,
});
const accept = (list: KeyList, current?: KeyList, key = device.deviceKey) =>
  acceptKeyList(nodeCrypto, device, current, signKeyList(nodeCrypto, { ...device, deviceKey: key }, list));

describe('an offline device', () => {
  it('accepts a token from its first millisecond, and no longer at the millisecond of its end', () => {
    const token = sign();
    expect(reasonOf(token, fields.notBeforeMs - 1)).toBe('NOT_ACTIVE');
    expect(reasonOf(token, fields.notBeforeMs)).toBe('OK');
    expect(reasonOf(token, fields.notAfterMs - 1)).toBe('OK');
    expect(reasonOf(token, fields.notAfterMs)).toBe('EXPIRED');
  });

  it('accepts a token exactly within its interval, for any interval', () => {
    const time = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
    fc.assert(
      fc.property(time, time, time, (notBeforeMs, notAfterMs, nowMs) => {
        const inside = notBeforeMs <= nowMs && nowMs < notAfterMs;
        expect(reasonOf(sign({ notBeforeMs, notAfterMs }), nowMs) === 'OK').toBe(inside);
      }),
    );
  });

  it('refuses a token with any single bit changed', () => {
    const token = sign();
    for (let bit = 0; bit < token.length * 8; bit += 1) {
      const changed = token.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, reasonOf(changed)]).not.toEqual([bit, 'OK']);
    }
  });

  it('refuses all bytes that were not signed with its key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(reasonOf(bytes)).not.toBe('OK');
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (key) => {
        expect(reasonOf(signToken(nodeCrypto, key, fields))).toBe('MAC');
      }),
    );
    for (const length of [0, 79, 81]) expect(reasonOf(new Uint8Array(length))).toBe('MALFORMED');
  });

  it('refuses the token of another device, of another key version or of an earlier epoch', () => {
    expect(reasonOf(sign({ deviceId: '350000000000002' }))).toBe('DEVICE');
    expect(reasonOf(sign({ keyVersion: 1 }))).toBe('KEY_VERSION');
    expect(reasonOf(sign({ epoch: 2 }), during, listOf())).toBe('EPOCH');
    expect(reasonOf(sign({ epoch: 4 }), during, listOf())).toBe('OK');
  });

  it('refuses every token while it does not know the time', () => {
    expect(reasonOf(sign(), Number.NaN)).toBe('NOT_ACTIVE');
  });

  it('refuses every token while its clock is more than 5 minutes behind the issue of its key list', () => {
    const list = listOf({ issuedAtMs: during + 300_000 });
    expect(reasonOf(sign(), during, list)).toBe('OK');
    expect(reasonOf(sign(), during - 1, list)).toBe('CLOCK');
  });

  it('refuses a revoked authorization for good, and a suspended one until its suspension ends', () => {
    const id = fields.authorizationId;
    const revoked = listOf({ authorizations: [{ id, state: 'revoked', untilMs: during - 5 }] });
    expect(reasonOf(sign(), during, revoked)).toBe('REVOKED');
    const suspended = listOf({ authorizations: [{ id, state: 'suspended', untilMs: during + 1 }] });
    expect(reasonOf(sign(), during, suspended)).toBe('SUSPENDED');
    expect(reasonOf(sign(), during + 1, suspended)).toBe('OK');
    const other = listOf({ authorizations: [{ id: randomUUID(), state: 'revoked', untilMs: during }] });
    expect(reasonOf(sign(), during, other)).toBe('OK');
  });

  it('decodes only the canonical text of a token', () => {
    const text = Buffer.from(sign()).toString('base64url');
    expect(parseTokenText(text)).toEqual(sign());
    for (const other of [`${text}A`, text.slice(1), `${text}=`, '']) expect(parseTokenText(other)).toBeUndefined();
  });
});

describe('a key list', () => {
  const authorizations = [{ id: randomUUID(), state: 'suspended', untilMs: during } as const];

  it('is the same after JSON, and is acknowledged by its version', () => {
    const message = signKeyList(nodeCrypto, device, listOf({ authorizations }));
    const parsed = parseKeyList(JSON.stringify(message));
    expect(parsed).toEqual(message);
    if (!parsed) throw new Error('not parsed');
    const { list, acknowledgement } = acceptKeyList(nodeCrypto, device, undefined, parsed);
    const mac = signConfirmation(nodeCrypto, device, list ?? listOf());
    expect(acknowledgement).toEqual({ id: 'keys:5', ok: true, mac });
    expect(list).toEqual(listOf({ authorizations }));
  });

  it('is confirmed only by the holder of the device key, for its device, version and key version', () => {
    const { acknowledgement } = accept(listOf());
    const confirms = (identity = device, version = 5, keyVersion = 2) =>
      isConfirmation(nodeCrypto, identity, { version, keyVersion }, acknowledgement.mac ?? '');
    expect(confirms()).toBe(true);
    expect(confirms({ ...device, deviceKey: randomBytes(32) })).toBe(false);
    expect(confirms({ ...device, deviceId: '350000000000002' })).toBe(false);
    expect(confirms(device, 6)).toBe(false);
    expect(confirms(device, 5, 3)).toBe(false);
    for (const mac of ['', 'AAAA', '=']) {
      expect(isConfirmation(nodeCrypto, device, { version: 5, keyVersion: 2 }, mac)).toBe(false);
    }
  });

  it('of equal version is replaced only by a later issue', () => {
    const [early, late] = [listOf({ issuedAtMs: 1000 }), listOf({ issuedAtMs: 2000 })];
    expect(accept(late, early).list).toEqual(late);
    expect(accept(early, late).list).toEqual(late);
  });

  it('ends as the newest version, in any order and repetition of arrivals', () => {
    const versions = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
    fc.assert(
      fc.property(versions, (order) => {
        let current: KeyList | undefined;
        for (const version of order) current = accept(listOf({ version, epoch: version }), current).list;
        expect(current).toEqual(listOf({ version: Math.max(...order), epoch: Math.max(...order) }));
      }),
    );
  });

  it('is refused under another key or key version, and when altered anywhere', () => {
    const current = listOf({ version: 4 });
    const wrongKey = accept(listOf(), current, randomBytes(32));
    expect(wrongKey).toEqual({ list: current, acknowledgement: { id: 'keys:5', ok: false, reason: 'MAC' } });
    expect(accept(listOf({ keyVersion: 3 })).acknowledgement.reason).toBe('KEY_VERSION');
    const message = signKeyList(nodeCrypto, device, listOf({ authorizations }));
    for (const change of [
      { version: 6 },
      { epoch: 2 },
      { issuedAtMs: 0 },
      { authorizations: [] },
      { authorizations: [{ ...authorizations[0], state: 'revoked' as const, id: randomUUID(), untilMs: during }] },
      { authorizations: authorizations.map((one) => ({ ...one, untilMs: 0 })) },
      { mac: '' },
    ]) {
      expect(acceptKeyList(nodeCrypto, device, undefined, { ...message, ...change }).acknowledgement.ok).toBe(false);
    }
  });

  it('is not parsed from text of any other form', () => {
    const message = signKeyList(nodeCrypto, device, listOf({ authorizations }));
    for (const anyText of [fc.string(), fc.json()]) {
      fc.assert(
        fc.property(anyText, (text) => {
          expect(parseKeyList(text)).toBeUndefined();
        }),
      );
    }
    for (const change of [
      { version: -1 },
      { epoch: 1.5 },
      { issuedAtMs: null },
      { mac: 1 },
      { authorizations: [{}] },
      { keyVersion: '2' },
    ]) {
      expect(parseKeyList(JSON.stringify({ ...message, ...change }))).toBeUndefined();
    }
  });
});

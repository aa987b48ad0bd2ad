import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64Url, toBase64Url, uuidBytes, uuidText } from './bytes.ts';
import { hkdf } from './key-hierarchy.ts';
import { nodeCrypto } from './node-crypto.ts';
import { type VectorInput, vectorsFrom } from './vectors.fixture.ts';

const { input, expected } = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')) as {
  input: VectorInput;
  expected: unknown;
};
const hex = (text: string) => Buffer.from(text, 'hex');
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

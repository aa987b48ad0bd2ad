import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CanMessage } from './database.ts';
import { compileDecoder, type DecodedSignal } from './decode.ts';
import { encodeMessage } from './encode.fixture.ts';
import { parseDbc } from './parse-dbc.ts';

const decimal = fc
  .record({ digits: fc.integer({ min: -99_999, max: 99_999 }), places: fc.integer({ min: 0, max: 6 }) })
  .map(({ digits, places }) => (digits / 10 ** places).toFixed(places));

/** A signal anywhere in a message of up to 64 bytes, with a raw value that its bits hold. */
const signals = fc
  .record({
    length: fc.integer({ min: 1, max: 64 }),
    firstBit: fc.integer({ min: 0, max: 448 }),
    isBigEndian: fc.boolean(),
    isSigned: fc.boolean(),
    factor: decimal.filter((factor) => Number(factor) !== 0),
    offset: decimal,
    bits: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  })
  .map(({ length, firstBit, isBigEndian, isSigned, factor, offset, bits }) => ({
    raw: isSigned ? BigInt.asIntN(length, bits) : BigInt.asUintN(length, bits),
    startBit: isBigEndian ? (firstBit & ~7) + 7 - (firstBit & 7) : firstBit,
    length,
    format: `${isBigEndian ? 0 : 1}${isSigned ? '-' : '+'}`,
    scale: [factor, offset] as const,
  }));

/** Its value, 641270933834.7165, and the next raw value are the same double. */
const sixteenDigits = {
  ...{ raw: 6_412_709_338_318_087n, startBit: 0, length: 53, format: '1+' },
  scale: ['0.00010', '2.9078'] as const,
};

type Signal = typeof signals extends fc.Arbitrary<infer T> ? T : never;

function messageOf({ startBit, length, format }: Signal, [factor, offset]: readonly [string, string]): CanMessage {
  const signal = ` SG_ A : ${startBit}|${length}@${format} (${factor},${offset}) [0|0] "" X`;
  const { database, faults } = parseDbc(`BO_ 1 M: 64 X\n${signal}`);
  expect(faults).toEqual([]);
  return database.messages[0] as CanMessage;
}

function decodeMessage(message: CanMessage, data: Uint8Array): DecodedSignal[] {
  return compileDecoder({ messages: [message], attributes: new Map() })({
    id: message.id,
    isExtended: message.isExtended,
    data,
  });
}

describe('encoding and decoding', () => {
  it('gives back every raw value of every layout, bit by bit', () => {
    fc.assert(
      fc.property(signals, (signal) => {
        const message = messageOf(signal, ['1', '0']);
        const data = encodeMessage(message, new Map([['A', String(signal.raw)]]));
        expect(decodeMessage(message, data).map(({ value }) => String(value))).toEqual([String(signal.raw)]);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives back the same bits through any factor and offset', () => {
    fc.assert(
      fc.property(signals, (signal) => {
        const data = encodeMessage(messageOf(signal, ['1', '0']), new Map([['A', String(signal.raw)]]));
        const message = messageOf(signal, signal.scale);
        const [{ value } = { value: '' }] = decodeMessage(message, data);
        expect(encodeMessage(message, new Map([['A', value]]))).toEqual(data);
      }),
      { numRuns: 2000, examples: [[sixteenDigits]] },
    );
  });

  it('touches no bit outside of the signal', () => {
    fc.assert(
      fc.property(signals, (signal) => {
        const message = messageOf(signal, ['1', '0']);
        const allBits = signal.format.endsWith('-') ? -1n : 2n ** BigInt(signal.length) - 1n;
        const data = encodeMessage(message, new Map([['A', String(allBits)]]));
        const ones = [...data].reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
        expect(ones).toBe(signal.length);
      }),
    );
  });

  it.each(['obd2', 'j1939'])('gives back random frames of %s.dbc', (name) => {
    const { database } = parseDbc(readFileSync(new URL(`./data/${name}.dbc`, import.meta.url)));
    const frames = fc.record({
      message: fc.constantFrom(...database.messages),
      data: fc.uint8Array({ minLength: 8, maxLength: 8 }),
      pid: fc.integer({ min: 0, max: 0xa6 }),
    });
    fc.assert(
      fc.property(frames, ({ message, data, pid }) => {
        if (name === 'obd2') data.set([7, 0x41, pid]);
        const decoded = decodeMessage(message, data);
        const encoded = encodeMessage(message, new Map(decoded.map(({ signal, value }) => [signal, value])));
        expect(decodeMessage(message, encoded)).toEqual(decoded);
      }),
      { numRuns: 300 },
    );
  });

  it('refuses to encode values that the bits cannot hold, and names the signal', () => {
    const { database } = parseDbc('BO_ 1 M: 8 X\n SG_ Fuel : 0|8@1+ (0.5,0) [0|0] "" X');
    const encode = (name: string, value: number | string) =>
      encodeMessage(database.messages[0] as CanMessage, new Map([[name, value]]));
    expect(encode('Fuel', 127.5)).toEqual(new Uint8Array([255, 0, 0, 0, 0, 0, 0, 0]));
    expect(() => encode('Fuel', 128)).toThrow('128 is beyond the 8 bits of signal Fuel');
    expect(() => encode('Fuel', -1)).toThrow(RangeError);
    expect(() => encode('Fuel', 'full')).toThrow('the value of signal Fuel must be a decimal number');
    expect(() => encode('Oil', 1)).toThrow('message M has no signal Oil');
  });
});

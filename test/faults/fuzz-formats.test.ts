import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileModelDatabase } from '../../packages/codec/can/decode.ts';
import { maximumPacketBytes } from '../../packages/contracts/telemetry.ts';
import { fuzzedFormats } from './fuzz/formats.fixture.ts';
import { checkFor, runs, seed } from './fuzz/runs.fixture.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** CPU time of this process, which other processes of a busy machine do not add to. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Of one input. Garbage collection of other inputs falls into it. */
const maxSeconds = 2;
const fuzzedSeconds = runs(0.5, 600);
const megabyte = 2 ** 20;

describe(`uploads of any content (seed ${seed})`, { timeout: 1000 * (60 + 4 * fuzzedSeconds) }, () => {
  it.each(fuzzedFormats)('in $name give readings or faults, in bounded time and memory', async (format) => {
    const { inputs, decode } = format;
    const property = fc.property(inputs, (input) => {
      const before = cpuSeconds();
      decode(input);
      expect(cpuSeconds() - before).toBeLessThan(maxSeconds);
    });
    await checkFor(fuzzedSeconds / 3, property);
    const heapBefore = heapBytes();
    await checkFor((2 * fuzzedSeconds) / 3, property);
    expect(heapBytes() - heapBefore).toBeLessThan(10 * megabyte);
  });

  const repeat = (text: string) => Buffer.from(text.repeat(Math.floor(maximumPacketBytes / text.length)));
  const bytes = (hex: string) => Buffer.from(hex.repeat(Math.floor((2 * maximumPacketBytes) / hex.length)), 'hex');

  it.each([
    ['arrays in arrays', repeat('[')],
    [
      'closed arrays in arrays',
      Buffer.concat([repeat('[').subarray(1 + maximumPacketBytes / 2), repeat(']').subarray(maximumPacketBytes / 2)]),
    ],
    ['objects in objects', repeat('{"a":')],
    ['empty objects', Buffer.from(`[${'{},'.repeat(maximumPacketBytes / 3 - 1)}{}]`)],
    ['members of one object', Buffer.from(`{${Array.from({ length: 20_000 }, (_, index) => `"${index}":0`).join()}}`)],
    ['values of can', Buffer.from(`{"timestamp":1,"can":[${'{"key":"","value":""},'.repeat(10_000)}{}]}`)],
    ['digits', repeat('9')],
    ['escapes', Buffer.from(`["${'\\u0000'.repeat(40_000)}"]`)],
    ['zeros', Buffer.alloc(maximumPacketBytes)],
    ['ones', Buffer.alloc(maximumPacketBytes, 0xff)],
    ['CBOR arrays', bytes('81')],
    ['CBOR arrays without an end', bytes('9f')],
    ['CBOR maps without an end', bytes('bf00')],
    ['CBOR empty maps', Buffer.concat([Buffer.from('9f', 'hex'), bytes('a0')])],
    ['CBOR texts', Buffer.concat([Buffer.from('9f', 'hex'), bytes('60')])],
    ['Teltonika elements', Buffer.concat([Buffer.from('8eff', 'hex'), bytes('00')])],
    ['Teltonika records in Codec 8', Buffer.concat([Buffer.from('08ff', 'hex'), bytes('00')])],
    ['protobuf fields', bytes('0a00')],
    ['protobuf lengths', bytes('0aff')],
  ])('that hold nothing but %s are decoded in seconds by every format', (_name, payload) => {
    for (const { name, decodeBytes } of fuzzedFormats) {
      const before = cpuSeconds();
      decodeBytes(payload);
      expect([name, cpuSeconds() - before < maxSeconds]).toEqual([name, true]);
    }
  });
});

describe(`frames of readings (seed ${seed})`, () => {
  const { decode } = compileModelDatabase(
    'BO_ 1 M: 8 X\n SG_ A M : 0|8@1+ (1,0) [0|0] "" X\n SG_ B m1 : 8|56@1- (0.1,0) [0|0] "" X\n',
  );
  const id = fc.oneof(fc.constant('001'), fc.stringMatching(/^(?:[0-7][0-9A-Fa-f]{2}|[01][0-9A-Fa-f]{7})$/));
  const frame = fc.record({
    id,
    data: fc.uint8Array({ maxLength: 64 }).map((data) => Buffer.from(data).toString('hex')),
  });

  it('become distinct values within the bounds of a reading, whatever their bytes', {
    timeout: 1000 * (60 + 4 * fuzzedSeconds),
  }, async () => {
    await checkFor(
      fuzzedSeconds,
      fc.property(fc.array(frame, { maxLength: 1000 }), (frames) => {
        const values = decode(frames);
        expect(new Set(values.map(({ key }) => key)).size).toBe(values.length);
        expect(values.every(({ key, value }) => typeof key === 'string' && typeof value === 'string')).toBe(true);
      }),
    );
  });
});

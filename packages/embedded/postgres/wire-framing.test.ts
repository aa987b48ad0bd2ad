import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WireFormatError, WireFramer, wireMessage } from './wire-framing.ts';

/** Splits `bytes` at the given offsets. */
function cutAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const cuts = [0, ...offsets.map((offset) => offset % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

function framesOf(chunks: readonly Buffer[]): Buffer[] {
  const framer = new WireFramer();
  const frames: Buffer[] = [];
  for (const chunk of chunks) {
    framer.push(chunk);
    for (let frame = framer.nextMessage(); frame !== undefined; frame = framer.nextMessage()) frames.push(frame);
  }
  return frames;
}

const message = fc
  .tuple(
    fc.constantFrom('Q', 'P', 'B', 'd'),
    fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(Buffer.alloc(70_000))),
  )
  .map(([type, body]) => wireMessage(type, Buffer.from(body)));

describe('WireFramer', () => {
  it('yields the same messages however the stream is split', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 20 }), (messages, offsets) => {
        const frames = framesOf(cutAt(Buffer.concat(messages), offsets));
        expect(frames.map((frame) => frame.toString('hex'))).toEqual(messages.map((whole) => whole.toString('hex')));
      }),
    );
  });

  it('rejects an impossible message length', () => {
    const framer = new WireFramer();
    framer.push(Buffer.from([0x51, 0, 0, 0, 3]));
    expect(() => framer.nextMessage()).toThrow(WireFormatError);
    const huge = new WireFramer();
    huge.push(Buffer.from('GET / HTTP/1.1\r\n'));
    expect(() => huge.nextStartupPacket()).toThrow(WireFormatError);
  });
});

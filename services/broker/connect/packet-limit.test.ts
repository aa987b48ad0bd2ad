import { once } from 'node:events';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';
import { deviceTopic } from '@odograph/contracts/topics';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closed, connectPacket, openSocket, packet, publishPacket } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { checkPackets } from './packet-limit.ts';

const connackBytes = 4;
const connect = connectPacket({ clientId: 'd', username: 'd', password: 's' });

describe('the packet check', () => {
  const verdictOf = (chunks: Buffer[]): string | undefined => {
    const check = checkPackets();
    for (const chunk of chunks) {
      const fault = check.next(chunk);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  const cut = (stream: Buffer, at: number[]): Buffer[] => {
    const borders = [0, ...at.map((point) => point % (stream.length + 1)).sort((a, b) => a - b), stream.length];
    return borders.slice(1).map((border, index) => stream.subarray(borders[index], border));
  };
  const bodySizes = fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 16_383, 16_384));
  const good = fc.tuple(fc.constantFrom(0x30, 0x32, 0x82, 0xc0), bodySizes);
  const faults = {
    'a large PUBLISH': packet(0x32, Buffer.alloc(maximumPacketBytes + 257)).subarray(0, 40_000),
    'a large SUBSCRIBE': packet(0x82, Buffer.alloc(16 * 1024 + 1)),
    'the longest length': Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f]),
    'five bytes of length': Buffer.from([0x32, 0x80, 0x80, 0x80, 0x80, 0x01]),
  };
  const fault = fc.constantFrom(...(Object.keys(faults) as (keyof typeof faults)[]));
  const cuts = fc.array(fc.nat(), { maxLength: 30 });
  const stream = (packets: [number, number][]) =>
    packets.map(([header, size]) => packet(header, Buffer.alloc(size, 0xff)));
  const bytes = (buffer: Buffer) => Array.from(buffer, (_byte, index) => buffer.subarray(index, index + 1));

  it('accepts packets within their limits, wherever chunks begin', () => {
    fc.assert(
      fc.property(fc.array(good, { maxLength: 8 }), cuts, (packets, at) => {
        const whole = Buffer.concat([connect, ...stream(packets)]);
        expect(verdictOf(cut(whole, at))).toBeUndefined();
        expect(verdictOf(bytes(whole))).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  it('finds the same fault of a bad packet, wherever chunks begin', () => {
    fc.assert(
      fc.property(
        fc.array(good, { maxLength: 4 }),
        fault,
        fc.array(good, { maxLength: 4 }),
        cuts,
        (before, name, after, at) => {
          const whole = Buffer.concat([connect, ...stream(before), faults[name], ...stream(after)]);
          const verdict = verdictOf([whole]);
          expect(verdict).toBeDefined();
          expect(verdictOf(cut(whole, at))).toBe(verdict);
          expect(verdictOf(bytes(whole))).toBe(verdict);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('rejects a large first packet', () => {
    expect(verdictOf([publishPacket('t', 1, Buffer.alloc(16 * 1024))])).toBeDefined();
    expect(verdictOf([connect, publishPacket('t', 1, Buffer.alloc(16 * 1024))])).toBeUndefined();
  });
});

describe('a connection', () => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startTestPlatform([brokerService]);
  });
  afterAll(() => platform.stop());

  it('accepts a payload of 256 KiB and is closed by the header of one of 1 MB', async () => {
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    await device.upload('x'.repeat(maximumPacketBytes));
    void device.upload('x'.repeat(1_000_000)).catch(() => undefined);
    await closed(device);

    const socket = await openSocket(platform.mqttUrl);
    const { deviceId, secret } = identity;
    socket.write(connectPacket({ clientId: deviceId, username: deviceId, password: secret }));
    await once(socket, 'data');
    const announced = publishPacket(deviceTopic(deviceId, 'telemetry'), 1, Buffer.alloc(1_000_000));
    socket.write(announced.subarray(0, 10));
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(connackBytes);
  });

  it.each([
    ['five bytes of length', Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x01])],
    ['a CONNECT of 1 MB', packet(0x10, Buffer.alloc(1_000_000)).subarray(0, 100)],
    ['a PUBLISH before any CONNECT', publishPacket('t', 1, Buffer.from('x'))],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
    ['a CONNECT cut short by its own length', Buffer.concat([packet(0x10, Buffer.from([0, 4])), connect])],
  ])('is closed by %s', async (_what, bytes) => {
    const socket = await openSocket(platform.mqttUrl);
    socket.write(bytes);
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
    const { deviceId, secret } = await createDevice(platform.db);
    const other = await connectDevice(platform.mqttUrl, { deviceId, secret });
    await other.close();
  });
});

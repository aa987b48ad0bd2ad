import type { AvlFamily } from '@odograph/contracts/device-models';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAvlRecords } from './avl.ts';
import { crc16 } from './crc16.ts';
import { dataOf, decodeTeltonika, hex } from './decode.fixture.ts';
import {
  acknowledgeDatagram,
  acknowledgeRecords,
  maximumDataBytes,
  readDatagram,
  readHello,
  readPacket,
  wrapPacket,
} from './packets.ts';
import { firstRecordSeconds, isKnownCodec } from './upload.ts';

const readingsOf = (packet: string, family?: AvlFamily) =>
  decodeTeltonika(dataOf(packet), 0, family).readings.map(({ reading }) => reading);

// From "Teltonika Data Sending Protocols" of Teltonika's wiki: bytes, and the values that it gives for them.
const codec8 = `00 00 00 00 00 00 00 36 08 01 00 00 01 6B 40 D8 EA 30 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01
  05 02 15 03 01 01 01 42 5E 0F 01 F1 00 00 60 1A 01 4E 00 00 00 00 00 00 00 00 01 00 00 C7 CF`;
const codec8Two = `00 00 00 00 00 00 00 43 08 02 00 00 01 6B 40 D5 7B 48 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01
  01 01 01 00 00 00 00 00 00 01 6B 40 D5 C1 98 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 01 01 01 01 00 00 00 02 00 00 25 2C`;
const codec8Extended = `00 00 00 00 00 00 00 4A 8E 01 00 00 01 6B 41 2C EE 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01
  00 05 00 01 00 01 01 00 01 00 11 00 1D 00 01 00 10 01 5E 2C 88 00 02 00 0B 00 00 00 00 35 44 C8 7A 00 0E 00 00 00 00 1D D7 E0 6A
  00 00 01 00 00 29 94`;
const codec16 = `000000000000005F10020000016BDBC7833000000000000000000000000000000000000B05040200010000030002000B00270042563A
  00000000016BDBC7871800000000000000000000000000000000000B05040200010000030002000B00260042563A00000200005FB3`;
// From the tests of Traccar's decoder: a position, an accelerometer, LTE cell, VIN and fault codes as text.
const moving = `00000000000000a38e0100000178b11c9e1000040bbbc91f03190c002100e113001300000010000600ef0100f00100150300c800004501001e
  070005004237e00018000a00ce166200430f970024059f000300f10000665900c70000001e00100000a1b500000002010000115756315a5a5a32455a38363031
  353338380119002950303239392c50303637352c50303637342c50303637322c50303637312c50303437312c50324241430100001ad8`;

describe('an AVL packet of Teltonika', () => {
  it('is decoded in Codec 8 as the maker documents it', () => {
    expect(readingsOf(codec8, 'fmb')).toEqual([
      {
        timestamp: 1_560_161_086,
        can: [
          { key: 'event', value: 'digital_input_1' },
          { key: 'priority', value: '1' },
          { key: 'gsm_signal', value: '3' },
          { key: 'digital_input_1', value: '1' },
          { key: 'external_voltage', value: '24.079' },
          { key: 'gsm_operator', value: '24602' },
          { key: 'ibutton', value: '0000000000000000' },
        ],
      },
    ]);
    expect(readingsOf(codec8Two).map(({ timestamp }) => timestamp)).toEqual([1_560_160_861, 1_560_160_879]);
  });

  it('is decoded in Codec 8 Extended as the maker documents it', () => {
    const [reading] = readingsOf(codec8Extended, 'fmb');
    expect(reading).toMatchObject({ timestamp: 1_560_166_592, status: { mileage: 22_949 } });
    expect(reading?.can).toEqual([
      { key: 'event', value: 'digital_input_1' },
      { key: 'priority', value: '1' },
      { key: 'digital_input_1', value: '1' },
      { key: 'axis_x', value: '29' },
      { key: 'iccid_1', value: '893700218' },
      { key: 'iccid_2', value: '500686954' },
    ]);
  });

  it('is decoded in Codec 16 as the maker documents it', () => {
    const readings = readingsOf(codec16);
    expect(readings.map(({ timestamp }) => timestamp)).toEqual([1_562_760_414, 1_562_760_415]);
    expect(readings[0]?.can).toEqual([
      { key: 'event', value: 'analog_input_3' },
      { key: 'generation_type', value: '5' },
      { key: 'digital_input_1', value: '0' },
      { key: 'digital_input_3', value: '0' },
      { key: 'analog_input_3', value: '0.039' },
      { key: 'external_voltage', value: '22.074' },
    ]);
  });

  it('gives a position, states and odometer to their fields, and text of variable length to can', () => {
    const [reading] = readingsOf(moving, 'fmb');
    expect(reading).toMatchObject({
      location: { latitude: 52.0296716, longitude: 6.7877833, altitude: 33, angle: 225, satellites: 19, speed: 19 },
      status: { ignition: true, movement: true, mileage: 41.397 },
    });
    expect(reading?.can).toContainEqual({ key: 'vin', value: 'WV1ZZZ2EZ86015388' });
    expect(reading?.can).toContainEqual({
      key: 'fault_codes',
      value: 'P0299,P0675,P0674,P0672,P0671,P0471,P2BAC',
    });
    expect(reading?.can).toContainEqual({ key: 'engine_rpm', value: '1439' });
  });

  it('without a fix keeps the last position with 0 satellites, but neither angle nor speed; zeros are no position', () => {
    const withoutFix = `000000000000002b080100000140d4e3ec6e000cc661d01674a5e0fffc00000900000004020100f0000242322318000000000100007a04`;
    expect(readingsOf(withoutFix)[0]?.location).toEqual({
      latitude: 37.6743392,
      longitude: 21.432776,
      altitude: -4,
      angle: 0,
      speed: 0,
      satellites: 9,
    });
    const record = hex('0000016B40D8EA30 01 00000001 00000002 0005 0005 00 0000 00 00 00 00 00 00'.replaceAll(' ', ''));
    const data = Buffer.concat([Buffer.from([8, 1]), record, Buffer.from([1])]);
    expect(decodeTeltonika(data).readings[0]?.reading.location).toEqual({
      latitude: 0.000_000_2,
      longitude: 0.000_000_1,
      altitude: 5,
      satellites: 0,
    });
    expect(readingsOf(codec8)[0]?.location).toBeUndefined();
  });

  it('is a fault of the whole upload when its records do not fill the data field', () => {
    const data = dataOf(codec8);
    for (const broken of [data.subarray(0, 30), Buffer.concat([data, data]), hex('0801'), hex('ff0101')]) {
      expect(decodeTeltonika(broken)).toMatchObject({ readings: [], faults: [{ index: null, reason: 'MALFORMED' }] });
    }
  });

  it('loses nothing of a value that is longer than a value of can may be', () => {
    const value = Buffer.alloc(1500, 0xab);
    const header = hex(`8e01 0000016B40D8EA30 00 ${'00'.repeat(15)} 0000 0001 ${'0000'.repeat(4)}`);
    const variable = hex('0001 0101 05dc');
    const data = Buffer.concat([header, variable, value, Buffer.from([1])]);
    const [decoded] = decodeTeltonika(data, 0, 'fmb').readings;
    const parts = decoded?.reading.can?.filter(({ key }) => key.startsWith('crash_trace')) ?? [];
    expect(parts.map(({ key }) => key)).toEqual(['crash_trace', 'crash_trace_2', 'crash_trace_3']);
    expect(parts.map(({ value: part }) => part).join('')).toBe(value.toString('hex'));
  });
});

describe('the stream of a TCP connection', () => {
  const hello = hex('000F333536333037303432343431303133');

  it('begins with the IMEI', () => {
    expect(readHello(hello)).toEqual({ frame: { kind: 'imei', imei: '356307042441013' }, bytes: 17 });
    expect(readHello(hex('ffff000f'))).toEqual({ frame: { kind: 'ping', count: 2 }, bytes: 2 });
    expect(readHello(Buffer.alloc(0))).toEqual({ bytes: 2 });
    for (let length = 2; length < hello.length; length += 1) {
      expect(readHello(hello.subarray(0, length))).toEqual({ bytes: 17 });
    }
    expect(readHello(hex('47'))).toMatchObject({ fault: 'INVALID_IMEI' });
    expect(readHello(hex('0010'))).toMatchObject({ fault: 'INVALID_IMEI' });
    expect(readHello(hex('000F41414141414141414141414141414141'))).toMatchObject({ fault: 'INVALID_IMEI' });
  });

  it('gives the same frames however it is cut', () => {
    const packets = [codec8, codec8Extended, codec16].map(hex);
    const [first = hello, second = hello, third = hello] = packets;
    const stream = Buffer.concat([first, Buffer.from([0xff]), second, hello, third]);
    const whole = ['packet', 'ping', 'packet', 'imei', 'packet'];
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: stream.length - 1 })), (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), stream.length];
        const kinds: string[] = [];
        let pending: Buffer = Buffer.alloc(0);
        let start = 0;
        for (const end of ends) {
          pending = Buffer.concat([pending, stream.subarray(start, end)]);
          start = end;
          for (let { frame, bytes } = readPacket(pending); frame; { frame, bytes } = readPacket(pending)) {
            kinds.push(frame.kind);
            pending = pending.subarray(bytes);
          }
        }
        expect(kinds).toEqual(whole);
      }),
    );
  });

  it.each([
    ['a wrong checksum', codec8.replace('C7 CF', 'C7 CE'), 'WRONG_CHECKSUM'],
    ['other bytes than a preamble', '474554202f', 'NOT_TELTONIKA'],
    ['a first byte that is neither a ping nor of a preamble', '01', 'NOT_TELTONIKA'],
    ['a last byte that is none of a preamble', '00000001', 'NOT_TELTONIKA'],
    ['an absurd length', '00000000ffffffff', 'TOO_LARGE'],
    ['two counts that differ', wrapPacket(hex('080102')).toString('hex'), 'WRONG_COUNT'],
    ['an empty data field', wrapPacket(Buffer.alloc(0)).toString('hex'), 'WRONG_COUNT'],
  ])('is refused at %s', (_what, bytes, fault) => {
    expect(readPacket(hex(bytes))).toMatchObject({ fault });
  });

  it('may have a data field of exactly the limit, and none above it', () => {
    const read = (length: number) => readPacket(wrapPacket(Buffer.alloc(length)));
    expect(read(maximumDataBytes)).toMatchObject({ frame: { kind: 'packet' } });
    expect(read(maximumDataBytes + 1)).toMatchObject({ fault: 'TOO_LARGE' });
  });

  it('is acknowledged with the number of records', () => {
    expect(acknowledgeRecords(2)).toEqual(hex('00000002'));
  });
});

describe('a UDP packet', () => {
  // From the same document.
  const datagram = hex(
    '003DCAFE0105000F33353230393330383634303336353508010000016B4F815B30010000000000000000000000000000000103021503010101425DBC000001',
  );

  it('holds IMEI and records, and its ids are repeated in the answer', () => {
    const read = readDatagram(datagram);
    expect(read).toMatchObject({ packetId: 0xcafe, avlPacketId: 5, imei: '352093086403655' });
    if (!read) throw new Error('not read');
    expect(decodeTeltonika(read.data).readings).toHaveLength(1);
    expect(acknowledgeDatagram(read, 1)).toEqual(hex('0005CAFE010501'));
  });

  it('is refused when its two counts differ', () => {
    const changed = Buffer.from(datagram);
    changed[changed.length - 1] = 2;
    expect(readDatagram(changed)).toBeUndefined();
  });

  it('is refused when it is cut or longer than it says', () => {
    for (let length = 0; length < datagram.length; length += 1) {
      expect(readDatagram(datagram.subarray(0, length))).toBeUndefined();
    }
    expect(readDatagram(Buffer.concat([datagram, Buffer.alloc(1)]))).toBeUndefined();
  });
});

it('the known codecs are those of records and of messages, and no others, such as Codec 7', () => {
  const codecs = [undefined, ...Array.from({ length: 256 }, (_, codec) => codec)];
  expect(codecs.filter(isKnownCodec)).toEqual([8, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x8e]);
});

it('reads the time of the first record without decoding the records, and none from other data', () => {
  expect(firstRecordSeconds(dataOf(codec8))).toBe(decodeTeltonika(dataOf(codec8), 0).readings[0]?.reading.timestamp);
  expect(firstRecordSeconds(hex(`0801${'00'.repeat(7)}`))).toBeUndefined();
  expect(firstRecordSeconds(hex(`0c01${'00'.repeat(8)}`))).toBeUndefined();
});

it('the checksum is CRC-16/ARC', () => {
  // The check value of the catalogue of parametrised CRC algorithms (reveng).
  expect(crc16(Buffer.from('123456789'))).toBe(0xbb3d);
});

it('every record with the right lengths is read to its last byte', () => {
  const element = (bytes: number) =>
    fc.record({
      id: fc.integer({ min: 1, max: 65_535 }),
      value: fc.uint8Array({ minLength: bytes, maxLength: bytes }),
    });
  const elements = fc.tuple(...([1, 2, 4, 8] as const).map((bytes) => fc.array(element(bytes), { maxLength: 4 })));
  fc.assert(
    fc.property(fc.array(elements, { minLength: 1, maxLength: 5 }), (records) => {
      const bytes: number[] = [0x8e, records.length];
      const word = (value: number) => bytes.push(value >> 8, value & 0xff);
      for (const groups of records) {
        bytes.push(0, 0, 1, 0x6b, 0x40, 0xd8, 0xea, 0x30, 0, ...Array.from({ length: 15 }, () => 0));
        word(0);
        word(groups.flat().length);
        for (const group of groups) {
          word(group.length);
          for (const { id, value } of group) {
            word(id);
            bytes.push(...value);
          }
        }
        word(0);
      }
      bytes.push(records.length);
      expect(decodeAvlRecords(Buffer.from(bytes), 'fmb').readings).toHaveLength(records.length);
    }),
  );
});

import { maximumPacketBytes } from '@odograph/contracts/telemetry';
import { decode, encode } from 'cborg';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUpload, readUpload } from '../uploads.ts';
import { encodeCbor } from './cbor.ts';

const decodeTelemetry = (payload: Buffer | string) => decodeUpload('native', payload, 0);
const readElements = (payload: Buffer | string) => readUpload('native', payload, 0);

const reading = {
  timestamp: 1763712000.25,
  sequence: 4711,
  location: { latitude: 48.8566123, longitude: 2.3522456, angle: 90, altitude: 35, speed: 52, satellites: 9 },
  status: { ignition: true, movement: true, mileage: 12345.6, autonomy: 310 },
  can: [{ key: 'engine_rpm', value: '2100' }],
  electric: { soc: 80, soh: 97, current: -12.3, voltage: 390.2, energy: 41.2 },
  sensors: [{ name: 'cargo', data: [{ key: 'temperature', value: '4.5' }] }],
  fleet: { lock: 'LOCKED', fuel: 31.5, cardholder: [{ id: '1', statut: 'PRESENT' }], vehicleKey: true },
  alarms: { towing: false, gnss_jamming: true },
  frames: [
    { id: '7E8', data: '04410c1af8000000', time: 1763712000.125 },
    { id: '18FEF100', data: '' },
  ],
};
const bytes = (...parts: (string | Uint8Array)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part.replaceAll(' ', ''), 'hex') : part)));

describe('an upload in CBOR', () => {
  it('has the readings of the same upload in JSON, with numbers for names or with names', () => {
    for (const telemetry of [reading, [reading, { timestamp: 1 }], []]) {
      const expected = decodeTelemetry(JSON.stringify(telemetry));
      expect(expected.faults).toEqual([]);
      expect(decodeTelemetry(Buffer.from(encodeCbor(telemetry)))).toEqual(expected);
      expect(decodeTelemetry(Buffer.from(encode(telemetry)))).toEqual(expected);
    }
  });

  it('keeps names without a number', () => {
    const encoded = encodeCbor({ timestamp: 1, vendor: 2 });
    expect(decode(encoded, { useMaps: true })).toEqual(new Map<unknown, unknown>([[0, 1]]).set('vendor', 2));
  });

  it('reads the bytes of the documentation', () => {
    const payload = bytes(
      'a4 00 1a 6920 1cc0 02 a4 06 1a 1d1e f1a0 07 1a 0166 efa0 04 18 34 05 09 03 a2 00 f5 02 f9 7000',
      '09 81 a2 00 19 07e8 01 48 04410c1af8000000',
    );
    expect(decodeTelemetry(payload)).toMatchObject({
      faults: [],
      readings: [
        {
          reading: {
            timestamp: 1763712192,
            location: { latitude: 48.85672, longitude: 2.3523232, speed: 52, satellites: 9 },
            status: { ignition: true, mileage: 8192 },
            frames: [{ id: '7E8', data: '04410c1af8000000' }],
          },
        },
      ],
    });
  });

  it('may have containers of indefinite length, as encoders in firmware write them', () => {
    expect(decodeTelemetry(bytes('9f bf 00 01 03 bf 00 f5 ff ff ff')).readings).toMatchObject([
      { reading: { timestamp: 1, status: { ignition: true } } },
    ]);
  });

  it('drops only the value of the wrong type, and 64-bit integers and bytes where none belong', () => {
    const status = { ignition: 1, mileage: 2n ** 60n, autonomy: Number.NaN, movement: true };
    const wrong = { ...reading, status, can: [{ key: 'a', value: Buffer.from('b') }], unknown: 2n ** 60n };
    const payload = Buffer.from(encodeCbor([reading, wrong, reading]));
    const { readings, faults } = decodeTelemetry(payload);
    expect(readings.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(readings[1]?.reading).toMatchObject({ location: reading.location, status: { movement: true } });
    expect(readings[1]?.reading.can).toBeUndefined();
    expect(faults.map(({ index, reason, field }) => [index, reason, field])).toEqual(
      ['status.ignition', 'status.mileage', 'status.autonomy', 'can.0.value'].map((field) => [
        1,
        'INVALID_VALUE',
        field,
      ]),
    );
    expect(() => JSON.stringify(readings)).not.toThrow();
  });

  it('ignores unknown numbers and names', () => {
    const { readings, faults } = decodeTelemetry(bytes('a4 00 01 18 63 a1 00 00 20 01 69 5f5f70726f746f5f5f a0'));
    expect(faults).toEqual([]);
    expect(readings[0]?.reading).toEqual({ timestamp: 1 });
  });

  it.each([
    ['an array that is longer than the upload', '9a 7fff ffff'],
    ['an array of 2⁶⁴ elements', '9b ffff ffff ffff ffff 00'],
    ['a text that is longer than the upload', 'a1 00 7a 7fff ffff'],
    ['bytes of 2⁶⁴', 'a1 00 5b ffff ffff ffff ffff'],
    ['a tag', 'a1 00 c1 01'],
    ['a number twice', 'a2 00 01 00 02'],
    ['bytes after its end', 'a1 00 01 00'],
    ['nothing but a break', '81 ff'],
    ['a reserved length', '9c'],
    ['a map without an end', 'bf 00 01'],
    ['a text that is not UTF-8', 'a2 00 01 04 81 a2 00 61 61 01 62 c328'],
  ])('with %s is one fault', (_name, hex) => {
    expect(decodeTelemetry(bytes(hex))).toMatchObject({ readings: [], faults: [{ index: null, reason: 'NOT_CBOR' }] });
    expect(readElements(bytes(hex))).toEqual([]);
  });

  it.each([
    ['arrays in arrays', Buffer.alloc(maximumPacketBytes, 0x81), 'NOT_CBOR'],
    ['arrays without an end', Buffer.alloc(maximumPacketBytes, 0x9f), 'NOT_CBOR'],
    ['empty maps', bytes('9a 0003 fffb', Buffer.alloc(maximumPacketBytes - 5, 0xa0)), 'NOT_CBOR'],
    ['too many readings', bytes('99 03e9', ...Array.from({ length: 1001 }, () => 'a1 00 01')), 'TOO_MANY_READINGS'],
  ])('with nothing but %s is one fault', (_name, payload, reason) => {
    expect(decodeTelemetry(payload)).toMatchObject({ readings: [], faults: [{ index: null, reason }] });
  });

  it('begins with a byte that begins neither JSON nor any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
        expect(Buffer.from(text).at(0)).not.toSatisfy((first: number) => first >= 0x80 && first <= 0xbf);
      }),
    );
  });

  it('takes less than half of the bytes of JSON', () => {
    const { sensors: _sensors, fleet: _fleet, alarms: _alarms, frames: _frames, ...typical } = reading;
    const share = encodeCbor([typical, typical]).length / JSON.stringify([typical, typical]).length;
    expect(share).toBeLessThan(0.4);
  });
});

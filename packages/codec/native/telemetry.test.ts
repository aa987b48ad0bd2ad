import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTelemetry } from './telemetry.ts';

const whole = {
  timestamp: 1763712000.25,
  sequence: 4711,
  location: { latitude: 48.8566, longitude: 2.3522, angle: 90, altitude: 35, speed: 52, satellites: 9 },
  status: { ignition: true, movement: true, mileage: 12345.6, autonomy: 310 },
  can: [{ key: 'engine_rpm', value: '2100' }],
  electric: { soc: 80, soh: 97, current: -12.3, voltage: 390.2, energy: 41.2 },
  sensors: [{ name: 'cargo', data: [{ key: 'temperature', value: '4.5' }] }],
  fleet: {
    lock: 'LOCKED',
    doors: 'CLOSED',
    fuel: 31.5,
    cardholder: [{ id: '1', statut: 'PRESENT' }],
    vehicleKey: true,
  },
  alarms: { towing: false, crash: false, gps_jamming: false, gnss_jamming: false },
};

describe('decodeTelemetry', () => {
  it('decodes every group of a single reading and of an array', () => {
    expect(decodeTelemetry(JSON.stringify(whole))).toEqual({
      readings: [{ index: 0, timeMicroseconds: 1763712000250000, reading: whole }],
      faults: [],
    });
    expect(decodeTelemetry(JSON.stringify([whole, { timestamp: 1 }])).readings).toHaveLength(2);
  });

  it('accepts every form of a timestamp as the end of charging, and 0 and empty as unknown', () => {
    const values = [1763712000.25, 1763712000123, '1763712000.5', '2025-11-21T09:00:00+01:00', 0, ''];
    const readings = values.map((ChargingUntil) => ({ timestamp: 1, fleet: { ChargingUntil } }));
    expect(decodeTelemetry(JSON.stringify(readings)).faults).toEqual([]);
  });

  it('accepts raw CAN frames with standard and extended ids, and rejects the reading of any other', () => {
    const frames = [
      { id: '7E8', data: '04410C1AF8' },
      { id: '18FEF100', data: 'ff'.repeat(64), time: 1763712000.125 },
      { id: '0cf00400', data: '' },
    ];
    const { readings, faults } = decodeTelemetry(JSON.stringify({ timestamp: 1, frames }));
    expect(faults).toEqual([]);
    expect(readings[0]?.reading.frames).toEqual(frames);
    const wrong = [
      ...[
        { id: '800', data: '' },
        { id: '7e', data: '' },
        { id: '20000000', data: '' },
        { id: 2024, data: '' },
      ],
      ...[{ id: '7E8', data: '0' }, { id: '7E8', data: 'zz' }, { id: '7E8', data: '00'.repeat(65) }, { id: '7E8' }],
    ];
    for (const frame of wrong) {
      const decoded = decodeTelemetry(JSON.stringify([whole, { timestamp: 1, frames: [frame] }]));
      expect(decoded.readings).toHaveLength(1);
      expect(decoded.faults).toMatchObject([{ index: 1, reason: 'INVALID_FIELD' }]);
    }
  });

  it('rejects a reading whose can, sensors and frames exceed 32 KiB, and only that one', () => {
    const large = { timestamp: 2, can: Array.from({ length: 40 }, () => ({ key: 'k', value: 'x'.repeat(900) })) };
    const { readings, faults } = decodeTelemetry(JSON.stringify([whole, large, { ...large, can: large.can.slice(5) }]));
    expect(readings.map(({ index }) => index)).toEqual([0, 2]);
    expect(faults).toMatchObject([{ index: 1, reason: 'TOO_LARGE' }]);
    const frames = Array.from({ length: 300 }, () => ({ id: '18FEF100', data: '00'.repeat(64) }));
    expect(decodeTelemetry(JSON.stringify({ timestamp: 2, frames })).faults).toMatchObject([{ reason: 'TOO_LARGE' }]);
  });

  it('keeps device time to the microsecond', () => {
    const microseconds = fc.integer({ min: 0, max: 4_000_000_000_000_000 });
    fc.assert(
      fc.property(microseconds, (time) => {
        const text = `{"timestamp":${Math.floor(time / 1e6)}.${String(time % 1e6).padStart(6, '0')}}`;
        expect(decodeTelemetry(text).readings[0]?.timeMicroseconds).toBe(time);
      }),
    );
  });

  it('rejects only the reading with a field of the wrong type, and names the field', () => {
    const wrong = { ...whole, location: { latitude: '48.8566', longitude: 2.3522 } };
    const { readings, faults } = decodeTelemetry(JSON.stringify([whole, wrong, whole]));
    expect(readings.map(({ index }) => index)).toEqual([0, 2]);
    expect(faults).toMatchObject([{ index: 1, reason: 'INVALID_FIELD', field: 'location.latitude' }]);
    expect(JSON.stringify(faults)).not.toContain('48.8566');
  });

  it.each([
    ['a missing timestamp', '{"status":{}}', 'timestamp'],
    ['a timestamp that is text', '{"timestamp":"1"}', 'timestamp'],
    ['a number beyond what JSON numbers hold', '{"timestamp":1e400}', 'timestamp'],
    ['a latitude beyond the pole', '{"timestamp":1,"location":{"latitude":90.1,"longitude":0}}', 'location.latitude'],
    ['a location without longitude', '{"timestamp":1,"location":{"latitude":1}}', 'location.longitude'],
    ['a NUL in text', '{"timestamp":1,"can":[{"key":"a","value":"\\u0000"}]}', 'can.0.value'],
    ['half a surrogate pair', '{"timestamp":1,"can":[{"key":"a","value":"\\ud800"}]}', 'can.0.value'],
    ['an unknown word', '{"timestamp":1,"fleet":{"lock":"AJAR"}}', 'fleet.lock'],
    ['a group that is null', '{"timestamp":1,"status":null}', 'status'],
    [
      'an end of charging that is no timestamp',
      '{"timestamp":1,"fleet":{"ChargingUntil":"soon"}}',
      'fleet.ChargingUntil',
    ],
    ['an end of charging before 1970', '{"timestamp":1,"fleet":{"ChargingUntil":-5}}', 'fleet.ChargingUntil'],
  ])('names the field for %s', (_name, text, field) => {
    expect(decodeTelemetry(text)).toMatchObject({ readings: [], faults: [{ index: 0, field }] });
  });

  it.each([
    ['{}', 'timestamp is missing'],
    ['{"timestamp":"1"}', 'timestamp must be a number'],
    [
      '{"timestamp":1763712000250}',
      'timestamp must be in UNIX seconds, and lies beyond the year 9999: is it in milliseconds?',
    ],
    ['{"timestamp":1,"sequence":1.5}', 'sequence must be a whole number'],
    ['{"timestamp":1,"location":{"latitude":1}}', 'location.longitude is missing'],
    ['{"timestamp":1,"location":{"latitude":90.1,"longitude":0}}', 'location.latitude must be at most 90'],
    ['{"timestamp":1,"status":null}', 'status must be an object'],
    ['{"timestamp":1,"status":{"ignition":1}}', 'status.ignition must be true or false'],
    ['{"timestamp":1,"can":[{"key":"a","value":1}]}', 'can.0.value must be a string'],
    [
      '{"timestamp":1,"can":[{"key":"a","value":"\\u0000"}]}',
      'can.0.value must not contain NUL or half of a surrogate pair',
    ],
    ['{"timestamp":1,"fleet":{"lock":"AJAR"}}', 'fleet.lock must be one of LOCKED, UNLOCKED'],
    [
      '{"timestamp":1,"fleet":{"ChargingUntil":"soon"}}',
      'fleet.ChargingUntil must be UNIX seconds, milliseconds or ISO 8601',
    ],
    ['{"timestamp":1,"fleet":{"ChargingUntil":true}}', 'fleet.ChargingUntil must be a number or a string'],
    ['7', 'a reading must be an object'],
  ])('rejects %s: %s', (text, message) => {
    expect(decodeTelemetry(text).faults.map((fault) => fault.message)).toEqual([message]);
  });

  it('accepts text in any script', () => {
    const text = JSON.stringify({ timestamp: 1, can: [{ key: 'é漢字😀', value: '😀' }] });
    expect(decodeTelemetry(text).faults).toEqual([]);
  });

  it('ignores unknown fields, names of the prototype included', () => {
    const { readings, faults } = decodeTelemetry('{"timestamp":1,"future":{},"__proto__":{"x":1},"constructor":1}');
    expect(faults).toEqual([]);
    expect(readings).toHaveLength(1);
  });

  it.each([
    ['broken JSON', Buffer.from('{"timestamp":'), 'NOT_JSON'],
    ['nothing at all', Buffer.alloc(0), 'NOT_JSON'],
    ['broken UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'NOT_UTF8'],
    ['a number', Buffer.from('7'), 'NOT_A_READING'],
    ['very deep nesting', Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)), 'NOT_A_READING'],
    [
      '1,001 readings',
      Buffer.from(JSON.stringify(Array.from({ length: 1001 }, () => ({ timestamp: 1 })))),
      'TOO_MANY_READINGS',
    ],
  ])('gives a reason for %s', (_name, payload, reason) => {
    expect(decodeTelemetry(payload)).toMatchObject({ readings: [], faults: [{ reason }] });
  });

  it('never throws, and decodes or rejects every reading exactly once', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.constant(whole)), { maxLength: 20 }), (values) => {
        const { readings, faults } = decodeTelemetry(JSON.stringify(values));
        const indexes = [...readings, ...faults].map(({ index }) => index).sort((a, b) => Number(a) - Number(b));
        expect(indexes).toEqual(values.map((_value, index) => index));
      }),
    );
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void decodeTelemetry(Buffer.from(bytes))));
  });
});

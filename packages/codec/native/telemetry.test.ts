import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isValueFault } from '../shared/readings.ts';
import { decodeUpload } from '../uploads.ts';

const decodeTelemetry = (payload: Buffer | string) => decodeUpload('native', payload, 0);

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

  it('accepts raw CAN frames with standard and extended ids, and drops any other', () => {
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
      const decoded = decodeTelemetry(JSON.stringify([whole, { timestamp: 1, frames: [frame, ...frames] }]));
      expect(decoded.readings.map((one) => one.reading)).toEqual([whole, { timestamp: 1, frames }]);
      expect(decoded.faults).toMatchObject([{ index: 1, reason: 'INVALID_VALUE' }]);
    }
  });

  it('drops the largest of can, sensors and frames until they have at most 32 KiB, and nothing else', () => {
    const large = { ...whole, can: Array.from({ length: 40 }, () => ({ key: 'k', value: 'x'.repeat(900) })) };
    const { can: _can, ...withoutCan } = whole;
    const texts = [whole, large, { ...large, can: large.can.slice(5) }];
    const { readings, faults } = decodeTelemetry(JSON.stringify(texts));
    expect(readings.map(({ reading }) => reading)).toEqual([whole, withoutCan, texts[2]]);
    expect(faults).toMatchObject([{ index: 1, reason: 'TOO_LARGE', field: 'can' }]);
    const frames = Array.from({ length: 300 }, () => ({ id: '18FEF100', data: '00'.repeat(64) }));
    const both = decodeTelemetry(JSON.stringify({ ...large, frames }));
    expect(both.readings.map(({ reading }) => reading)).toEqual([withoutCan]);
    expect(both.faults).toMatchObject([{ field: 'frames' }, { field: 'can' }]);
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

  it('drops each invalid value with its field and reason, and keeps the rest of the reading', () => {
    const { location, status, electric, fleet, sensors } = whole;
    const wrong = {
      ...whole,
      ...{ sequence: 1.5, status: { ...status, mileage: '12' }, electric: { ...electric, soc: null } },
      fleet: { ...fleet, lock: 'AJAR', cardholder: [{ id: 7, statut: 'PRESENT' }, ...fleet.cardholder] },
      sensors: [{ name: 'cargo', data: [{ key: 'a', value: 1 }, ...(sensors[0]?.data ?? [])] }, { name: 'no data' }],
      can: [...whole.can, { key: 'k', value: 'x'.repeat(1025) }, { key: 'a\0b', value: '' }],
    };
    const { readings, faults } = decodeTelemetry(JSON.stringify([whole, wrong, whole]));
    const { sequence: _sequence, ...unnumbered } = whole;
    const { mileage: _mileage, ...keptStatus } = status;
    const { soc: _soc, ...keptElectric } = electric;
    const { lock: _lock, ...keptFleet } = fleet;
    const kept = { ...unnumbered, status: keptStatus, electric: keptElectric, fleet: keptFleet };
    expect(readings.map(({ reading }) => reading)).toEqual([whole, kept, whole]);
    expect(location).toEqual(readings[1]?.reading.location);
    expect(faults.every(({ index, reason }) => index === 1 && reason === 'INVALID_VALUE')).toBe(true);
    expect(faults.map(({ message }) => message)).toEqual([
      'sequence must be a whole number',
      'status.mileage must be a number',
      'can.1.value must have at most 1024 characters',
      'can.2.key must not contain NUL or half of a surrogate pair',
      'electric.soc must be a number',
      'sensors.0.data.0.value must be a string',
      'sensors.1.data is missing',
      'fleet.lock must be one of LOCKED, UNLOCKED',
      'fleet.cardholder.0.id must be a string',
    ]);
  });

  it('leaves out a group without a valid value', () => {
    const { readings } = decodeTelemetry(JSON.stringify({ timestamp: 1, fleet: { lock: 'AJAR' }, status: {} }));
    expect(readings.map(({ reading }) => reading)).toEqual([{ timestamp: 1 }]);
  });

  it('drops a position without both coordinates but keeps its speed, which immobilizing depends on', () => {
    const at = (location: object, fleet?: object) =>
      decodeTelemetry(JSON.stringify({ ...whole, location, fleet })).readings[0]?.reading;
    for (const location of [
      { latitude: 91, longitude: 2, speed: 52 },
      { latitude: '48.8', longitude: 2, speed: 52 },
    ]) {
      expect(at(location)).toMatchObject({ status: whole.status, fleet: { speed: 52 } });
      expect(at(location)?.location).toBeUndefined();
      expect(at(location, { speed: 51 })?.fleet).toEqual({ speed: 51 });
      expect(at({ ...location, speed: 'fast' })?.fleet).toBeUndefined();
    }
    const { faults } = decodeTelemetry(JSON.stringify({ ...whole, location: { latitude: '48.8566', longitude: 2 } }));
    expect(JSON.stringify(faults)).not.toContain('48.8566');
  });

  it('strips trailing NULs of a text, and drops a text with any other NUL', () => {
    const can = [
      { key: 'name\0\0', value: 'EYE 1\0\0\0' },
      { key: 'long', value: `${'x'.repeat(1024)}\0` },
      { key: 'inside', value: 'a\0b\0' },
    ];
    const { readings, faults } = decodeTelemetry(JSON.stringify({ timestamp: 1, can }));
    expect(readings[0]?.reading.can).toEqual([
      { key: 'name', value: 'EYE 1' },
      { key: 'long', value: 'x'.repeat(1024) },
    ]);
    expect(faults).toMatchObject([{ field: 'can.2.value', reason: 'INVALID_VALUE' }]);
  });

  it('reports at most 100 invalid values of a reading, and keeps the first elements of a list that is too long', () => {
    const can = Array.from({ length: 1100 }, (_, index) => ({ key: `k${index}`, value: index < 200 ? index : '' }));
    const { readings, faults } = decodeTelemetry(JSON.stringify([{ timestamp: 1, can }, whole]));
    expect(faults).toHaveLength(100);
    expect(faults[0]?.message).toBe('can must have at most 1000 elements');
    expect(readings[0]?.reading.can).toHaveLength(800);
    expect(readings).toHaveLength(2);
  });

  it('reports at most 1000 values at fault of an upload, but every reading that it rejects', () => {
    const wrong = { timestamp: 1, can: Array.from({ length: 100 }, () => 1) };
    const { readings, faults } = decodeTelemetry(JSON.stringify([...Array.from({ length: 200 }, () => wrong), 1]));
    expect(readings.map(({ reading }) => reading)).toEqual(Array.from({ length: 200 }, () => ({ timestamp: 1 })));
    expect(faults.filter(isValueFault)).toHaveLength(1000);
    expect(faults.filter((fault) => !isValueFault(fault))).toMatchObject([{ index: 200, reason: 'NOT_A_READING' }]);
  });

  it.each([
    ['a number beyond what JSON numbers hold', '{"timestamp":1,"status":{"mileage":1e400}}', 'status.mileage'],
    ['an integer beyond 53 bits', '{"timestamp":1,"sequence":9007199254740992}', 'sequence'],
    [
      'satellites that no column holds',
      '{"timestamp":1,"location":{"latitude":1,"longitude":1,"satellites":40000}}',
      'location.satellites',
    ],
    ['half a surrogate pair', '{"timestamp":1,"can":[{"key":"a","value":"\\ud800"}]}', 'can.0.value'],
    ['an end of charging before 1970', '{"timestamp":1,"fleet":{"ChargingUntil":-5}}', 'fleet.ChargingUntil'],
  ])('names the field for %s', (_name, text, field) => {
    const { readings, faults } = decodeTelemetry(text);
    expect(faults).toMatchObject([{ index: 0, reason: 'INVALID_VALUE', field }]);
    expect(readings).toMatchObject([{ reading: { timestamp: 1 } }]);
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
      '{"timestamp":1,"can":[{"key":"a","value":"\\u0000a"}]}',
      'can.0.value must not contain NUL or half of a surrogate pair',
    ],
    ['{"timestamp":1,"fleet":{"lock":"AJAR"}}', 'fleet.lock must be one of LOCKED, UNLOCKED'],
    [
      '{"timestamp":1,"fleet":{"ChargingUntil":"soon"}}',
      'fleet.ChargingUntil must be UNIX seconds, milliseconds or ISO 8601',
    ],
    ['{"timestamp":1,"fleet":{"ChargingUntil":true}}', 'fleet.ChargingUntil must be a number or a string'],
    ['7', 'a reading must be an object'],
  ])('says of %s: %s', (text, message) => {
    expect(decodeTelemetry(text).faults.map((fault) => fault.message)).toEqual([message]);
  });

  it('accepts text in any script', () => {
    const text = JSON.stringify({ timestamp: 1, can: [{ key: 'é漢字😀', value: '😀' }] });
    expect(decodeTelemetry(text).faults).toEqual([]);
  });

  it('ignores unknown fields, names of the prototype included, wherever they are', () => {
    const future = '"future":"\\u0000","__proto__":{"x":1},"constructor":1';
    const deep = `"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(decodeTelemetry(`{"timestamp":1,${future},${deep}}`).readings).toHaveLength(1);
    const groups = Object.entries({
      ...{ location: '"latitude":1,"longitude":2', status: '"ignition":true', electric: '"soc":80' },
      ...{ fleet: '"cardholder":[{"id":"1","statut":"a"}]', alarms: '"towing":true' },
    });
    const list = (name: string, members: string) => [name, `[{${members}}]`] as const;
    const lists = [
      list('can', '"key":"a","value":"b"'),
      list('sensors', '"name":"a","data":[{"key":"a","value":"b"}]'),
      list('frames', '"id":"7E8","data":""'),
      list('sensors', `"name":"a","data":[{"key":"a","value":"b",${future}}]`),
    ];
    const values = [...groups.map(([name, members]) => [name, `{${members}}`] as const), ...lists];
    for (const [name, value] of values) {
      const unknown = value.includes(future) ? value : value.replace(/\}(?=[^}]*$)/, `,${future},${deep}}`);
      const { readings, faults } = decodeTelemetry(`{"timestamp":1,"${name}":${unknown}}`);
      expect(faults).toEqual([]);
      const plain = JSON.parse(value.replace(`,${future}`, ''));
      expect(readings.map(({ reading }) => reading)).toEqual([{ timestamp: 1, [name]: plain }]);
    }
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
        const rejected = faults.filter((fault) => !isValueFault(fault));
        const indexes = [...readings, ...rejected].map(({ index }) => index).sort((a, b) => Number(a) - Number(b));
        expect(indexes).toEqual(values.map((_value, index) => index));
      }),
    );
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void decodeTelemetry(Buffer.from(bytes))));
  });
});

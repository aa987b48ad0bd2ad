import { describe, expect, it } from 'vitest';
import { canOf, receive, receivedAtMs } from '../sources.fixture.ts';
import { decodeUpload, sourceFormats } from '../uploads.ts';

describe('what OsmAnd and Traccar Client send', () => {
  // Queries and bodies of the tests of Traccar's decoder.
  it.each([
    ['1377177267', 1_377_177_267],
    ['1442068686579', 1_442_068_686.579],
    ['2016-01-27T18:55:47Z', Date.parse('2016-01-27T18:55:47Z') / 1000],
    ['2014-06-04 09:10:11', Date.parse('2014-06-04T09:10:11Z') / 1000],
  ])('reads the time %s', (timestamp, seconds) => {
    const query = { id: '123456', lat: '49.60688', lon: '6.15788', timestamp };
    expect(receive('osmand', query)).toMatchObject({ devices: ['123456'], readings: [{ timestamp: seconds }] });
  });

  it('reads a query with the speed in knots, and everything else by its own name', () => {
    const query = {
      ...{ timestamp: '1504763810', lat: '40.7232948571', lon: '-74.0061408571', bearing: '7.19889788244' },
      ...{ speed: '40', ignition: 'true', rpm: '933', fuel: '24', batt: '87' },
    };
    const { devices, readings } = receive('osmand', query, { device: '123456789012345' });
    expect(devices).toEqual(['123456789012345']);
    expect(readings).toMatchObject([
      {
        location: { latitude: 40.7232948571, longitude: -74.0061408571, angle: 7.19889788244, speed: 74.08 },
        status: { ignition: true },
      },
    ]);
    expect(canOf(readings[0])).toEqual({ rpm: '933', fuel: '24', batt: '87' });
  });

  it.each(['-1', '-1.0'])('takes a speed or bearing of %s in a query for unknown', (unknown) => {
    const query = { id: 'a', timestamp: '1', lat: '1', lon: '2', speed: unknown, bearing: unknown, batt: '-1' };
    const { readings } = receive('osmand', query);
    expect(readings).toEqual([
      { timestamp: 1, location: { latitude: 1, longitude: 2 }, can: [{ key: 'batt', value: '-1' }] },
    ]);
  });

  it.each([
    ...(['true', '1'] as const).map((text) => [text, true] as const),
    ...(['false', '0'] as const).map((text) => [text, false] as const),
    ['maybe', undefined] as const,
  ])('reads the flag %s', (ignition, expected) => {
    const { readings } = receive('osmand', { id: 'a', timestamp: '1', lat: '1', lon: '2', ignition });
    expect(readings[0]?.status?.ignition).toBe(expected);
  });

  it('takes the time of arrival for a query without a time, once', () => {
    const [message] = sourceFormats.osmand.split({ body: { location: '60.0,30.0' }, device: 'a', receivedAtMs });
    const { readings } = decodeUpload('osmand', JSON.stringify([message?.message]), 0);
    expect(readings).toMatchObject([
      { reading: { timestamp: receivedAtMs / 1000, location: { latitude: 60, longitude: 30 } } },
    ]);
  });

  it('reads JSON with the speed in m/s, where −1 is unknown', () => {
    const known = {
      location: {
        ...{ event: 'motionchange', is_moving: false, timestamp: '2021-07-21T08:06:34.444Z', odometer: 1500 },
        coords: {
          latitude: -6.1148096,
          longitude: 106.6837015,
          accuracy: 3.8,
          speed: 18.67,
          heading: 63,
          altitude: 35.7,
        },
        ...{
          activity: { type: 'still', confidence: 100 },
          battery: { is_charging: false, level: 0.79 },
          extras: { a: 1 },
        },
        _: '&id=48241179&lat=-6.1148096&lon=106.6837015',
      },
      device_id: '8737767034',
    };
    const { devices, readings } = receive('osmand', known);
    expect(devices).toEqual(['8737767034']);
    expect(readings).toMatchObject([
      {
        timestamp: Date.parse('2021-07-21T08:06:34.444Z') / 1000,
        location: { latitude: -6.1148096, longitude: 106.6837015, speed: 67.212, angle: 63, altitude: 35.7 },
        status: { movement: false, mileage: 1.5 },
      },
    ]);
    expect(canOf(readings[0])).toMatchObject({
      'battery.level': '0.79',
      'activity.type': 'still',
      accuracy: '3.8',
      a: '1',
    });
    expect(JSON.stringify(readings[0]?.can)).not.toContain('106.68');
    const coords = { ...known.location.coords, speed: -1, heading: -1, accuracy: -1 };
    const [unknown] = receive('osmand', { ...known, location: { ...known.location, coords } }).readings;
    expect(canOf(unknown)).not.toHaveProperty('accuracy');
    expect(unknown?.location).toEqual({ latitude: -6.1148096, longitude: 106.6837015, altitude: 35.7 });
  });
});

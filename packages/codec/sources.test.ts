import { positionKeyPattern } from '@odograph/contracts/positions';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidMessage, type SourceRequest } from './source-format.ts';
import { decodeMessages, type SourceFormatName, sourceFormats } from './sources.ts';

const receivedAtMs = Date.parse('2025-11-21T08:00:00Z');

/** What a request becomes: the devices of its messages, and their readings. */
function receive(format: SourceFormatName, body: unknown, request: Partial<SourceRequest> = {}) {
  const messages = sourceFormats[format].split({ body, receivedAtMs, ...request });
  const { readings, faults } = decodeMessages(format, JSON.stringify(messages.map(({ message }) => message)));
  return { devices: messages.map(({ device }) => device), readings: readings.map(({ reading }) => reading), faults };
}

const canOf = (reading: { can?: { key: string; value: string }[] } | undefined) =>
  Object.fromEntries((reading?.can ?? []).map(({ key, value }) => [key, value]));

describe('what Traccar forwards', () => {
  const position = {
    ...{ id: 10, deviceId: 3, protocol: 'teltonika', serverTime: '2025-11-21T08:00:03.000+00:00' },
    ...{ deviceTime: '2025-11-21T08:00:01.000+00:00', fixTime: '2025-11-21T08:00:00.500+00:00' },
    ...{ outdated: false, valid: true, latitude: 48.8566, longitude: 2.3522, altitude: 35, speed: 28.08, course: 90 },
    ...{ address: '1 Rue de Rivoli', accuracy: 0, network: null, geofenceIds: null },
    attributes: {
      ...{ ignition: true, motion: true, odometer: 12_345_678, sat: 9, fuel: 31.5, rpm: 2100, hours: 3_600_000 },
      ...{ blocked: false, alarm: 'tow,hardBraking', batteryLevel: 87 },
    },
  };
  const device = { id: 3, name: 'Van', uniqueId: '350000000000001', status: 'online' };

  it('gives a position with speed in km/h, odometer in km and the time of its fix', () => {
    const { devices, readings, faults } = receive('traccar', { position, device });
    expect({ devices, faults }).toEqual({ devices: ['350000000000001'], faults: [] });
    expect(readings).toMatchObject([
      {
        timestamp: Date.parse('2025-11-21T08:00:00.500Z') / 1000,
        location: { latitude: 48.8566, longitude: 2.3522, altitude: 35, angle: 90, speed: 52.00416, satellites: 9 },
        status: { ignition: true, movement: true, mileage: 12_345.678 },
        fleet: { fuel: 31.5, immobilizer: 'UNLOCKED' },
        alarms: { towing: true },
      },
    ]);
    expect(canOf(readings[0])).toMatchObject({
      ...{ rpm: '2100', hours: '3600000', alarm: 'tow,hardBraking', batteryLevel: '87', protocol: 'teltonika' },
    });
  });

  it('keeps "outdated" and "valid", and an outdated position is none', () => {
    const outdated = { ...position, outdated: true, valid: false };
    const [reading] = receive('traccar', { position: outdated, device }).readings;
    expect(reading).toMatchObject({ timestamp: Date.parse('2025-11-21T08:00:01Z') / 1000 });
    expect(reading?.location).toBeUndefined();
    expect(canOf(reading)).toMatchObject({ outdated: 'true', valid: 'false', satellites: '9' });
    expect(receive('traccar', { position: { ...position, valid: false }, device }).readings[0]?.location).toBeDefined();
  });

  it('gives events at their own time, with the alarm that they name', () => {
    const event = {
      ...{ id: 5, deviceId: 3, type: 'alarm', eventTime: '2025-11-21T08:00:00.500+00:00', positionId: 10 },
      attributes: { alarm: 'accident' },
    };
    const [reading] = receive('traccar', { event, position, device }).readings;
    expect(reading).toMatchObject({
      alarms: { crash: true },
      can: [{ key: 'event', value: 'alarm' }, { key: 'alarm' }],
    });
  });

  it('tolerates members that it does not know, and names a missing device', () => {
    expect(receive('traccar', { position: { ...position, brandNew: { a: 1 } }, device }).faults).toEqual([]);
    expect(() => receive('traccar', { position })).toThrow(new InvalidMessage('device.uniqueId', 'must be a text'));
    expect(() => receive('traccar', { device })).toThrow('position must be an object');
  });
});

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

  it('takes the time of arrival for a query without a time, once', () => {
    const [message] = sourceFormats.osmand.split({ body: { location: '60.0,30.0' }, device: 'a', receivedAtMs });
    const { readings } = decodeMessages('osmand', JSON.stringify([message?.message]));
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
    const coords = { ...known.location.coords, speed: -1, heading: -1 };
    const [unknown] = receive('osmand', { ...known, location: { ...known.location, coords } }).readings;
    expect(unknown?.location).toEqual({ latitude: -6.1148096, longitude: 106.6837015, altitude: 35.7 });
  });
});

describe('what OwnTracks sends', () => {
  it('reads a location, with the speed in km/h', () => {
    const body = {
      ...{ cog: 271, lon: 2.29513, acc: 5, vel: 61, vac: 21, lat: 48.85833, tst: 1_497_349_316, alt: 167 },
      ...{ _type: 'location', tid: 'JJ', t: 'u', batt: 67, topic: 'owntracks/qtripp/865284041968706', SSID: 'home' },
    };
    const { devices, readings } = receive('owntracks', body);
    expect(devices).toEqual(['qtripp:865284041968706']);
    expect(readings).toMatchObject([
      {
        timestamp: 1_497_349_316,
        location: { latitude: 48.85833, longitude: 2.29513, altitude: 167, angle: 271, speed: 61 },
      },
    ]);
    expect(canOf(readings[0])).toMatchObject({ batt: '67', acc: '5', tid: 'JJ' });
  });

  it('gives nothing for other types, and names what is missing', () => {
    expect(receive('owntracks', { _type: 'lwt', tst: 1 }).devices).toEqual([]);
    expect(() => receive('owntracks', { _type: 'location', lat: 1, lon: 1, tst: 1 })).toThrow('topic must be a text');
  });
});

describe('what flespi sends', () => {
  // From the tests of Traccar's decoder.
  const message = {
    ...{
      'position.speed': 0,
      'position.latitude': 53.905569,
      'position.longitude': 27.455986,
      timestamp: 1_506_695_785,
    },
    ...{ 'position.satellites': 8, 'position.direction': 262.643854, 'vehicle.mileage': 160, ident: '605630' },
    ...{
      'position.altitude': 233.48,
      'immobilizer.status': false,
      'siren.status': false,
      'engine.ignition.status': true,
    },
  };

  it('reads each message of a body for its own device', () => {
    const second = { ...message, ident: 'namo:namo', timestamp: 1_508_508_510.013227 };
    const { devices, readings } = receive('flespi', [message, second]);
    expect(devices).toEqual(['605630', 'namo:namo']);
    expect(readings).toMatchObject([
      {
        timestamp: 1_506_695_785,
        location: { latitude: 53.905569, longitude: 27.455986, altitude: 233.48, angle: 262.643854, satellites: 8 },
        status: { ignition: true, mileage: 160 },
        fleet: { immobilizer: 'UNLOCKED' },
      },
      { timestamp: 1_508_508_510.013227 },
    ]);
    expect(canOf(readings[0])).toEqual({ 'siren.status': 'false' });
  });

  it('names the message whose device is missing', () => {
    expect(() => receive('flespi', [message, { timestamp: 1 }])).toThrow('message 1: ident must be a text');
  });
});

describe('what fleet-telemetry of Tesla sends', () => {
  const record = {
    ...{ Vin: '5YJ3E1EA7KF000001', CreatedAt: '2025-11-21T08:00:00Z', IsResend: false },
    ...{ Location: { latitude: 48.8566, longitude: 2.3522 }, VehicleSpeed: 30, Odometer: 10_000.5, Soc: 80.25 },
    ...{ PackCurrent: -12.3, PackVoltage: 390.2, Locked: true, Gear: 'ShiftStateD', GpsState: '<invalid>' },
    DoorState: { DriverFront: false, PassengerFront: true },
    ...{ DetailedChargeState: 'DetailedChargeStateCharging', DestinationName: 'Home' },
  };

  it('converts miles, and gives doors, lock and charging their places', () => {
    const { devices, readings } = receive('tesla', record);
    expect(devices).toEqual(['5YJ3E1EA7KF000001']);
    expect(readings).toMatchObject([
      {
        timestamp: receivedAtMs / 1000,
        location: { latitude: 48.8566, longitude: 2.3522 },
        status: { mileage: 16_094.244672 },
        electric: { soc: 80.25, current: -12.3, voltage: 390.2 },
        fleet: { lock: 'LOCKED', doors: 'OPEN', ChargingStatus: 'CHARGING', speed: 48.28032 },
      },
    ]);
    expect(canOf(readings[0])).toMatchObject({ Gear: 'ShiftStateD' });
    expect(canOf(readings[0])).not.toHaveProperty('GpsState');
  });

  it('reads the form with types the same way', () => {
    const typed = Object.fromEntries(
      Object.entries(record).map(([name, value]) => {
        if (['Vin', 'CreatedAt', 'IsResend'].includes(name)) return [name, value];
        return [name, value === '<invalid>' ? { invalid: true } : { anyValue: value }];
      }),
    );
    expect(receive('tesla', typed).readings).toEqual(receive('tesla', record).readings);
  });

  it('says that windows are closed only when all of them are known to be', () => {
    const windows = { FdWindow: 'WindowStateClosed', FpWindow: 'WindowStateClosed', RdWindow: 'WindowStateClosed' };
    const fleetOf = (fields: object) =>
      receive('tesla', { Vin: 'V', CreatedAt: record.CreatedAt, ...fields }).readings[0]?.fleet;
    expect(fleetOf(windows)).toBeUndefined();
    expect(fleetOf({ ...windows, RpWindow: 'WindowStateClosed' })).toEqual({ windows: 'CLOSED' });
    expect(fleetOf({ FdWindow: 'WindowStatePartiallyOpen' })).toEqual({ windows: 'OPEN' });
  });
});

describe('of any source', () => {
  it('a value of another type than its place takes is kept in can', () => {
    const { readings, faults } = receive('flespi', [
      { ident: 'a', timestamp: 1, 'vehicle.mileage': 'far', nested: { a: [1] } },
    ]);
    expect(faults).toEqual([]);
    expect(canOf(readings[0])).toEqual({ 'vehicle.mileage': 'far', nested: '{"a":[1]}' });
  });

  it('half a position is none, and is not kept elsewhere', () => {
    const [reading] = receive('flespi', [
      { ident: 'a', timestamp: 1, 'position.latitude': 48.85, 'position.speed': 50 },
    ]).readings;
    expect(reading).toEqual({ timestamp: 1, can: [{ key: 'speed', value: '50' }] });
  });

  it('a message without a time is a fault of that message only', () => {
    const { readings, faults } = receive('flespi', [{ ident: 'a' }, { ident: 'a', timestamp: 2 }]);
    expect(readings).toHaveLength(1);
    expect(faults).toMatchObject([{ index: 0, reason: 'INVALID_FIELD', field: 'timestamp' }]);
  });

  it('the keys that tell where a vehicle is are removed with private positions, and no others', () => {
    const disclosing = [
      ...[
        'address',
        'network',
        'geofenceIds',
        'geofence',
        'cell',
        'wifi',
        'SSID',
        'BSSID',
        'inregions',
        'inrids',
        'poi',
        'cid',
      ],
      ...[
        'lac',
        'gsm.cellid',
        'gsm.lac',
        'network.cells',
        'wifi.access.points',
        'gsm_cell_id',
        'lte_cell_id',
        'gsm_area_code',
      ],
      ...[
        'beacons',
        'eye_beacons_2',
        'iso6709_coordinates',
        'OriginLocation',
        'DestinationName',
        'RouteLine',
        'LocatedAtHome',
      ],
    ];
    const others = [
      'rpm',
      'minCellVoltage',
      'network_type',
      'cancelled',
      'engine_load',
      'BrickVoltageMax',
      'gsm_signal',
    ];
    const pattern = new RegExp(positionKeyPattern, 'i');
    expect(disclosing.filter((key) => !pattern.test(key))).toEqual([]);
    expect(others.filter((key) => pattern.test(key))).toEqual([]);
  });

  it('no JSON crashes a decoder', () => {
    const names = fc.constantFrom(...(Object.keys(sourceFormats) as SourceFormatName[]));
    const member = fc.constantFrom(
      ...[
        'ident',
        'timestamp',
        'position',
        'device',
        'uniqueId',
        'event',
        'attributes',
        'location',
        'coords',
        'Vin',
        '_type',
      ],
      ...['CreatedAt', 'lat', 'lon', 'tst', 'DoorState', 'Location', 'latitude', 'fixTime', 'alarm', '__proto__'],
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), fc.dictionary(member, tie('tree')), fc.array(tie('tree'))),
    }));
    fc.assert(
      fc.property(names, tree, (format, body) => {
        const decoded = decodeMessages(format, JSON.stringify([body]));
        expect(decoded.readings.length + decoded.faults.length).toBe(1);
        try {
          receive(format, body);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidMessage);
        }
      }),
      { numRuns: 500 },
    );
  });
});

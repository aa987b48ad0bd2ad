import { positionKeyPattern } from '@odograph/contracts/positions';
import type { SourceFormatName } from '@odograph/contracts/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isValueFault } from './shared/readings.ts';
import { InvalidMessage } from './shared/source-format.ts';
import { canOf, receive } from './sources.fixture.ts';
import { decodeUpload, sourceFormats } from './uploads.ts';

/** Returns what a function throws. */
function refusalOf(act: () => unknown): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

const isExpected = (error: unknown) => error === undefined || error instanceof InvalidMessage;

describe('of any source', () => {
  it('a value of another type than its place takes is kept in can', () => {
    const { readings, faults } = receive('flespi', [
      { ident: 'a', timestamp: 1, 'vehicle.mileage': 'far', nested: { a: [1] } },
    ]);
    expect(faults).toEqual([]);
    expect(canOf(readings[0])).toEqual({ 'vehicle.mileage': 'far', nested: '{"a":[1]}' });
  });

  it('splits a long text without breaking surrogate pairs', () => {
    for (const ahead of [1022, 1023, 1024, 2046, 2047]) {
      const note = `${'a'.repeat(ahead)}😀😀${'b'.repeat(1024)}`;
      const { readings, faults } = receive('flespi', [{ ident: 'a', timestamp: 1, note }]);
      expect(faults).toEqual([]);
      expect(Object.values(canOf(readings[0])).join('')).toBe(note);
    }
  });

  it('half a position is none, and is not kept elsewhere', () => {
    const [reading] = receive('flespi', [
      { ident: 'a', timestamp: 1, 'position.latitude': 48.85, 'position.speed': 50 },
    ]).readings;
    expect(reading).toEqual({ timestamp: 1, can: [{ key: 'speed', value: '50' }] });
  });

  it.each([
    [0, 0, undefined],
    [0, 2.35, { latitude: 0, longitude: 2.35 }],
    [48.85, 0, { latitude: 48.85, longitude: 0 }],
  ])('the coordinates 0, 0 are no position, the equator and the prime meridian are: %s, %s', (lat, lon, position) => {
    const message = { ident: 'a', timestamp: 1, 'position.latitude': lat, 'position.longitude': lon };
    expect(receive('flespi', [message]).readings[0]?.location).toEqual(position);
  });

  it('a message without a time is a fault of that message only', () => {
    const { readings, faults } = receive('flespi', [{ ident: 'a' }, { ident: 'a', timestamp: 2 }]);
    expect(readings).toHaveLength(1);
    expect(faults).toMatchObject([{ index: 0, reason: 'INVALID_FIELD', field: 'timestamp' }]);
  });

  it.each([
    [
      'flespi',
      { ident: 'a', timestamp: 1, 'position.latitude': 91, 'position.longitude': 2 },
      { 'ble.name': 'EYE\0\0' },
    ],
    ['owntracks', { _type: 'location', tst: 1, lat: 91, lon: 2 }, { tag: 'EYE\0' }],
    ['osmand', { id: 'a', timestamp: '1', lat: '91', lon: '2' }, { tag: 'EYE\0' }],
    [
      'tesla',
      { Vin: 'a', CreatedAt: '1970-01-01T00:00:01Z', Location: { latitude: 91, longitude: 2 } },
      { T: 'EYE\0' },
    ],
  ] as const)(
    'a value of %s that no place takes is dropped with its reason, the rest is kept',
    (format, place, text) => {
      const { readings, faults } = receive(format, { ...place, ...text }, { device: 'a' });
      expect(faults).toMatchObject([{ index: 0, reason: 'INVALID_VALUE', field: 'location.latitude' }]);
      expect(readings).toMatchObject([{ timestamp: 1, can: [{ key: Object.keys(text)[0], value: 'EYE' }] }]);
    },
  );

  it('rejects a whole upload that is not JSON', () => {
    expect(decodeUpload('flespi', '[', 0)).toMatchObject({
      readings: [],
      faults: [{ index: null, reason: 'NOT_JSON' }],
    });
  });

  it('a name that cannot be a device id is refused with its field', () => {
    const refusal = refusalOf(() => receive('traccar', { position: {}, device: { uniqueId: 'a/b' } }));
    expect(refusal).toMatchObject({ field: 'device.uniqueId' });
  });

  it('values are nested in at most 32 levels, those of the list and of the message included', () => {
    const decode = (levels: number) => {
      const nested = `[{"ident":"a","timestamp":1,"deep":${'['.repeat(levels)}${']'.repeat(levels)}}]`;
      return decodeUpload('flespi', nested, 0);
    };
    expect(decode(30)).toMatchObject({ readings: [{ index: 0 }], faults: [] });
    for (const levels of [31, 200_000])
      expect(decode(levels)).toMatchObject({ readings: [], faults: [{ reason: 'MALFORMED' }] });
  });

  it('the keys that tell where a vehicle is are removed with private positions, and no others', () => {
    const disclosing = [
      ...'address network geofenceIds geofence cell wifi SSID BSSID inregions inrids poi cid lac'.split(' '),
      ...'gsm.cellid gsm.lac network.cells wifi.access.points gsm_cell_id lte_cell_id gsm_area_code'.split(' '),
      ...'beacons eye_beacons_2 iso6709_coordinates OriginLocation DestinationName RouteLine'.split(' '),
      ...'LocatedAtHome HomelinkNearby Field999 io387 io387_2 raw result payload.text custom.param.387'.split(' '),
      ...'parameter_3 event.enum tags_near'.split(' '),
    ];
    const others =
      'rpm minCellVoltage network_type cancelled engine_load BrickVoltageMax gsm_signal ignition event payload'.split(
        ' ',
      );
    const pattern = new RegExp(positionKeyPattern, 'i');
    expect(disclosing.filter((key) => !pattern.test(key))).toEqual([]);
    expect(others.filter((key) => pattern.test(key))).toEqual([]);
  });

  it('no JSON crashes a decoder', () => {
    const names = fc.constantFrom(...(Object.keys(sourceFormats) as SourceFormatName[]));
    const member = fc.constantFrom(
      ...'ident timestamp position device uniqueId event attributes location coords Vin _type CreatedAt'.split(' '),
      ...'lat lon tst DoorState Location latitude fixTime alarm __proto__'.split(' '),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, fc.jsonValue(), fc.dictionary(member, tie('tree')), fc.array(tie('tree'))),
    }));
    fc.assert(
      fc.property(names, tree, (format, body) => {
        const decoded = decodeUpload(format, JSON.stringify([body]), 0);
        // OwnTracks sends messages of other types too, which hold no reading.
        const type = (body as { _type?: unknown } | null)?._type;
        const isOther = format === 'owntracks' && typeof type === 'string' && !['location', 'encrypted'].includes(type);
        const rejected = decoded.faults.filter((fault) => !isValueFault(fault));
        expect(decoded.readings.length + rejected.length).toBe(isOther ? 0 : 1);
        expect(refusalOf(() => receive(format, body))).toSatisfy(isExpected);
      }),
      { numRuns: 500 },
    );
  });
});

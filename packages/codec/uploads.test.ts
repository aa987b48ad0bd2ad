import { describe, expect, it } from 'vitest';
import { encodeAvlRecords } from './teltonika/encode.ts';
import { decodeUpload, readUpload } from './uploads.ts';

const location = { latitude: 48.85, longitude: 2.35, satellites: 9 };
const teltonika = encodeAvlRecords('codec8Extended', [{ timestamp: 1_700_000_000, location }]);
const traccar = JSON.stringify([{ position: { fixTime: '2023-11-14T22:13:20Z', latitude: 48.85, longitude: 2.35 } }]);
const native = '{"timestamp":1700000000}';

describe('an upload', () => {
  it.each([
    ['native', native],
    ['teltonika', teltonika],
    ['traccar', traccar],
  ] as const)('in the format %s is decoded by that format', (format, payload) => {
    const { readings, faults } = decodeUpload(format, payload, 0);
    expect(faults).toEqual([]);
    expect(readings).toMatchObject([{ index: 0, reading: { timestamp: 1_700_000_000 } }]);
    expect(readUpload(format, payload, 0)).toMatchObject([{ timestamp: 1_700_000_000 }]);
  });

  it.each(['native', 'teltonika', 'traccar'] as const)(
    'that is not of the format %s has a fault and no reading',
    (format) => {
      const payload = format === 'teltonika' ? native : teltonika;
      expect(decodeUpload(format, payload, 0)).toMatchObject({ readings: [], faults: [{ index: null }] });
      expect(readUpload(format, payload, 0)).toEqual([]);
    },
  );

  it('is read as its format says also where a reading is invalid', () => {
    const invalid = encodeAvlRecords('codec8', [{ timestamp: 1_700_000_000, location: { ...location, latitude: 91 } }]);
    expect(decodeUpload('teltonika', invalid, 0).faults).toMatchObject([{ index: 0, field: 'location.latitude' }]);
    expect(readUpload('teltonika', invalid, 0)).toMatchObject([{ location: { latitude: 91 } }]);
  });
});

import { describe, expect, it } from 'vitest';
import { canOf, receive } from '../sources.fixture.ts';
import { decodeUpload } from '../uploads.ts';

describe('what OwnTracks sends', () => {
  it('reads a location, with the speed in km/h', () => {
    const body = {
      ...{ cog: 271, lon: 2.29513, acc: 5, vel: 61, vac: 21, lat: 48.85833, tst: 1_497_349_316, alt: 167 },
      ...{ _type: 'location', tid: 'JJ', t: 'u', batt: 67, topic: 'owntracks/qtripp/865284041968706', SSID: 'home' },
    };
    const { devices, readings } = receive('owntracks', body);
    expect(devices).toEqual(['865284041968706']);
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

  it('decodes messages of other types to nothing, and one that is encrypted to a fault', () => {
    const messages = [
      { _type: 'transition', tst: 1 },
      { _type: 'encrypted', data: 'x' },
      { _type: 'lwt', tst: 1 },
    ];
    const { readings, faults } = decodeUpload('owntracks', JSON.stringify(messages), 0);
    expect(readings).toEqual([]);
    expect(faults).toMatchObject([{ index: 1, field: 'timestamp' }]);
    expect(() => receive('owntracks', messages[1])).toThrow('_type must not be encrypted');
  });
});

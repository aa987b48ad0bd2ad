import { describe, expect, it } from 'vitest';
import { canOf, receive } from '../sources.fixture.ts';

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

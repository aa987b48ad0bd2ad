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

  it('has no position that flespi calls invalid', () => {
    const { readings } = receive('flespi', { ...message, 'position.valid': false });
    expect(readings[0]).not.toHaveProperty('location');
    expect(canOf(readings[0])).toMatchObject({ altitude: '233.48', 'position.valid': 'false' });
    expect(JSON.stringify(readings[0])).not.toContain('53.905569');
    expect(receive('flespi', { ...message, 'position.valid': true }).readings[0]?.location).toBeDefined();
  });

  it('takes fuel levels and other values from the vehicle before those of a sensor, and keeps both', () => {
    const [fuel, volume] = [
      { 'fuel.level': 41, 'can.fuel.level': 55 },
      { 'fuel.volume': 20, 'can.fuel.volume': 33 },
    ];
    const { readings } = receive('flespi', [
      { ...message, ...fuel, ...volume },
      { ...message, 'fuel.level': 41, 'can.fuel.level': 'unknown' },
    ]);
    expect(readings[0]?.fleet).toMatchObject({ fuelRange: 55, fuel: 33 });
    expect(canOf(readings[0])).toMatchObject({ 'fuel.level': '41', 'fuel.volume': '20' });
    expect(readings[1]?.fleet).toMatchObject({ fuelRange: 41 });
  });

  it('raises an alarm that one of its parameters raises', () => {
    const alarms = { 'towing.event.trigger': true, 'towing.alarm.status': false };
    expect(receive('flespi', { ...message, ...alarms }).readings[0]?.alarms).toEqual({ towing: true });
  });

  it.each([
    ['towing', 'towing'],
    ['crash', 'crash'],
    ['gsm.jamming', 'gps_jamming'],
    ['gnss.jamming', 'gnss_jamming'],
  ])('raises an alarm of %s by the name of its event before and after flespi shortened it', (name, alarm) => {
    for (const parameter of [`${name}.event.trigger`, `${name}.event`]) {
      const [reading] = receive('flespi', { ident: 'a', timestamp: 1, [parameter]: true }).readings;
      expect(reading).toEqual({ timestamp: 1, alarms: { [alarm]: true }, can: [] });
    }
  });

  it.each(['gps', 'gnss'])('takes the mileage that %s measured when the vehicle reports none', (source) => {
    const measured = { ident: 'a', timestamp: 1, [`${source}.vehicle.mileage`]: 159 };
    expect(receive('flespi', measured).readings[0]?.status).toEqual({ mileage: 159 });
    expect(receive('flespi', { ...measured, 'vehicle.mileage': 160 }).readings[0]).toMatchObject({
      status: { mileage: 160 },
      can: [{ key: `${source}.vehicle.mileage`, value: '159' }],
    });
  });

  it('names the message whose device is missing', () => {
    expect(() => receive('flespi', [message, { timestamp: 1 }])).toThrow('message 1: ident must be a text');
  });
});

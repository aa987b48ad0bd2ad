import { describe, expect, it } from 'vitest';
import { InvalidMessage } from '../shared/source-format.ts';
import { canOf, receive } from '../sources.fixture.ts';

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

  const attributesOf = (protocol: string, attributes: object) =>
    receive('traccar', { position: { ...position, protocol, attributes }, device }).readings[0];

  it('reads fuel as litres only for protocols that report litres', () => {
    expect(attributesOf('teltonika', { fuel: 31.5 })?.fleet).toEqual({ fuel: 31.5 });
    expect(attributesOf('ruptela', { fuel: 31.5, fuelLevel: 60 })?.fleet).toEqual({ fuel: 31.5, fuelRange: 60 });
    for (const protocol of ['gl200', 'gps103', 'gt06', 'h02', 'huabao', 'jt808', 'meitrack', 'tk103']) {
      const reading = attributesOf(protocol, { fuel: 31.5, fuelLevel: 60 });
      expect(reading?.fleet).toEqual({ fuelRange: 60 });
      expect(canOf(reading)).toMatchObject({ fuel: '31.5' });
    }
  });

  it('maps an attribute of one protocol, and keeps the same name of another protocol in can', () => {
    const bms = {
      soc: 81.5,
      cumulativeVoltage: 52.1,
      minCellVoltage: 3.7,
      maxCellVoltage: 3.9,
      minTemp: 18,
      maxTemp: 21,
    };
    expect(attributesOf('tk103', { ...bms, blocked: 1, door: 0 })).toMatchObject({
      electric: {
        ...{ soc: 81.5, voltage: 52.1, minCellVoltage: 3.7, maxCellVoltage: 3.9 },
        ...{ minCellTemperature: 18, maxCellTemperature: 21 },
      },
      fleet: { immobilizer: 'LOCKED', doors: 'CLOSED' },
    });
    expect(attributesOf('gt06', { relativeCapacity: 80, batteryHealth: 97 })?.electric).toEqual({ soc: 80, soh: 97 });
    expect(attributesOf('gl200', { range: 310_000 })?.status).toEqual({ autonomy: 310 });
    const other = attributesOf('austinnb', { ...bms, relativeCapacity: 80, batteryHealth: 97, range: 310_000 });
    expect([other?.electric, other?.status]).toEqual([undefined, undefined]);
    expect(canOf(other)).toMatchObject({ soc: '81.5', maxTemp: '21', batteryHealth: '97', range: '310000' });
  });

  it('gives a sensor for each temperature probe', () => {
    const reading = attributesOf('meitrack', { temp1: -18.5, temp12: 4, temp3: 'open', deviceTemp: 30 });
    expect(reading?.sensors).toEqual([
      { name: 'temp1', data: [{ key: 'temperature', value: '-18.5' }] },
      { name: 'temp12', data: [{ key: 'temperature', value: '4' }] },
    ]);
    expect(canOf(reading)).toMatchObject({ temp3: 'open', deviceTemp: '30' });
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

  it('gives each event of a position a distinct time, so that it replaces neither the position nor another event', () => {
    const eventOf = (id: number, type: string) => ({
      event: { id, deviceId: 3, type, eventTime: position.fixTime, attributes: {} },
      ...{ position, device },
    });
    const bodies = [{ position, device }, eventOf(5, 'ignitionOn'), eventOf(6, 'deviceMoving')];
    const times = () => bodies.map((body) => receive('traccar', body).readings[0]?.timestamp);
    const seconds = Date.parse(position.fixTime) / 1000;
    expect(new Set(times()).size).toBe(3);
    for (const time of times()) expect((time ?? 0) - seconds).toBeLessThan(0.066);
    expect(times()).toEqual(times());
  });

  it('drops what cannot be stored with its reason, and keeps the rest: NULs pad the names of EYE tags', () => {
    const attributes = { ...position.attributes, tag1Name: 'EYE_1\0\0\0\0', sat: 9e9, driverUniqueId: 'a\0b' };
    const { readings, faults } = receive('traccar', { position: { ...position, course: 1e6, attributes }, device });
    expect(readings).toMatchObject([{ location: { latitude: 48.8566, speed: 52.00416 }, status: { ignition: true } }]);
    expect(canOf(readings[0])).toMatchObject({ tag1Name: 'EYE_1', rpm: '2100' });
    expect(faults.map(({ field }) => field?.replace(/\d+/, 'N'))).toEqual([
      ...['location.angle', 'location.satellites', 'can.N.value'],
    ]);
  });

  it('tolerates members that it does not know, and names a missing device', () => {
    expect(receive('traccar', { position: { ...position, brandNew: { a: 1 } }, device }).faults).toEqual([]);
    expect(() => receive('traccar', { position })).toThrow(new InvalidMessage('device.uniqueId', 'must be a text'));
    expect(() => receive('traccar', { device })).toThrow('position must be an object');
  });
});

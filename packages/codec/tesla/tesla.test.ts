import { describe, expect, it } from 'vitest';
import { canOf, receive, receivedAtMs } from '../sources.fixture.ts';

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

  it.each([[{ DriverFront: true }], [{ doubleValue: 1, unit: 'mi' }], [{ invalid: true, reason: 'asleep' }]])(
    'takes an object for a value with its type only if the type is all it has: %j',
    (Other) => {
      const [reading] = receive('tesla', { Vin: 'V', CreatedAt: record.CreatedAt, Other }).readings;
      expect(canOf(reading)).toEqual({ Other: JSON.stringify(Other) });
    },
  );

  it('leaves out what the vehicle calls invalid, but not a value that is false, 0 or empty', () => {
    const values = { A: { invalid: true }, B: { booleanValue: false }, C: { doubleValue: 0 }, D: { stringValue: '' } };
    const [reading] = receive('tesla', { Vin: 'V', CreatedAt: record.CreatedAt, ...values }).readings;
    expect(canOf(reading)).toEqual({ B: 'false', C: '0', D: '' });
  });

  it('does not say whether a vehicle charges when that is unknown', () => {
    const unknown = { Vin: 'V', CreatedAt: record.CreatedAt, DetailedChargeState: 'DetailedChargeStateUnknown' };
    expect(receive('tesla', unknown).readings[0]).not.toHaveProperty('fleet');
  });

  it('reads a list of open doors, as older vehicles send it', () => {
    const doorsOf = (DoorState: string) =>
      receive('tesla', { Vin: 'V', CreatedAt: record.CreatedAt, DoorState }).readings[0]?.fleet?.doors;
    expect([doorsOf('DriverFront|TrunkRear'), doorsOf('')]).toEqual(['OPEN', 'CLOSED']);
  });

  it('keeps what records of other types say, such as the connectivity of a vehicle', () => {
    const connectivity = { vin: 'V', connectionId: '7', status: 'CONNECTED', createdAt: record.CreatedAt };
    const { devices, readings } = receive('tesla', connectivity);
    expect(devices).toEqual(['V']);
    expect(canOf(readings[0])).toEqual({ connectionId: '7', status: 'CONNECTED' });
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

import { describe, expect, it } from 'vitest';
import { row } from './fleet.fixture.ts';
import { type LiveRow, liveState, writeVehicle } from './live-fleet.ts';

const minute = 60_000;
const hour = 60 * minute;

describe('the state of a vehicle', () => {
  const cases: readonly [title: string, values: Partial<LiveRow>, nowMs: number, state: string][] = [
    ['moving with the ignition on', { ignition: true }, 2000, 'moving'],
    ['moving without an ignition, by its engine', { ignition: null, engine: 'ON' }, 2000, 'moving'],
    ['moving above 5 km/h although the ignition is off', { ignition: false, locationSpeed: 6 }, 2000, 'moving'],
    [
      'moving by the speed of the group fleet while it has none of the position',
      { ignition: null, locationSpeed: null, fleetSpeed: 9, fleetAtMs: 1000 },
      2000,
      'moving',
    ],
    ['parked at 5 km/h with the ignition off', { ignition: false, locationSpeed: 5 }, 2000, 'parked'],
    [
      'parked when its speed is older than the ignition',
      { ignition: false, locationSpeed: 50, statusAtMs: 1001 },
      2000,
      'parked',
    ],
    [
      'parked when a newer speed is low',
      { ignition: null, locationSpeed: 50, fleetSpeed: 0, fleetAtMs: 1001 },
      2000,
      'parked',
    ],
    ['silent when it moved and nothing came for 10 minutes', { ignition: true }, 1000 + 10 * minute, 'silent'],
    ['not silent when it is parked and nothing came for 24 hours', { ignition: false }, 1000 + 24 * hour, 'parked'],
    ['silent when it is parked and nothing came for 25 hours', { ignition: false }, 1000 + 25 * hour, 'silent'],
    ['silent when it never reported', { ignition: null, contactAtMs: null }, 2000, 'silent'],
    ['private while privacy is on, however long it is silent', { isPrivate: true }, 1000 + 99 * hour, 'private'],
  ];
  it.each(cases)('is %s', (_title, values, nowMs, state) => {
    expect(liveState(row(1, values), nowMs)).toBe(state);
  });
});

describe('a private vehicle', () => {
  it('is written without its position, speed and parking time, even if a query returned them', () => {
    const given = row(1, { isPrivate: true, locationSpeed: 9, parkedAtMs: 500, soc: 80 });
    expect(writeVehicle(given, 'private')).toEqual({
      ...{
        id: '1',
        appId: 'app',
        plate: 'P-1',
        vin: '',
        brand: '',
        model: '',
        deviceId: '',
        state: 'private',
        flags: [],
        alarms: [],
      },
      ...{ soc: 80, lastContact: '1970-01-01T00:00:01.000Z' },
    });
  });
});

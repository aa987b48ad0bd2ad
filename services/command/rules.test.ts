import { describe, expect, it } from 'vitest';
import { parseAcknowledgement } from './acknowledgements.ts';
import { availableActions, isDriving, type LastReported, requireAcknowledged, statusOf } from './rules.ts';

describe('isDriving', () => {
  const on = { ignition: true };
  it.each<[says: string, driving: boolean, reported: LastReported]>([
    ['nothing is known', false, {}],
    ['ignition is on and the speed is 5.1 km/h', true, { ignition: true, locationSpeedKmh: 5.1 }],
    ['the speed is just 5 km/h', false, { ignition: true, locationSpeedKmh: 5 }],
    ['the ignition is off, as on a tow truck', false, { ignition: false, locationSpeedKmh: 80 }],
    ['ignition and engine were never reported and the speed is 5.1 km/h', true, { locationSpeedKmh: 5.1 }],
    [
      'ignition and engine were never reported, and movement is reported without a speed',
      true,
      { movement: true, locationTimeMs: 1 },
    ],
    ['the ignition was never reported and the engine is OFF', false, { engine: 'OFF', locationSpeedKmh: 80 }],
    ['only the fleet group tells the speed', true, { ignition: true, fleetSpeedKmh: 30 }],
    ['only the engine tells the ignition', true, { engine: 'ON', fleetSpeedKmh: 30 }],
    [
      'the ignition is off but the engine is ON, as after a device was replaced',
      true,
      { ignition: false, engine: 'ON', fleetSpeedKmh: 30 },
    ],
    [
      'the newer of two speeds is the lower',
      false,
      { ignition: true, locationSpeedKmh: 50, locationTimeMs: 1, fleetSpeedKmh: 0, fleetTimeMs: 2 },
    ],
    [
      'the newer of two speeds is the higher',
      true,
      { ignition: true, locationSpeedKmh: 50, locationTimeMs: 2, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
    [
      'a speed has no time: it counts as older',
      false,
      { ...on, locationSpeedKmh: 50, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
    [
      'two speeds are of the same time: the higher counts',
      true,
      { ignition: true, locationSpeedKmh: 0, locationTimeMs: 1, fleetSpeedKmh: 50, fleetTimeMs: 1 },
    ],
    [
      'the position has no speed, as in a tunnel, and movement is reported',
      true,
      { ...on, movement: true, locationTimeMs: 1 },
    ],
    ['the position has no speed, and no movement is reported', false, { ...on, movement: false, locationTimeMs: 1 }],
    [
      'the position has no speed and is newer than the other speed, and movement is reported',
      true,
      { ...on, movement: true, locationTimeMs: 2, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
    [
      'no position is stored, as in a privacy interval, and movement is newer than the speed',
      true,
      { ...on, movement: true, statusTimeMs: 2, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
    [
      'no position is stored, and movement and speed have the same time',
      false,
      { ...on, movement: true, statusTimeMs: 1, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
    [
      'the speed of the position is older than a report that may have had none, and movement is reported',
      true,
      { ...on, movement: true, locationSpeedKmh: 80, locationTimeMs: 1, fleetSpeedKmh: 0, fleetTimeMs: 2 },
    ],
    [
      'the newest speed is 0: movement does not count',
      false,
      { ...on, movement: true, locationTimeMs: 1, fleetSpeedKmh: 0, fleetTimeMs: 1 },
    ],
  ])('when %s: %s', (_says, driving, reported) => {
    expect(isDriving(reported)).toBe(driving);
  });
});

it('answers a documented status as the device reports it, else the achieved one', () => {
  expect(statusOf(['CLOSED', 'OPEN'], 'OPEN')).toBe('OPEN');
  expect(statusOf(['CLOSED', 'OPEN'], 'open')).toBe('CLOSED');
  expect(statusOf(['CLOSED', 'OPEN'], undefined)).toBe('CLOSED');
});

it('offers an action only when the device can do all that belongs to it', () => {
  expect(availableActions(['LOCK', 'HONK', 'STATUS'])).toEqual(['HONK']);
  expect(availableActions(['UNLOCK', 'LOCK'])).toEqual(['CENTRAL-LOCK']);
});

it('takes as acknowledgement only what names a command, and keeps of its text what can be stored', () => {
  const id = '3b241101-e2bb-4255-8caf-4136c566a962';
  expect(parseAcknowledgement(JSON.stringify({ id, ok: false, reason: 'a\u0000b\ud800' }))).toEqual({
    id,
    ok: false,
    reason: 'ab\ufffd',
  });
  for (const value of [{ id: 'x', ok: true }, { id, ok: 1 }, { id }, [], null]) {
    expect(parseAcknowledgement(JSON.stringify(value))).toBeUndefined();
  }
});

it('accepts an acknowledgement with an invalid status or reason, drops invalid ones and truncates a long reason', () => {
  const id = '3b241101-e2bb-4255-8caf-4136c566a962';
  const parse = (texts: object) => parseAcknowledgement(JSON.stringify({ id, ok: false, ...texts }));
  expect(parse({ status: null, reason: null, mac: null })).toEqual({ id, ok: false });
  expect(parse({ status: 'x'.repeat(65), reason: 7, mac: {} })).toEqual({ id, ok: false });
  expect(parse({ reason: `${'x'.repeat(255)}\u{1f511}and more` })?.reason).toBe(`${'x'.repeat(255)}\u{1f511}`);
});

it('passes only an acknowledged command, and names the cause of any other', () => {
  expect(() => requireAcknowledged({ state: 'acknowledged' })).not.toThrow();
  const reasonOf = (outcome: Parameters<typeof requireAcknowledged>[0]) => {
    try {
      requireAcknowledged(outcome);
      return undefined;
    } catch (error) {
      return (error as { details: { reason?: string } }).details.reason;
    }
  };
  expect(reasonOf({ state: 'unknown' })).toBe('NO_ACKNOWLEDGEMENT');
  expect(reasonOf({ state: 'unknown', cause: 'UNKNOWN_ANSWER', reason: 'DOUT?' })).toBe('UNKNOWN_ANSWER');
  expect(reasonOf({ state: 'expired' })).toBe('VEHICLE_BUSY');
  expect(reasonOf({ state: 'expired', cause: 'DEVICE_OFFLINE' })).toBe('DEVICE_OFFLINE');
  expect(reasonOf({ state: 'unknown', cause: 'toString' })).toBe('NO_ACKNOWLEDGEMENT');
  expect(reasonOf({ state: 'refused', reason: '' })).toBe('REFUSED');
  expect(reasonOf({ state: 'sent' })).toBe('NO_ACKNOWLEDGEMENT');
});

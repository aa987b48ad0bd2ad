import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidMessage } from '../shared/source-format.ts';
import { receive } from '../sources.fixture.ts';
import { decodePayload } from './tesla.ts';

/** Written by the protobuf library of Python from vehicle_data.proto, and what its JSON mapping gives for the same message. */
const payload = Buffer.from(
  [
    '0a18081512143a120976e09c11a56d484011a835cd3b4ed102400a0d08041209290000000000003e400a0b080812070a0538302e32350a0908',
    '061205259a19c3430a090807120525cdcc44c10a06083b120230010a06080a120248050a060816120250010a09083a1205aa010218010a0808b3',
    '0112038002040a0b082c1207fa01040807101e0a070805120318904e0a0f0826120b10fbffffffffffffffff010a07083c1203c00101120b0880',
    'b880c9061080e59a771a1135594a3345314541374b46303030303031',
  ].join(''),
  'hex',
);
const record = {
  data: [
    { key: 'Location', value: { locationValue: { latitude: 48.8566, longitude: 2.3522 } } },
    { key: 'VehicleSpeed', value: { doubleValue: 30 } },
    { key: 'Soc', value: { stringValue: '80.25' } },
    { key: 'PackVoltage', value: { floatValue: 390.2 } },
    { key: 'PackCurrent', value: { floatValue: -12.3 } },
    { key: 'Locked', value: { booleanValue: true } },
    { key: 'Gear', value: { shiftStateValue: 'ShiftStateD' } },
    { key: 'GpsState', value: { invalid: true } },
    {
      key: 'DoorState',
      value: {
        doorValue: {
          ...{ DriverFront: false, DriverRear: false, PassengerFront: true },
          ...{ PassengerRear: false, TrunkFront: false, TrunkRear: false },
        },
      },
    },
    { key: 'DetailedChargeState', value: { detailedChargeStateValue: 'DetailedChargeStateCharging' } },
    { key: 'ScheduledChargingStartTime', value: { timeValue: { hour: 7, minute: 30, second: 0 } } },
    { key: 'Odometer', value: { longValue: '10000' } },
    { key: 'ChargeLimitSoc', value: { intValue: -5 } },
    { key: 'FdWindow', value: { windowStateValue: 'WindowStateClosed' } },
  ],
  createdAt: '2025-11-21T08:00:00.250Z',
  vin: '5YJ3E1EA7KF000001',
  isResend: false,
};

/** Decodes bytes. @returns the JSON of the record, or what the decoder throws */
function outcomeOf(bytes: Uint8Array): unknown {
  try {
    return JSON.stringify(decodePayload(Buffer.from(bytes)));
  } catch (error) {
    return error;
  }
}
const isExpected = (outcome: unknown) => typeof outcome === 'string' || outcome instanceof InvalidMessage;

describe('a payload of fleet-telemetry in protobuf', () => {
  it('of the type alerts gives no reading', () => {
    // VehicleAlerts: an alert with its name and a time, createdAt and vin.
    const name = Buffer.from('CP_a043');
    const alert = Buffer.concat([Buffer.from([0x0a, name.length]), name, Buffer.from([0x1a, 2, 8, 1])]);
    const times = Buffer.from('120b0880b880c9061080e59a771a1135594a3345314541374b46303030303031', 'hex');
    const bytes = Buffer.concat([Buffer.from([0x0a, alert.length]), alert, times]);
    expect(receive('tesla', decodePayload(bytes))).toMatchObject({ devices: [record.vin], readings: [], faults: [] });
    expect(receive('tesla', decodePayload(payload)).readings[0]).toHaveProperty('location');
  });

  it('becomes the JSON that fleet-telemetry sends itself', () => {
    expect(decodePayload(payload)).toEqual(record);
  });

  it.each([
    ['0a0f0805120b18fbffffffffffffffff01', { longValue: '-5' }],
    ['0a0f0805120b1880808080808080808001', { longValue: '-9223372036854775808' }],
    ['0a0908061205257a81d742', { floatValue: 107.752_884 }],
    ['0a090806120525cdcc44c1', { floatValue: -12.3 }],
    ['0a090806120525000080ff', { floatValue: '-Infinity' }],
  ])('has signed integers, and the shortest number of a float: %s', (bytes, value) => {
    expect(decodePayload(Buffer.from(bytes, 'hex'))).toMatchObject({ data: [{ value }] });
  });

  it.each(['0801', '1001', '1801'])('is refused with an integer in place of a text or a message: %s', (bytes) => {
    expect(() => decodePayload(Buffer.from(bytes, 'hex'))).toThrow(InvalidMessage);
  });

  it('is refused beyond the size of an upload, before it is decoded', () => {
    const padded = (size: number) => Buffer.alloc(size, Buffer.from('7800', 'hex'));
    expect(decodePayload(padded(256 * 1024))).toEqual({ data: [], isResend: false });
    expect(() => decodePayload(padded(256 * 1024 + 2))).toThrow('body must have at most 262144 bytes');
  });

  it('keeps fields and values that a later version adds, by their numbers', () => {
    const later = Buffer.from('0a080890031203b80607', 'hex');
    expect(decodePayload(later)).toEqual({ data: [{ key: 'Field400', value: { value103: '7' } }], isResend: false });
  });

  it('is refused when it is cut off, and never crashes the decoder', () => {
    expect(() => decodePayload(payload.subarray(0, 20))).toThrow(InvalidMessage);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      // A real payload with some bytes changed.
      fc.array(fc.tuple(fc.nat(payload.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
        const changed = Buffer.from(payload);
        for (const [at, byte] of changes) changed[at] = byte;
        return changed;
      }),
    );
    fc.assert(
      fc.property(bytes, (some) => {
        expect(outcomeOf(some)).toSatisfy(isExpected);
      }),
      { numRuns: 2000 },
    );
  });

  it('and its JSON give the same reading', () => {
    const { devices, readings, faults } = receive('tesla', record);
    expect(faults).toEqual([]);
    expect(devices).toEqual(['5YJ3E1EA7KF000001']);
    expect(readings).toMatchObject([
      {
        timestamp: 1_763_712_000.25,
        location: { latitude: 48.8566, longitude: 2.3522 },
        status: { mileage: 16_093.44 },
        electric: { soc: 80.25, current: -12.3, voltage: 390.2 },
        fleet: { lock: 'LOCKED', doors: 'OPEN', ChargingStatus: 'CHARGING', speed: 48.28032 },
        can: [
          { key: 'Gear', value: 'ShiftStateD' },
          { key: 'DetailedChargeState', value: 'DetailedChargeStateCharging' },
          { key: 'ScheduledChargingStartTime', value: '{"hour":7,"minute":30,"second":0}' },
          { key: 'ChargeLimitSoc', value: '-5' },
          { key: 'FdWindow', value: 'WindowStateClosed' },
          { key: 'DoorState', value: JSON.stringify(record.data[8]?.value.doorValue) },
        ],
      },
    ]);
  });
});

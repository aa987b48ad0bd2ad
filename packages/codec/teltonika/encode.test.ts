import type { TelemetryReading } from '@odograph/contracts/telemetry';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeAnswer, encodeCommand, readCommand, readMessages } from './commands.ts';
import { decodeTeltonika } from './decode.fixture.ts';
import { type AvlCodec, encodeAvlRecords, encodeDatagram, encodeHello } from './encode.ts';
import { readDatagram, readHello, readPacket, wrapPacket } from './packets.ts';

const byKey = (one: { key: string }, other: { key: string }) => (one.key < other.key ? -1 : 1);

/** The readings of a data field; the order of I/O elements says nothing. */
function decode(data: Buffer): TelemetryReading[] {
  const { readings, faults } = decodeTeltonika(data, 0, 'fmb');
  expect(faults).toEqual([]);
  return readings.map(({ reading }) => ({
    ...reading,
    can: reading.can?.toSorted(byKey) ?? [],
    ...(reading.sensors && { sensors: reading.sensors.map((one) => ({ ...one, data: one.data.toSorted(byKey) })) }),
  }));
}

const whole = (max: number, min = 0) => fc.integer({ min, max });
/** Ids without a name; the last one has no place in Codec 8. */
const unnamedIds = [242, 244, 245, 60_000] as const;
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const reading = fc
  .record({
    seconds: whole(2_000_000_000_000),
    location: optional(
      fc.record({
        latitude: whole(900_000_000, -900_000_000).map((value) => value / 1e7),
        longitude: whole(1_800_000_000, -1_800_000_000).map((value) => value / 1e7),
        angle: whole(359),
        altitude: whole(9000, -400),
        speed: whole(250),
        satellites: whole(20, 1),
      }),
    ),
    ignition: fc.boolean(),
    mileageMetres: whole(2 ** 32 - 1),
    temperatureTenths: whole(800, -800),
    towing: fc.boolean(),
    crash: whole(5),
    humidity: optional(whole(100)),
    unknown: fc.uniqueArray(fc.tuple(fc.constantFrom(...unnamedIds), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), {
      maxLength: 3,
      selector: ([id]) => id,
    }),
    vin: optional(fc.stringMatching(/^[A-Z0-9]{17}$/)),
    priority: whole(2),
  })
  .map(
    ({
      seconds,
      location,
      ignition,
      mileageMetres,
      temperatureTenths,
      towing,
      crash,
      humidity,
      ...more
    }): TelemetryReading => ({
      timestamp: seconds / 1000,
      ...(location && (location.latitude !== 0 || location.longitude !== 0) && { location }),
      status: { ignition, mileage: mileageMetres / 1000 },
      electric: { temperature: temperatureTenths / 10 },
      alarms: { towing, crash: crash !== 0 },
      ...(humidity !== undefined && {
        sensors: [{ name: 'ble_1', data: [{ key: 'humidity', value: String(humidity / 10) }] }],
      }),
      can: [
        ...more.unknown.map(([id, value]) => ({ key: `io${id}`, value: `${value}` })),
        ...(more.vin === undefined ? [] : [{ key: 'vin', value: more.vin }]),
        ...(crash > 1 ? [{ key: 'crash', value: String(crash) }] : []),
        ...(more.priority > 0 ? [{ key: 'priority', value: String(more.priority) }] : []),
        { key: 'event', value: 'ignition' },
      ],
    }),
  );
it.each(['codec8', 'codec8Extended', 'codec16'] as const)('encodes in %s what it decodes', (codec: AvlCodec) => {
  fc.assert(
    fc.property(fc.array(reading, { minLength: 1, maxLength: 4 }), (readings) => {
      const once = decode(encodeAvlRecords(codec, readings));
      expect(decode(encodeAvlRecords(codec, once))).toEqual(once);
      expect(once.map(({ timestamp }) => timestamp)).toEqual(readings.map(({ timestamp }) => timestamp));
      for (const [index, { location, status, alarms }] of readings.entries()) {
        expect(once[index]?.location).toEqual(location);
        expect(once[index]?.status).toEqual(status);
        expect(once[index]?.alarms).toMatchObject({ towing: alarms?.towing });
      }
    }),
  );
});

it('encodes a list of tags in an unknown layout, and an event without a name, as they were sent', () => {
  const can = [
    { key: 'event', value: 'io242' },
    { key: 'tags_near', value: '0105abcd' },
  ];
  expect(decode(encodeAvlRecords('codec8Extended', [{ timestamp: 1, can }]))).toEqual([{ timestamp: 1, can }]);
});

it('encodes hello, packets, datagrams, commands and answers as the platform reads them', () => {
  const imei = '350000000000001';
  const data = encodeAvlRecords('codec8', [{ timestamp: 1_763_712_000, status: { ignition: true } }]);
  expect(readHello(encodeHello(imei))).toMatchObject({ frame: { kind: 'imei', imei }, bytes: 17 });
  expect(readPacket(wrapPacket(data))).toMatchObject({ frame: { kind: 'packet', data } });
  const datagram = encodeDatagram({ packetId: 7, avlPacketId: 9, imei }, data);
  expect(readDatagram(datagram)).toEqual({ packetId: 7, avlPacketId: 9, imei, data });
  const dataOf = (packet: Buffer) => packet.subarray(8, -4);
  expect(readCommand(dataOf(encodeCommand('getinfo')))).toBe('getinfo');
  expect(readCommand(dataOf(encodeAnswer('getinfo')))).toBeUndefined();
  expect(readMessages(dataOf(encodeAnswer('DOUT1:ON')))).toMatchObject([
    { bytes: Buffer.from('DOUT1:ON'), isAnswer: true, isRefused: false },
  ]);
});

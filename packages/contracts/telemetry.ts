import Type, { type Static, type TSchema } from 'typebox';
import { storablePattern } from './text-patterns.ts';

/** Limits of one upload; see "What a device says and hears" in docs/device-protocol.md. */
export const maximumReadingsPerUpload = 1000;
export const maximumPacketBytes = 256 * 1024;
/** Days from the end of a week of readings to its compression; late readings into compressed weeks cost more. */
export const compressAfterDays = 7;
/**
 * Bytes of `can`, `sensors` and `frames` of one reading as JSON. Ten times what devices send; a page of 1,000 such readings
 * still fits into one answer.
 */
export const maximumReadingBytes = 32 * 1024;
/** A reading further ahead of the platform's clock than this is quarantined. */
export const maximumClockLeadSeconds = 300;

/** @param description the unit; the AsyncAPI document shows it */
const finite = (description?: string, minimum = -1e12, maximum = 1e12) =>
  Type.Number({ minimum, maximum, ...(description !== undefined && { description }) });
/** A reading must not be changed silently, so text that PostgreSQL cannot store is refused. */
const text = (maxLength = 1024) => Type.String({ maxLength, pattern: storablePattern });
const optionalFields = <T extends Record<string, TSchema>>(fields: T) => Type.Partial(Type.Object(fields));

/** Interface specification, "location object"; speed in km/h is the device's own. */
export const LocationGroup = Type.Object({
  latitude: finite('degrees, WGS 84', -90, 90),
  longitude: finite('degrees, WGS 84', -180, 180),
  angle: Type.Optional(finite('heading in degrees, 0 is north', -360, 360)),
  altitude: Type.Optional(finite('m', -20_000, 100_000)),
  speed: Type.Optional(finite('km/h', -1000, 10_000)),
  satellites: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: 'satellites in use' })),
});

/** Interface specification, "status object": mileage and autonomy in km. */
export const StatusGroup = optionalFields({
  ignition: Type.Boolean(),
  movement: Type.Boolean(),
  mileage: finite('km'),
  autonomy: finite('range in km'),
});

/** Interface specification, "can object". */
export const CanDatum = Type.Object({ key: text(256), value: text() });
export type CanDatum = Static<typeof CanDatum>;

/** Interface specification, "electric object": %, A, V, kWh and degrees C. */
export const ElectricGroup = optionalFields({
  soh: finite('state of health in percent'),
  soc: finite('state of charge in percent'),
  current: finite('A'),
  voltage: finite('V'),
  energy: finite('kWh'),
  maxEnergy: finite('kWh'),
  minCellVoltage: finite('V'),
  maxCellVoltage: finite('V'),
  temperature: finite('°C'),
  minCellTemperature: finite('°C'),
  maxCellTemperature: finite('°C'),
  lifetimePowerUse: finite('kWh'),
  lifetimeChargePower: finite('kWh'),
});

/** Interface specification, "sensors element". */
export const Sensor = Type.Object({ name: text(256), data: Type.Array(CanDatum, { maxItems: 100 }) });

const word = <const Words extends string[]>(...words: Words) => Type.Enum(words);

/** The device-reported fields of the "Fleet vehicle status record", by their names there. */
export const FleetGroup = optionalFields({
  lock: word('LOCKED', 'UNLOCKED'),
  engine: word('ON', 'OFF'),
  immobilizer: word('LOCKED', 'UNLOCKED'),
  handbrake: word('ON', 'OFF'),
  lights: word('ON', 'OFF'),
  doors: word('OPEN', 'CLOSED'),
  windows: word('OPEN', 'CLOSED'),
  speed: finite('km/h'),
  bluetooth: word('CONNECTED', 'DISCONNECTED'),
  authenticated: Type.Boolean(),
  mileage: finite('km'),
  fuel: finite('litres'),
  fuelRange: finite('fuel level in percent'),
  chargingAdapterStatus: word('CONNECTED', 'DISCONNECTED'),
  ChargingStatus: word('CHARGING', 'NOT_CHARGING'),
  ChargingUntil: Type.Union([finite(undefined, -1e12, 1e15), text(64)], {
    description: 'UNIX seconds or milliseconds, or ISO 8601',
  }),
  ChargeLevel: finite('percent'),
  RemainingRange: finite('km'),
  cardholder: Type.Array(Type.Object({ id: text(256), statut: text(64) }), { maxItems: 100 }),
  vehicleKey: Type.Boolean(),
});

export const AlarmsGroup = optionalFields({
  towing: Type.Boolean(),
  crash: Type.Boolean(),
  gps_jamming: Type.Boolean(),
  gnss_jamming: Type.Boolean(),
});

/** The year 9999, which PostgreSQL, JavaScript and ISO 8601 all support. The platform's clock sets the effective bound. */
export const latestTimestamp = 253_402_300_799;

/** A raw CAN frame: ids of three hexadecimal digits are standard, those of eight are extended, as candump writes them. */
const CanFrame = Type.Object({
  id: Type.String({ pattern: '^(?:[0-7][0-9A-Fa-f]{2}|[01][0-9A-Fa-f]{7})$' }),
  data: Type.String({ pattern: '^(?:[0-9A-Fa-f]{2}){0,64}$' }),
  time: Type.Optional(Type.Number({ minimum: 0, maximum: latestTimestamp })),
});
export type RawCanFrame = Static<typeof CanFrame>;

/** One reading as a device sends it. Unknown fields are ignored. */
export const TelemetryReading = Type.Object({
  timestamp: Type.Number({ minimum: 0, maximum: latestTimestamp, description: 'UNIX seconds of the device clock' }),
  sequence: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'increases by one with each reading' }),
  ),
  location: Type.Optional(LocationGroup),
  status: Type.Optional(StatusGroup),
  can: Type.Optional(Type.Array(CanDatum, { maxItems: 1000 })),
  electric: Type.Optional(ElectricGroup),
  sensors: Type.Optional(Type.Array(Sensor, { maxItems: 100 })),
  fleet: Type.Optional(FleetGroup),
  alarms: Type.Optional(AlarmsGroup),
  frames: Type.Optional(Type.Array(CanFrame, { maxItems: 1000 })),
});
export type TelemetryReading = Static<typeof TelemetryReading>;

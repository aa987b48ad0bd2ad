import Type, { type Static, type TSchema } from 'typebox';
import { storablePattern } from './text-patterns.ts';

/** Limits of one upload; see "What a device says and hears" in docs/device-protocol.md. */
export const maximumReadingsPerUpload = 1000;
export const maximumPacketBytes = 256 * 1024;
/**
 * Bytes of `can`, `sensors` and `frames` of one reading as JSON. Ten times what devices send; a page of 1,000 such readings
 * still fits into one answer.
 */
export const maximumReadingBytes = 32 * 1024;
/** A reading further ahead of the platform's clock than this is quarantined. */
export const maximumClockLeadSeconds = 300;

const finite = (minimum = -1e12, maximum = 1e12) => Type.Number({ minimum, maximum });
/** A reading must not be changed silently, so text that PostgreSQL cannot store is refused. */
const text = (maxLength = 1024) => Type.String({ maxLength, pattern: storablePattern });
const optionalFields = <T extends Record<string, TSchema>>(fields: T) => Type.Partial(Type.Object(fields));

/** Interface specification, "location object"; speed in km/h is the device's own. */
export const LocationGroup = Type.Object({
  latitude: finite(-90, 90),
  longitude: finite(-180, 180),
  angle: Type.Optional(finite(-360, 360)),
  altitude: Type.Optional(finite(-20_000, 100_000)),
  speed: Type.Optional(finite(-1000, 10_000)),
  satellites: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
});

/** Interface specification, "status object": mileage and autonomy in km. */
export const StatusGroup = optionalFields({
  ignition: Type.Boolean(),
  movement: Type.Boolean(),
  mileage: finite(),
  autonomy: finite(),
});

/** Interface specification, "can object". */
export const CanDatum = Type.Object({ key: text(256), value: text() });
export type CanDatum = Static<typeof CanDatum>;

/** Interface specification, "electric object": %, A, V, kWh and degrees C. */
export const ElectricGroup = optionalFields({
  soh: finite(),
  soc: finite(),
  current: finite(),
  voltage: finite(),
  energy: finite(),
  maxEnergy: finite(),
  minCellVoltage: finite(),
  maxCellVoltage: finite(),
  temperature: finite(),
  minCellTemperature: finite(),
  maxCellTemperature: finite(),
  lifetimePowerUse: finite(),
  lifetimeChargePower: finite(),
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
  speed: finite(),
  bluetooth: word('CONNECTED', 'DISCONNECTED'),
  authenticated: Type.Boolean(),
  mileage: finite(),
  fuel: finite(),
  fuelRange: finite(),
  chargingAdapterStatus: word('CONNECTED', 'DISCONNECTED'),
  ChargingStatus: word('CHARGING', 'NOT_CHARGING'),
  ChargingUntil: Type.Union([finite(-1e12, 1e15), text(64)]),
  ChargeLevel: finite(),
  RemainingRange: finite(),
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
  timestamp: Type.Number({ minimum: 0, maximum: latestTimestamp }),
  sequence: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
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

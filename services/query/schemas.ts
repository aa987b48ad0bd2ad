import Type, { type Static, type TSchema } from 'typebox';

const number = (description: string) => Type.Number({ description });
const text = (description: string) => Type.String({ description });
const truth = (description: string) => Type.Boolean({ description });
/** Exactly the keys that the interface documents. */
const exactly = <Fields extends Record<string, TSchema>>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false });

const Vehicle = exactly({
  id: text('internal vehicle identifier'),
  plate: text('license plate'),
  vin: text('vehicle identification number'),
  brand: text('make'),
  model: text('commercial name'),
});
const Location = exactly({
  latitude: number('decimal degrees'),
  longitude: number('decimal degrees'),
  angle: number('heading in degrees, 0 is north'),
  altitude: number('m'),
});
const Status = exactly({
  ignition: truth('true engine running, false engine off'),
  movement: truth('true moving, false stopped'),
  mileage: number('km'),
  autonomy: number('range in km'),
});
const Electric = exactly({
  soh: number('state of health, %'),
  soc: number('charge level, %'),
  current: number('A'),
  voltage: number('V'),
  energy: number('energy supplied, kWh'),
  maxEnergy: number('kWh'),
  minCellVoltage: number('V'),
  maxCellVoltage: number('V'),
  temperature: number('battery temperature, degrees C'),
  minCellTemperature: number('degrees C'),
  maxCellTemperature: number('degrees C'),
  lifetimePowerUse: number('energy consumed over the lifetime of the vehicle, kWh'),
  lifetimeChargePower: number('energy charged over the lifetime of the vehicle, kWh'),
});
const CanDatum = exactly({ key: text('datum identifier'), value: text('datum value') });
const Sensor = exactly({
  name: text('sensor name'),
  data: Type.Array(CanDatum, { description: 'keys temperature (degrees C) and humidity (%)' }),
});
export const DynamicState = exactly({
  towing: truth('is in towed state'),
  accident: truth('has been in an accident'),
  maintenance: truth('is being serviced'),
  breakdown: truth('has broken down'),
  stolen: truth('is reported stolen'),
  unavailable: truth('is unavailable'),
});
export type DynamicState = Static<typeof DynamicState>;

const brief = {
  vehicle: Vehicle,
  timestamp: number('device time, UNIX seconds to the microsecond'),
  location: Type.Optional(Location),
  status: Status,
};
const sensors = { sensors: Type.Array(Sensor) };
const fleetRecord = {
  id: text('vehicle identifier'),
  builder: text('manufacturer'),
  model: text('model'),
  plate: text('license plate'),
  deviceId: text('installed device, empty without one'),
  deviceModel: text('model of the device'),
  energy: text('energy, registration-certificate nomenclature'),
  bluetoothName: text('Bluetooth name'),
  seats: number('number of seats'),
  gearbox: text('AUTOMATIC or MANUAL, empty when unknown'),
  kind: text('vehicle type, registration-certificate nomenclature'),
  archived: truth('archived flag'),
  accessories: Type.Array(Type.String(), { description: 'TEMPERATURE-SENSOR, CARDHOLDER, KEY-DETECTOR' }),
};

/** An element of GET /v1/vehicles in its dynamic shape. */
export const DynamicVehicle = exactly(brief);
/** An element of GET /v1/vehicles in its fleet shape: the fleet vehicle record. */
export const FleetVehicle = exactly(fleetRecord);
/** Both shapes in one object; a vehicle without data has only the keys of the fleet shape. */
export const CombinedVehicle = exactly({
  ...fleetRecord,
  vehicle: Type.Optional(Vehicle),
  timestamp: Type.Optional(brief.timestamp),
  location: Type.Optional(Location),
  status: Type.Optional(Status),
});
export const VehicleStatus = exactly({ ...brief, electric: Electric, ...sensors, state: DynamicState });
export const StoredReading = exactly({
  ...brief,
  can: Type.Array(CanDatum),
  electric: Electric,
  ...sensors,
});
export const CustomCanReading = exactly({ ...brief, can: Type.Array(CanDatum), ...sensors });
export const HistoryReading = exactly({ ...brief, electric: Electric, ...sensors });

/** The shape of the answer. */
export const view = Type.Optional(
  Type.Union([Type.Literal('dynamic'), Type.Literal('fleet')], {
    description: 'one shape only; by default the one that the application has set, else both in one object',
  }),
);

/** Path parameters of a route about one vehicle. */
export const VehicleParameters = Type.Object({ id: Type.String({ description: 'vehicle identifier' }) });

export const after = Type.Optional(
  Type.String({ description: 'continues behind a reading; from the Link of the page before' }),
);
export const moment = (description: string) =>
  Type.String({ description: `${description}: UNIX seconds with any fraction, milliseconds, or ISO 8601` });

export const HistoryQuery = Type.Object({
  from: moment('start, inclusive'),
  until: moment('end, inclusive'),
  limit: Type.Integer({ minimum: 0, default: 3000, description: 'readings in the answer, at most 10,000' }),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'readings to skip' }),
  after,
});
export type HistoryQuery = Static<typeof HistoryQuery>;

import { invalidParameter } from '@odograph/contracts/failures';
import { timestamp, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static, type TSchema } from 'typebox';

export const number = (description: string, example = 0) => Type.Number({ description, examples: [example] });
export const text = (description: string, example: string) => Type.String({ description, examples: [example] });
export const truth = (description: string) => Type.Boolean({ description });
/** A record of the interface, named in OpenAPI: exactly the keys that are documented. */
export const exactly = <Fields extends Record<string, TSchema>>(title: string, fields: Fields) =>
  Type.Object(fields, { title, additionalProperties: false });

const Vehicle = exactly('Vehicle', {
  id: text('internal vehicle identifier', '1000000001'),
  plate: text('license plate', 'AB-123-CD'),
  vin: text('vehicle identification number', 'VF1AG000000000001'),
  brand: text('make', 'Renault'),
  model: text('commercial name', 'Zoe'),
});
/** The address of a position in GET /v1/vehicle/{id}/status. */
export const statusAddress = Type.Optional(text('in the status of one vehicle with `address=true`, if known', 'Depot'));
const Location = exactly('Location', {
  latitude: number('decimal degrees', 48.8566),
  longitude: number('decimal degrees', 2.3522),
  angle: number('heading in degrees, 0 is north', 90),
  altitude: number('m', 35),
  address: statusAddress,
});
const Status = exactly('Status', {
  ignition: truth('true engine running, false engine off'),
  movement: truth('true moving, false stopped'),
  mileage: number('km', 15230.4),
  autonomy: number('range in km', 210),
});
const Electric = exactly('Electric', {
  soh: number('state of health, %', 97),
  soc: number('charge level, %', 80),
  current: number('A'),
  voltage: number('V'),
  energy: number('energy supplied, kWh'),
  maxEnergy: number('kWh'),
  minCellVoltage: number('V'),
  maxCellVoltage: number('V'),
  temperature: number('battery temperature, degrees C', 21),
  minCellTemperature: number('degrees C'),
  maxCellTemperature: number('degrees C'),
  lifetimePowerUse: number('energy consumed over the lifetime of the vehicle, kWh'),
  lifetimeChargePower: number('energy charged over the lifetime of the vehicle, kWh'),
});
const CanDatum = exactly('CanDatum', {
  key: text('datum identifier', 'temperature'),
  value: text('datum value', '4.5'),
});
const Sensor = exactly('Sensor', {
  name: text('sensor name', 'cold room'),
  data: Type.Array(CanDatum, { description: 'keys temperature (degrees C) and humidity (%)' }),
});
export const DynamicState = exactly('VehicleState', {
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
  timestamp: number('device time, UNIX seconds to the microsecond', 1772440200.25),
  location: Type.Optional(Location),
  status: Status,
};
const sensors = { sensors: Type.Array(Sensor) };
const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
const fleetRecord = {
  id: text('vehicle identifier', '1000000001'),
  builder: text('manufacturer', 'Renault'),
  model: text('model', 'Zoe'),
  plate: text('license plate', 'AB-123-CD'),
  deviceId: text('installed device, empty without one', 'unit-0001'),
  deviceModel: text('model of the device', 'generic'),
  energy: text('energy, registration-certificate nomenclature', 'EL'),
  bluetoothName: text('Bluetooth name', 'ODO-0001'),
  seats: number('number of seats', 5),
  gearbox: word(['AUTOMATIC', 'MANUAL', ''], { description: 'empty when unknown' }),
  kind: text('vehicle type, registration-certificate nomenclature', 'VP'),
  archived: truth('archived flag'),
  accessories: Type.Array(word(accessories)),
};

/** An element of GET /v1/vehicles in its dynamic shape. */
export const DynamicVehicle = exactly('DynamicVehicle', brief);
/** An element of GET /v1/vehicles in its fleet shape: the fleet vehicle record. */
export const FleetVehicle = exactly('FleetVehicle', fleetRecord);
/** Both shapes in one object; a vehicle without data has only the keys of the fleet shape. */
export const CombinedVehicle = exactly('CombinedVehicle', {
  ...fleetRecord,
  vehicle: Type.Optional(Vehicle),
  timestamp: Type.Optional(brief.timestamp),
  location: Type.Optional(Location),
  status: Type.Optional(Status),
});
export const VehicleStatus = exactly('VehicleStatus', {
  ...brief,
  electric: Electric,
  ...sensors,
  state: DynamicState,
});
export const StoredReading = exactly('StoredReading', {
  ...brief,
  can: Type.Array(CanDatum),
  electric: Electric,
  ...sensors,
});
export const CustomCanReading = exactly('CustomCanReading', { ...brief, can: Type.Array(CanDatum), ...sensors });
export const HistoryReading = exactly('HistoryReading', { ...brief, electric: Electric, ...sensors });

/** The shape of the answer. */
export const view = Type.Optional(
  word(['dynamic', 'fleet'], {
    description: 'one shape only; by default the one that the application has set, else both in one object',
  }),
);

/** Path parameters of a route about one vehicle. */
export const VehicleParameters = Type.Object({ id: VehicleId });

export const after = Type.Optional(
  Type.String({ description: 'continues behind a reading; from the Link of the page before' }),
);
export const HistoryQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, inclusive'),
  limit: Type.Integer({ minimum: 0, default: 3000, description: 'readings in the answer, at most 10,000' }),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'readings to skip' }),
  after,
});
export type HistoryQuery = Static<typeof HistoryQuery>;

/** Returns a number of a query as a safe integer: the validator accepts the word Infinity. @throws Failure INVALID_PARAMETER */
export function finite(field: string, value: number): number {
  if (!Number.isFinite(value)) throw invalidParameter(field, 'must be a whole number');
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

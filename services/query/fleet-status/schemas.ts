import Type, { type Static, type TSchema } from 'typebox';
import { DynamicState, VehicleStatus } from '../schemas.ts';

const exactly = <Fields extends Record<string, TSchema>>(fields: Fields, description?: string) =>
  Type.Object(fields, { additionalProperties: false, ...(description !== undefined && { description }) });
const number = (description: string) => Type.Number({ description });
const truth = (description: string) => Type.Boolean({ description });
const moment = (description: string) => Type.String({ description: `${description}, ISO 8601 UTC` });
/** One of a few words, empty if never reported. */
const word = (...words: string[]) => Type.String({ enum: [...words, ''] });

const Position = exactly({
  latitude: number('decimal degrees'),
  longitude: number('decimal degrees'),
  timestamp: moment('device time of the reading'),
});
const Scenario = exactly({
  available: truth('the device monitors it'),
  active: truth('it is being monitored'),
  action: Type.String({ description: 'action that the device takes, empty if none' }),
  triggered: truth('reported by the latest reading'),
});
const Authorization = exactly({
  authorizationId: Type.String(),
  userId: Type.String({ description: 'driver' }),
  from: moment('start, inclusive'),
  until: moment('end, exclusive'),
});
const FleetState = exactly({
  Towing: truth('is in towed state'),
  Accident: truth('has been in an accident'),
  Maintenance: truth('is being serviced'),
  Breakdown: truth('has broken down'),
  Stolen: truth('is reported stolen'),
  Unavailable: truth('is unavailable'),
});

const fleetFields = {
  lock: word('LOCKED', 'UNLOCKED'),
  engine: word('ON', 'OFF'),
  immobilizer: word('LOCKED', 'UNLOCKED'),
  handbrake: word('ON', 'OFF'),
  lights: word('ON', 'OFF'),
  doors: word('OPEN', 'CLOSED'),
  windows: word('OPEN', 'CLOSED'),
  speed: number('km/h'),
  bluetooth: word('CONNECTED', 'DISCONNECTED'),
  authenticated: Type.Optional(truth('Bluetooth authentication; absent without Bluetooth connection')),
  mileage: number('km'),
  fuel: number('litres'),
  fuelRange: number('fuel level, %'),
  chargingAdapterStatus: word('CONNECTED', 'DISCONNECTED'),
  ChargingStatus: word('CHARGING', 'NOT_CHARGING'),
  ChargingUntil: moment('when charging will stop, empty when unknown'),
  ChargeLevel: number('battery, %'),
  RemainingRange: number('km'),
  privacy: truth('location privacy is on'),
  position: Type.Optional(Position),
  authorizations: Type.Array(Authorization, { description: 'Bluetooth authorizations that are current' }),
  scenarii: exactly({
    gps_jamming: Scenario,
    gnss_jamming: Scenario,
    towing_detection: Scenario,
    crash_detection: Scenario,
  }),
  cardholder: Type.Array(exactly({ id: Type.String(), statut: Type.String() })),
  vehicleKey: truth('key present in the car'),
  lastMessage: moment('when the platform received the last message of the device'),
};

/** The fleet vehicle status record. */
export const FleetStatus = exactly({ ...fleetFields, state: FleetState }, 'the fleet shape');
export type FleetStatus = Static<typeof FleetStatus>;

/** Both shapes at once; a vehicle without a device that reports has no fleet keys but `state`. */
export const CombinedStatus = exactly(
  {
    ...VehicleStatus.properties,
    ...Type.Partial(Type.Object(fleetFields)).properties,
    state: exactly({ ...DynamicState.properties, ...FleetState.properties }),
  },
  'both shapes at once; only the dynamic one when the vehicle has data, but no device that ever reported',
);

/** GET /v1/vehicle/position. */
export const PositionAnswer = exactly({ Position });

import { moment, momentOrEmpty, word as oneOf } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';
import { DynamicState, exactly, VehicleStatus } from '../schemas.ts';

const number = (description: string, example = 0) => Type.Number({ description, examples: [example] });
const truth = (description: string) => Type.Boolean({ description });
/** One of a few words, empty if never reported. */
const word = (...words: string[]) => oneOf([...words, '']);

const Position = exactly('Position', {
  latitude: number('decimal degrees', 48.8566),
  longitude: number('decimal degrees', 2.3522),
  timestamp: moment('device time of the reading'),
});
const Scenario = exactly('Scenario', {
  available: truth('the device monitors it'),
  active: truth('it is being monitored'),
  action: Type.String({ description: 'action that the device takes, empty if none', examples: ['IMMOBILIZE'] }),
  triggered: truth('reported by the latest reading'),
});
const Authorization = exactly('CurrentAuthorization', {
  authorizationId: Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000001'] }),
  userId: Type.String({ description: 'driver', examples: ['driver-17'] }),
  from: moment('start, inclusive'),
  until: moment('end, exclusive'),
});
const FleetState = exactly('FleetVehicleState', {
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
  ChargingUntil: momentOrEmpty('when charging will stop, empty when unknown'),
  ChargeLevel: number('battery, %'),
  RemainingRange: number('km'),
  privacy: truth('location privacy is on'),
  position: Type.Optional(Position),
  authorizations: Type.Array(Authorization, { description: 'Bluetooth authorizations that are current' }),
  scenarii: exactly('Scenarii', {
    gps_jamming: Scenario,
    gnss_jamming: Scenario,
    towing_detection: Scenario,
    crash_detection: Scenario,
  }),
  cardholder: Type.Array(
    exactly('Card', { id: Type.String({ examples: ['1'] }), statut: Type.String({ examples: ['PRESENT'] }) }),
  ),
  vehicleKey: truth('key present in the car'),
  lastMessage: momentOrEmpty('when the platform received the last message of the device'),
};

/** The fleet vehicle status record. */
export const FleetStatus = exactly('FleetVehicleStatus', { ...fleetFields, state: FleetState });
export type FleetStatus = Static<typeof FleetStatus>;

/** Both shapes at once; a vehicle without a device that reports has no fleet keys but `state`. */
export const CombinedStatus = exactly('CombinedStatus', {
  ...VehicleStatus.properties,
  ...Type.Partial(Type.Object(fleetFields)).properties,
  state: exactly('CombinedVehicleState', { ...DynamicState.properties, ...FleetState.properties }),
});

/** GET /v1/vehicle/position. */
export const PositionAnswer = exactly('PositionAnswer', { Position });

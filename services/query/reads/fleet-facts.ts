import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { AlarmsGroup, ElectricGroup, FleetGroup, StatusGroup } from '@odograph/contracts/telemetry';
import { isoMicroseconds, type Microseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import { seesAuthorization } from '@odograph/database/bookings';
import type { Database } from '@odograph/database/database';
import { latestMembers, privacyIsOn } from '@odograph/database/reading-json';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import { moment, momentOrEmpty, word as oneOf } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { DynamicState, exactly, number, statusAddress, truth, VehicleStatus } from '../shared/schemas.ts';

/** One of a few words, empty if never reported. */
const word = (...words: string[]) => oneOf([...words, '']);

const Position = exactly('Position', {
  latitude: number('decimal degrees', 48.8566),
  longitude: number('decimal degrees', 2.3522),
  timestamp: moment('device time of the reading'),
  address: statusAddress,
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
  authorizations: Type.Array(Authorization, {
    description: 'current Bluetooth authorizations; a user who does not manage the vehicle sees only their own',
  }),
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

interface KnownPosition {
  readonly latitude: number;
  readonly longitude: number;
  readonly time: Microseconds;
}

/** The groups of the latest state of a vehicle, its device model, and what people set. */
interface FleetFacts {
  readonly fleet: Static<typeof FleetGroup>;
  readonly alarms: Static<typeof AlarmsGroup>;
  readonly status: Static<typeof StatusGroup>;
  readonly electric: Static<typeof ElectricGroup>;
  /** The group `fleet` was reported later than `status`, or with it. */
  readonly isFleetNewerThanStatus: boolean;
  /** The group `fleet` was reported later than `electric`, or with it. */
  readonly isFleetNewerThanElectric: boolean;
  /** km/h, from the group that reported it last. */
  readonly speed: number | undefined;
  readonly position: KnownPosition | undefined;
  readonly privacy: boolean;
  /** The scenarii that the device model monitors, each with the action that the device takes. */
  readonly scenarii: Readonly<Record<string, string>>;
  readonly authorizations: FleetStatus['authorizations'];
  readonly lastMessage: Date;
  readonly state: DynamicState;
}

/** Writes ISO 8601 UTC to the millisecond, or to the microsecond where the device time has any. */
function isoText(moment: Microseconds): string {
  return isoMicroseconds(moment).replace(/000Z$/, 'Z');
}

/** Parses UNIX seconds, milliseconds or ISO 8601; 0 and anything else mean unknown. */
function chargingEnd(value: number | string | undefined): string {
  if (value === undefined || value === 0) return '';
  try {
    return isoText(parseTimestamp('ChargingUntil', String(value)));
  } catch (error) {
    if (error instanceof Failure) return '';
    throw error;
  }
}

/** Writes a position. */
export function positionAnswer({ latitude, longitude, time }: KnownPosition) {
  return { latitude, longitude, timestamp: isoText(time) };
}

/** Writes the state flags with the names of the fleet flavor. */
export function fleetState(state: DynamicState): FleetStatus['state'] {
  const { towing, accident, maintenance, breakdown, stolen, unavailable } = state;
  return {
    Towing: towing,
    Accident: accident,
    Maintenance: maintenance,
    Breakdown: breakdown,
    Stolen: stolen,
    Unavailable: unavailable,
  };
}

function scenario({ scenarii }: FleetFacts, name: string, alarm: boolean | undefined) {
  const action = scenarii[name];
  const available = action !== undefined;
  return { available, active: available, action: action ?? '', triggered: alarm ?? false };
}

/** Returns the value of the newer group, `fleet` or another one with the same fact; the older value if the newer has none. */
function newerOf<Value>(isFleetNewer: boolean, ofFleet: Value | undefined, ofOther: Value | undefined) {
  return isFleetNewer ? (ofFleet ?? ofOther) : (ofOther ?? ofFleet);
}

const engineWord = (ignition: boolean | undefined) => (ignition === undefined ? undefined : ignition ? 'ON' : 'OFF');

/**
 * Composes the fleet vehicle status record (interface specification, "Fleet management records"). Of two groups
 * that state the same fact, the one reported later counts; unknown fields are empty (general convention 4).
 */
export function fleetStatus(facts: FleetFacts): FleetStatus {
  const { fleet, status, electric, alarms, position, isFleetNewerThanStatus, isFleetNewerThanElectric } = facts;
  const { lock = '', immobilizer = '', handbrake = '', lights = '', doors = '', windows = '' } = fleet;
  const { bluetooth = '', authenticated = false, fuel = 0, fuelRange = 0 } = fleet;
  const { chargingAdapterStatus = '', ChargingStatus = '', cardholder = [], vehicleKey = false } = fleet;
  const engine = newerOf(isFleetNewerThanStatus, fleet.engine, engineWord(status.ignition)) ?? '';
  return {
    ...{ lock, engine, immobilizer, handbrake, lights, doors, windows },
    speed: facts.speed ?? 0,
    bluetooth,
    ...(bluetooth === 'CONNECTED' && { authenticated }),
    mileage: newerOf(isFleetNewerThanStatus, fleet.mileage, status.mileage) ?? 0,
    ...{ fuel, fuelRange, chargingAdapterStatus, ChargingStatus },
    ChargingUntil: chargingEnd(fleet.ChargingUntil),
    ChargeLevel: newerOf(isFleetNewerThanElectric, fleet.ChargeLevel, electric.soc) ?? 0,
    RemainingRange: newerOf(isFleetNewerThanStatus, fleet.RemainingRange, status.autonomy) ?? 0,
    privacy: facts.privacy,
    ...(position && { position: positionAnswer(position) }),
    authorizations: facts.authorizations,
    scenarii: {
      gps_jamming: scenario(facts, 'gps_jamming', alarms.gps_jamming),
      gnss_jamming: scenario(facts, 'gnss_jamming', alarms.gnss_jamming),
      towing_detection: scenario(facts, 'towing_detection', alarms.towing),
      crash_detection: scenario(facts, 'crash_detection', alarms.crash),
    },
    cardholder: cardholder.map(({ id, statut }) => ({ id, statut })),
    vehicleKey,
    lastMessage: facts.lastMessage.toISOString(),
    state: fleetState(facts.state),
  };
}

const isPrivate = sql.raw<boolean>(privacyIsOn);
const states = sql`json_build_object('towing', vehicle.towing, 'accident', vehicle.accident,
  'maintenance', vehicle.maintenance, 'breakdown', vehicle.breakdown, 'stolen', vehicle.stolen,
  'unavailable', vehicle.unavailable)`;

/** Finds a vehicle by its id. @throws Failure UNKNOWN_VEHICLE */
export async function findVehicleId(db: Database, caller: Caller, id: string): Promise<number> {
  return (await findVehicle(db, caller, id)).id;
}

/** Finds a vehicle by its plate; only letters and digits count. @throws Failure UNKNOWN_VEHICLE */
export async function findVehicleIdByPlate(db: Database, caller: Caller, plate: string): Promise<number> {
  const row = await db
    .selectFrom('vehicle')
    .select('id')
    .where(hasPlate(plate))
    .where(accessibleTo(caller))
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  return row.id;
}

/** The latest reading of a vehicle, and its state flags. */
interface LatestReading {
  /** Members of a JSON object, `vehicle` to `sensors`. */
  readonly members: string;
  readonly state: DynamicState;
}

/** Finds the latest reading of a vehicle; undefined if it never reported. */
export async function findLatestReading(db: Database, vehicleId: number): Promise<LatestReading | undefined> {
  const { rows } = await sql<LatestReading>`select ${latestMembers.stateless} as members,
      ${states} as state
    from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.id = ${vehicleId}`.execute(db);
  return rows[0];
}

interface PositionRow {
  latitude: number | null;
  longitude: number | null;
  located_us: string | null;
}

const positionColumns = sql`
  case when not ${isPrivate} then vehicle_latest.location->'latitude' end as latitude,
  case when not ${isPrivate} then vehicle_latest.location->'longitude' end as longitude,
  (extract(epoch from vehicle_latest.location_time) * 1000000)::bigint::text as located_us`;

function toPosition({ latitude, longitude, located_us: time }: PositionRow): KnownPosition | undefined {
  if (latitude === null || longitude === null || time === null) return undefined;
  return { latitude, longitude, time: BigInt(time) };
}

/** Finds the last known position of a vehicle; undefined also while it is private. */
export async function findPosition(db: Database, vehicleId: number): Promise<KnownPosition | undefined> {
  const { rows } = await sql<PositionRow>`select ${positionColumns}
    from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.id = ${vehicleId}`.execute(db);
  return rows[0] && toPosition(rows[0]);
}

/** How many readings are searched for a speed before the one of the last position is used. */
const readingsWithSpeed = 100;

/** Speeds of a vehicle's groups, and the interval of device times in which readings may have a newer one. */
interface SpeedRow {
  location_speed: number | null;
  fleet_speed: number | null;
  since: string;
  until: string;
  isRepeated: boolean;
}

const speedColumns = sql`(vehicle_latest.location->'speed')::double precision as location_speed,
  (vehicle_latest.fleet->'speed')::double precision as fleet_speed,
  vehicle_latest.location_time::text as since, vehicle_latest.fleet_time::text as until,
  coalesce(vehicle_latest.fleet ? 'speed' and vehicle_latest.location ? 'speed'
    and vehicle_latest.fleet_time > vehicle_latest.location_time, false) as "isRepeated"`;

/**
 * Finds the speed that was reported last. Both groups may have one, and `fleet` keeps its last one when it is reported
 * without. So if `fleet` was reported later than the location, the speed comes from the readings since then, whose column has
 * that of either group. Their times are parameters, so that the statement is planned for their chunks only.
 */
async function findSpeed(db: Database, vehicleId: number, row: SpeedRow): Promise<number | undefined> {
  const lastKnown = row.location_speed ?? row.fleet_speed ?? undefined;
  if (!row.isRepeated) return lastKnown;
  const { rows } = await sql<{ speed: number }>`
    select recent.speed from (
      select reading.time, reading.speed from reading join vehicle on vehicle.id = reading.vehicle_id
        and vehicle.application_id = reading.application_id
      where reading.vehicle_id = ${vehicleId} and reading.time > ${row.since}::timestamptz
        and reading.time <= ${row.until}::timestamptz
      order by reading.time desc limit ${sql.lit(readingsWithSpeed)}) as recent
    where recent.speed is not null order by recent.time desc limit 1`.execute(db);
  return rows[0]?.speed ?? lastKnown;
}

/** Authorizations that are current and that the caller may see; a suspended one is included. */
const authorizations = (caller: Caller) => sql`(select coalesce(json_agg(json_build_object('authorizationId', held.id,
    'userId', held.driver_id, 'from', held.valid_from, 'until', held.valid_until)
    order by held.valid_from, held.id), '[]')
  from bluetooth_authorization as held
  where held.vehicle_id = vehicle.id and held.revoked_at is null
    and held.valid_from <= now() and held.valid_until > now() and ${seesAuthorization(caller)})`;

interface FactsRow
  extends PositionRow,
    SpeedRow,
    Pick<FleetFacts, 'fleet' | 'alarms' | 'status' | 'electric' | 'privacy' | 'scenarii' | 'state'>,
    Pick<FleetFacts, 'isFleetNewerThanStatus' | 'isFleetNewerThanElectric'> {
  authorizations: FleetFacts['authorizations'];
  received_at: Date;
}

const source = sql`from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
  join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  join device on device.id = device_link.device_id
  join device_model on device_model.id = device.model_id`;

/**
 * Finds what the fleet status of a vehicle is made of; undefined when no device is linked to it, or one that never reported:
 * the vehicle has no reading since the link.
 */
export async function findFleetFacts(db: Database, caller: Caller, vehicleId: number): Promise<FleetFacts | undefined> {
  const { rows } = await sql<FactsRow>`
    select coalesce(fleet, '{}') as fleet, coalesce(alarms, '{}') as alarms, coalesce(status, '{}') as status,
      coalesce(electric, '{}') as electric, coalesce(fleet_time >= status_time, true) as "isFleetNewerThanStatus",
      coalesce(fleet_time >= electric_time, true) as "isFleetNewerThanElectric",
      ${speedColumns}, ${positionColumns}, ${isPrivate} as privacy, device_model.scenarii,
      ${authorizations(caller)} as authorizations, vehicle_latest.received_at,
      ${states} as state
    ${source} where vehicle.id = ${vehicleId} and device_link.period @> vehicle_latest.time`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { fleet, alarms, status, electric, isFleetNewerThanStatus, isFleetNewerThanElectric } = row;
  const { privacy, scenarii, state, received_at: lastMessage } = row;
  const utc = (time: string) => new Date(time).toISOString();
  return {
    ...{ fleet, alarms, status, electric, isFleetNewerThanStatus, isFleetNewerThanElectric },
    ...{ privacy, scenarii, state, lastMessage },
    speed: await findSpeed(db, vehicleId, row),
    position: toPosition(row),
    authorizations: row.authorizations.map((one) => ({ ...one, from: utc(one.from), until: utc(one.until) })),
  };
}

import { type AlarmParameterName, alarmKinds } from '@odograph/contracts/alarms';
import { weekdays } from '@odograph/contracts/geofence-windows';
import { maximumGeofencePoints } from '@odograph/contracts/geofences';
import { GroupFilter, moment, text, timestamp, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static, type TSchema } from 'typebox';
import { GroupId } from '../groups/schemas.ts';

const uuid = (description: string) =>
  Type.String({ maxLength: 256, description, examples: ['0197a1de-5f0e-7000-8000-000000000005'] });

export const RulePath = Type.Object({ id: uuid('rule identifier') });
export const GeofencePath = Type.Object({ id: uuid('geofence identifier') });
export const AlarmPath = Type.Object({ id: uuid('alarm identifier') });

const Point = Type.Unsafe<[longitude: number, latitude: number]>({
  ...{ type: 'array', items: { type: 'number', minimum: -180, maximum: 180 }, minItems: 2, maxItems: 2 },
  description: 'longitude and latitude, decimal degrees',
  examples: [[2.35, 48.85]],
});

/** GeoJSON (RFC 7946). */
const Geometry = Type.Union([
  Type.Object({ type: word(['Point'] as const), coordinates: Point }, { title: 'GeofenceCentre' }),
  Type.Object(
    {
      type: word(['Polygon'] as const),
      coordinates: Type.Array(Type.Array(Point, { minItems: 4, maxItems: maximumGeofencePoints }), {
        minItems: 1,
        maxItems: 1,
        description: 'one closed ring; an edge of more than 180 degrees of longitude goes the other way around',
      }),
    },
    { title: 'GeofencePolygon' },
  ),
  Type.Object(
    {
      type: word(['LineString'] as const),
      coordinates: Type.Array(Point, {
        minItems: 2,
        maxItems: maximumGeofencePoints,
        description: 'centre line of a corridor; edges are straight in longitude and latitude',
      }),
    },
    { title: 'GeofenceLine' },
  ),
]);

const name = text(1, 256, { description: 'name', examples: ['Depot'] });
const appId = Type.String({ description: 'application', examples: ['app-7f3a'] });
const radiusMetres = Type.Optional(
  Type.Number({ minimum: 10, maximum: 500_000, description: 'of a circle around a Point', examples: [500] }),
);

const localTime = (description: string, example: string) =>
  Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description, examples: [example] });
const GeofenceWindow = Type.Object(
  {
    weekdays: Type.Array(word(weekdays), { minItems: 1, maxItems: 7, uniqueItems: true, examples: [['monday']] }),
    from: localTime('local time at which it begins', '08:00'),
    until: localTime('local time at which it ends, exclusive; on the next day unless it is later than `from`', '18:00'),
  },
  { title: 'GeofenceWindow' },
);
const placeFields = {
  radiusMetres,
  widthMetres: Type.Optional(
    Type.Number({
      minimum: 20,
      maximum: 20_000,
      description: 'full width of a corridor along a LineString',
      examples: [200],
    }),
  ),
  timeZone: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'IANA time zone of the windows',
      examples: ['Europe/Paris'],
    }),
  ),
  windows: Type.Optional(
    Type.Array(GeofenceWindow, {
      minItems: 1,
      maxItems: 20,
      description: 'times at which the geofence is active; outside them it raises no alarm. Default: always',
    }),
  ),
};

export const NewGeofence = Type.Object({
  name,
  geometry: { ...Geometry, examples: [{ type: 'Point', coordinates: [2.35, 48.85] }] },
  ...placeFields,
});
export type NewGeofence = Static<typeof NewGeofence>;
export const Geofence = Type.Object(
  { id: uuid('geofence identifier'), appId, name: Type.String(), geometry: Geometry, ...placeFields },
  { title: 'Geofence' },
);
export type Geofence = Static<typeof Geofence>;

/** The kind of a rule determines the required ones (packages/contracts/alarms.ts). */
export const Parameters = Type.Partial(
  Type.Object({
    afterMinutes: Type.Integer({ minimum: 1, maximum: 525_600, description: 'silent: minutes without contact' }),
    belowPercent: Type.Number({ minimum: 1, maximum: 100, description: 'low-battery: charge of the traction battery' }),
    belowVolts: Type.Number({ minimum: 1, maximum: 100, description: 'low-battery: volts in the CAN data' }),
    canKey: text(1, 256, {
      description: 'low-battery: key of the CAN datum with the volts',
      examples: ['battery_volts'],
    }),
    geofenceId: uuid('geofence: its identifier'),
    when: word(['inside', 'outside'] as const, { description: 'geofence: the side that raises the alarm' }),
    limitKmh: Type.Number({ minimum: 1, maximum: 1000, description: 'speed: limit in km/h' }),
  } satisfies Record<AlarmParameterName, TSchema>),
  { additionalProperties: false },
);
export type Parameters = Static<typeof Parameters>;

const maxVehiclesPerRule = 1000;
const maxGroupsPerRule = 100;
export const NewAlarmRule = Type.Object({
  name,
  kind: word(alarmKinds),
  parameters: Type.Optional({ ...Parameters, examples: [{ limitKmh: 130 }] }),
  vehicleIds: Type.Optional(
    Type.Array(VehicleId, {
      minItems: 1,
      maxItems: maxVehiclesPerRule,
      description: 'vehicles that the rule applies to; without vehicles and groups, all vehicles of the application',
    }),
  ),
  groupIds: Type.Optional(
    Type.Array(GroupId, {
      minItems: 1,
      maxItems: maxGroupsPerRule,
      description: 'the rule applies to the vehicles of these groups and their subgroups, including those added later',
    }),
  ),
});
export type NewAlarmRule = Static<typeof NewAlarmRule>;
export const AlarmRule = Type.Object(
  {
    id: uuid('rule identifier'),
    appId,
    name: Type.String(),
    kind: word(alarmKinds),
    parameters: Parameters,
    vehicleIds: Type.Optional(Type.Array(VehicleId, { description: 'listed vehicles' })),
    groupIds: Type.Optional(
      Type.Array(GroupId, {
        description: 'without vehicles and groups, the rule applies to all vehicles of the application',
      }),
    ),
    activeFrom: moment('of its creation or last change: earlier readings do not count'),
  },
  { title: 'AlarmRule' },
);
export type AlarmRule = Static<typeof AlarmRule>;

const limit = Type.Integer({
  minimum: 1,
  maximum: 1000,
  default: 100,
  description: 'maximum number of elements in the answer',
});
export const ListQuery = Type.Object({
  limit,
  after: Type.Optional(uuid('the last identifier of the previous page')),
});
export const AlarmsQuery = Type.Object({
  vehicleId: Type.Optional(VehicleId),
  group: GroupFilter,
  ruleId: Type.Optional(uuid('alarms of one rule')),
  kind: Type.Optional(word(alarmKinds)),
  state: Type.Optional(word(['open', 'cleared'] as const)),
  acknowledged: Type.Optional(Type.Boolean({ description: 'only those that a person acknowledged, or did not' })),
  from: Type.Optional(timestamp('raised at this time or later')),
  until: Type.Optional(timestamp('raised before this time')),
  address: Type.Optional(Type.Boolean({ description: 'adds known addresses to locations' })),
  limit,
  after: Type.Optional(Type.String({ maxLength: 128, description: 'continues a list; see the header Link' })),
});
export type AlarmsQuery = Static<typeof AlarmsQuery>;
export const Acknowledgement = Type.Object({
  note: Type.Optional(text(0, 2000, { description: 'what was found or done', examples: ['called the driver'] })),
});

import { alarmKinds } from '@odograph/contracts/alarms';
import type { EventType } from '@odograph/contracts/events';
import { Alarm } from '@odograph/http/alarm-schema';
import { commandFields, moment, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { CalendarBooking, HeldAuthorization } from '../reads/bookings.ts';
import { Trip } from '../reads/trips.ts';
import { DynamicState, number, StoredReading, text } from '../shared/schemas.ts';

/** The states of a vehicle in the live stream. */
const liveStates = ['moving', 'parked', 'silent', 'private'] as const;
export type LiveState = (typeof liveStates)[number];
const stateFlags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;

const vehicleId = text('vehicle identifier', '1000000001');

export const LiveVehicle = Type.Object(
  {
    id: vehicleId,
    appId: text('the application that the vehicle belongs to', 'app-0001'),
    plate: text('license plate', 'AB-123-CD'),
    vin: text('vehicle identification number', 'VF1AG000000000001'),
    brand: text('make', 'Renault'),
    model: text('commercial name', 'Zoe'),
    deviceId: text('the linked device, empty without one', 'unit-0001'),
    state: word(liveStates),
    flags: Type.Array(word(stateFlags), { description: 'raised state flags' }),
    alarms: Type.Array(word(alarmKinds), { description: 'the kinds of its open alarms' }),
    location: Type.Optional(
      Type.Object(
        {
          latitude: number('decimal degrees', 48.8566),
          longitude: number('decimal degrees', 2.3522),
          angle: Type.Optional(number('heading in degrees, 0 is north', 90)),
          time: moment('device time of the position'),
        },
        { title: 'LiveLocation' },
      ),
    ),
    speed: Type.Optional(number('km/h', 52)),
    soc: Type.Optional(number('charge level, %', 80)),
    parkedSince: Type.Optional(moment('device time at which the ignition was switched off')),
    lastContact: Type.Optional(moment('when the platform last received a reading; left out if it never did')),
  },
  { title: 'LiveVehicle' },
);
export type LiveVehicle = Static<typeof LiveVehicle>;

const count = (description: string) => Type.Integer({ minimum: 0, description, examples: [3] });
export const LiveCell = Type.Object(
  {
    id: text('names the cell until the next reset', '133652'),
    latitude: number('of the centre, decimal degrees', 48.92),
    longitude: number('of the centre, decimal degrees', 2.46),
    count: count('vehicles in it; 0: the cell is empty, remove it'),
    moving: count('moving vehicles'),
    parked: count('parked vehicles'),
    silent: count('silent vehicles'),
  },
  { title: 'LiveCell' },
);
export type LiveCell = Static<typeof LiveCell>;

export const LiveCommand = Type.Object({ vehicleId, ...commandFields }, { title: 'LiveCommand' });
export type LiveCommand = Static<typeof LiveCommand>;

const resetReasons = ['START', 'EXPIRED', 'ACCESS', 'MODE'] as const;
export type ResetReason = (typeof resetReasons)[number];
const viewModes = ['vehicles', 'cells'] as const;
export type ViewMode = (typeof viewModes)[number];

const event = <Name extends string, Data extends Type.TSchema>(name: Name, data: Data) =>
  Type.Object({ event: word([name]), data }, { title: `Live${name[0]?.toUpperCase()}${name.slice(1)}Event` });

const LiveReset = Type.Object({ reason: word(resetReasons), mode: word(viewModes) }, { title: 'LiveReset' });
export type LiveReset = Static<typeof LiveReset>;

/** The events of the stream: `event` and `data` of each, as JSON. */
export const LiveEvent = Type.Union([
  event('reset', LiveReset),
  event(
    'snapshot',
    Type.Object({ vehicles: Type.Array(LiveVehicle), complete: Type.Boolean() }, { title: 'LiveSnapshot' }),
  ),
  event(
    'changes',
    Type.Object({ vehicles: Type.Array(LiveVehicle), left: Type.Array(vehicleId) }, { title: 'LiveChanges' }),
  ),
  event('cells', Type.Object({ cells: Type.Array(LiveCell) }, { title: 'LiveCells' })),
  event('command', LiveCommand),
  event('alarm', Alarm),
]);

const deviceId = text('device identifier', 'unit-0001');

/** The resource as it is when the event is read; once it is gone, only its id. */
const shown = (resource: TObject, title: string) => Type.Partial(resource, { title });

const EndedCommand = shown(LiveCommand, 'CommandOfEvent');
const TripOfEvent = shown(Trip, 'TripOfEvent');
const AuthorizationOfEvent = shown(
  Type.Object({
    ...HeldAuthorization.properties,
    replacedBy: text('the authorization that an update replaced it with', '0197a1de-5f0e-7000-8000-000000000002'),
  }),
  'AuthorizationOfEvent',
);
const BookingOfEvent = shown(
  Type.Object({
    ...CalendarBooking.properties,
    state: word(['PLANNED', 'ACTIVE', 'ENDED', 'STOPPED', 'DELETED']),
  }),
  'BookingOfEvent',
);
const Connection = Type.Object({ deviceId }, { title: 'ConnectionOfEvent' });
const Link = Type.Object(
  {
    deviceId,
    from: Type.Optional(moment('start of the link; left out for a link that reaches back without bound')),
    until: Type.Optional(moment('end of the link')),
  },
  { title: 'LinkOfEvent' },
);

const EscalatedAlarm = Type.Object(
  { ...Alarm.properties, notificationId: Type.String({ description: 'the notification that the alarm escalates to' }) },
  { title: 'EscalatedAlarm' },
);

/** `data` of the events of each type. */
const contents: Readonly<Record<EventType, TSchema>> = {
  'reading.stored': StoredReading,
  'trip.finished': TripOfEvent,
  'trip.changed': TripOfEvent,
  'state.changed': Type.Object(
    {
      ...Type.Partial(DynamicState).properties,
      changed: Type.Partial(DynamicState, {
        title: 'ChangedStates',
        description: 'the flags that changed, as they became',
      }),
    },
    { title: 'StateOfEvent' },
  ),
  'alarm.raised': Alarm,
  'alarm.cleared': Alarm,
  'alarm.escalated': EscalatedAlarm,
  'command.ended': EndedCommand,
  'booking.created': BookingOfEvent,
  'booking.starting': BookingOfEvent,
  'booking.overdue': BookingOfEvent,
  'booking.changed': BookingOfEvent,
  'booking.ended': BookingOfEvent,
  'authorization.created': AuthorizationOfEvent,
  'authorization.changed': AuthorizationOfEvent,
  'authorization.ended': AuthorizationOfEvent,
  'device.linked': Link,
  'device.unlinked': Link,
  'device.connected': Connection,
  'device.disconnected': Connection,
  'device.silent': Type.Object(
    { deviceId, lastContact: moment('when the platform last received a reading') },
    { title: 'SilenceOfEvent' },
  ),
  'upload.quarantined': Type.Object(
    {
      deviceId: Type.Optional(deviceId),
      receivedAt: Type.Optional(moment('when the platform received it')),
      bytes: Type.Optional(Type.Integer({ description: 'size', examples: [412] })),
      reasons: Type.Optional(Type.Array(text('why it could not be stored', 'MALFORMED'))),
      uploadId: Type.Optional(text('instead of the others once it is gone', '17')),
    },
    { title: 'QuarantineOfEvent' },
  ),
};

const titleOf = (type: string): string =>
  type.replace(/(?:^|\.)(\w)/g, (_match, letter: string) => letter.toUpperCase());

/** An event of the list (docs/interface.md, "Events"). */
const eventOf = (type: EventType, data: TSchema) =>
  Type.Object(
    {
      id: text('stays the same whenever the event is sent', '1772440200000000-17'),
      type: word([type]),
      time: moment('when it happened'),
      appId: text('the application', 'app-0001'),
      vehicleId: Type.Optional(VehicleId),
      data,
    },
    { title: `${titleOf(type)}Data` },
  );

/** The events of the list as the stream sends them: `event` and `data` of each, as JSON. */
export const listedEvents = Object.entries(contents).map(([type, data]) =>
  Type.Object({ event: word([type]), data: eventOf(type as EventType, data) }, { title: `${titleOf(type)}Event` }),
);

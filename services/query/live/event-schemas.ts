import type { EventType } from '@odograph/contracts/events';
import { Alarm } from '@odograph/http/alarm-schema';
import { moment, VehicleId, word } from '@odograph/http/schemas';
import Type, { type TObject, type TSchema } from 'typebox';
import { CalendarBooking, HeldAuthorization } from '../bookings/schemas.ts';
import { DynamicState, StoredReading } from '../schemas.ts';
import { Trip } from '../trips/routes.ts';
import { LiveCommand } from './schemas.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
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
  'command.ended': EndedCommand,
  'booking.created': BookingOfEvent,
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

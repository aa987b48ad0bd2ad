import { grantRoles } from '@odograph/database/vehicle-access';
import { Flag, moment, timestamp, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const id = (description: string) => text(description, '0197a1de-5f0e-7000-8000-000000000001');
const application = { appId: text('the application', 'app-0001') };

export const CalendarBooking = Type.Object(
  {
    bookingId: id('booking identifier'),
    vehicleId: text('vehicle identifier', '1000000001'),
    plate: text('license plate', 'AB-123-CD'),
    ...application,
    userId: text('driver', 'driver-17'),
    type: word(['BOOKING', 'FREE_FLOATING']),
    state: word(['PLANNED', 'ACTIVE', 'ENDED', 'STOPPED']),
    from: moment('start, inclusive'),
    until: Type.Optional(moment('end, exclusive; left out while it is open')),
    stoppedAt: Type.Optional(moment('when it was stopped')),
  },
  { title: 'CalendarBooking' },
);
export type CalendarBooking = Static<typeof CalendarBooking>;

const VehicleRequest = Type.Object(
  {
    requestId: id('request identifier'),
    ...application,
    userId: Type.Optional(id('account of the user who asked; left out for the application itself')),
    plate: text('license plate', 'AB-123-CD'),
    request: text('what was asked for', 'ADD'),
    createdAt: moment('when it was made'),
  },
  { title: 'PendingVehicleRequest' },
);
export type VehicleRequest = Static<typeof VehicleRequest>;

export const Calendar = Type.Object(
  {
    bookings: Type.Array(CalendarBooking, { description: 'by their start' }),
    requests: Type.Array(VehicleRequest, { description: 'requests for vehicles that wait for a decision' }),
  },
  { title: 'Calendar' },
);

export const CalendarQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 366 days after the start'),
  vehicleId: Type.Optional(VehicleId),
  limit: Type.Integer({ minimum: 1, maximum: 5000, default: 1000, description: 'bookings on a page' }),
  after: Type.Optional(
    Type.String({ maxLength: 64, description: 'continues behind a booking; from the Link of the page before' }),
  ),
});

export const AccessQuery = Type.Object({
  ended: Type.Optional({ ...Flag, description: 'whether to list also the 200 authorizations that ended last' }),
});

export const HeldAuthorization = Type.Object(
  {
    authorizationId: id('authorization identifier'),
    userId: text('driver', 'driver-17'),
    level: word(['LOCK_UNLOCK', 'DRIVE']),
    from: moment('start, inclusive'),
    until: moment('end, exclusive'),
    suspendedUntil: Type.Optional(moment('end of a suspension that has not ended')),
    revokedAt: Type.Optional(moment('when it was revoked')),
    issuedAt: moment('when it was issued'),
    issuedBy: Type.Optional(text('name of the user who issued it; left out if the application did', 'driver-17')),
  },
  { title: 'HeldAuthorization' },
);

export const VehicleAccess = Type.Object(
  {
    authorizations: Type.Array(HeldAuthorization, {
      description: 'Bluetooth authorizations that are current or planned, and with `ended` also past ones',
    }),
    grants: Type.Array(
      Type.Object(
        { userId: id('account'), username: text('name of the account', 'driver-17'), role: word(grantRoles) },
        { title: 'HeldGrant' },
      ),
      { description: 'users of the application with access to the vehicle' },
    ),
  },
  { title: 'VehicleAccess' },
);
export type VehicleAccess = Static<typeof VehicleAccess>;

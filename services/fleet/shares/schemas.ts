import { moment, timestamp, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

const uuid = (description: string) =>
  Type.String({ maxLength: 256, description, examples: ['0197a1de-5f0e-7000-8000-000000000005'] });
const latitude = Type.Number({ minimum: -90, maximum: 90, description: 'decimal degrees', examples: [48.8566] });
const longitude = Type.Number({ minimum: -180, maximum: 180, description: 'decimal degrees', examples: [2.3522] });

const Place = Type.Object(
  {
    latitude,
    longitude,
    radiusMetres: Type.Number({ minimum: 50, maximum: 100_000, description: 'metres', examples: [200] }),
  },
  { additionalProperties: false, description: 'the share ends when the vehicle comes within this radius' },
);

export const SharePath = Type.Object({ id: uuid('share identifier') });

export const NewShare = Type.Object({
  vehicleId: VehicleId,
  until: timestamp('when the link ends at the latest, within 31 days'),
  place: Type.Optional(Place),
  bookingId: Type.Optional(uuid('booking of the vehicle with which the link ends')),
  tripId: Type.Optional(uuid('completed trip that the link shows instead of the live position')),
  gridMetres: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 10_000,
      description:
        'rounds positions to a grid of this width and leaves out speed and heading; default: exact positions',
      examples: [500],
    }),
  ),
});
export type NewShare = Static<typeof NewShare>;

export const CreatedShare = Type.Object(
  {
    id: uuid('share identifier'),
    url: Type.String({ description: 'the link; shown once', examples: ['https://telematics.example/share#c2VjcmV0'] }),
  },
  { title: 'CreatedShare' },
);

export const SharesQuery = Type.Object({
  vehicleId: Type.Optional(VehicleId),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'maximum number of elements in the answer',
  }),
  after: Type.Optional(uuid('the last identifier of the previous page')),
});
export type SharesQuery = Static<typeof SharesQuery>;

export const Share = Type.Object(
  {
    id: uuid('share identifier'),
    appId: Type.String({ description: 'application', examples: ['app-7f3a'] }),
    vehicleId: VehicleId,
    kind: word(['live', 'trip']),
    state: word(['active', 'ended']),
    createdBy: Type.String({
      description: 'application, user:ID, operator:NAME or api-key:NAME',
      examples: ['application'],
    }),
    createdAt: moment('when it was created'),
    until: moment('when it ends at the latest'),
    endedAt: Type.Optional(moment('when it was revoked, or found to have ended')),
    place: Type.Optional(Place),
    bookingId: Type.Optional(uuid('booking with which it ends')),
    gridMetres: Type.Optional(
      Type.Integer({ description: 'width of the grid in metres; left out for exact positions' }),
    ),
    views: Type.Integer({ description: 'how often the page was opened', examples: [3] }),
    lastViewedAt: Type.Optional(moment('time of the last request, to the minute')),
  },
  { title: 'Share' },
);
export type Share = Static<typeof Share>;

export const SharedQuery = Type.Object({
  after: Type.Optional(timestamp('the member `after` of the previous response; returns newer positions only')),
});
export const ShareToken = Type.Object({
  'x-share-token': Type.Optional(
    Type.String({ maxLength: 256, description: 'the part of the link after #', examples: ['c2VjcmV0'] }),
  ),
});

/** The content of a share; contains neither plate nor identifiers. */
export const SharedVehicle = Type.Object(
  {
    kind: word(['live', 'trip']),
    name: Type.String({ description: 'brand and model', examples: ['Renault Zoe'] }),
    until: moment('when the link ends at the latest'),
    isPrivate: Type.Boolean({ description: 'location privacy is on: there is no position' }),
    gridMetres: Type.Optional(
      Type.Integer({ description: 'width of the grid in metres; left out for exact positions' }),
    ),
    position: Type.Optional(
      Type.Object({
        latitude,
        longitude,
        time: moment('device time'),
        ageSeconds: Type.Optional(Type.Number({ description: 'by the clock of the platform', examples: [4] })),
        speedKmh: Type.Optional(Type.Number({ examples: [43] })),
        headingDegrees: Type.Optional(Type.Number({ description: '0 is north', examples: [90] })),
      }),
    ),
    trail: Type.Array(
      Type.Unsafe<readonly [latitude: number, longitude: number]>({
        ...{ type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
        description: 'latitude and longitude',
        examples: [[48.8566, 2.3522]],
      }),
      {
        description:
          'positions since the share was created, of the last 24 hours and at most 500; with the parameter `after`, only newer ones',
      },
    ),
    arrivalAt: Type.Optional(moment('estimated arrival at the place of the share, by a router')),
    after: moment('time of the newest position of the trail, for the next request'),
  },
  { title: 'SharedVehicle' },
);
export type SharedVehicle = Static<typeof SharedVehicle>;

import { moment, timestamp } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

const DeviceId = Type.String({ description: 'device identifier', examples: ['unit-0001'] });

export const VehicleLink = Type.Object(
  {
    deviceId: DeviceId,
    from: Type.Optional(moment('start, inclusive; left out for a link that reaches back without bound')),
    until: Type.Optional(moment('end, exclusive; left out while the device is linked')),
  },
  { title: 'VehicleLink' },
);
export type VehicleLink = Static<typeof VehicleLink>;

export const LatestValue = Type.Object(
  {
    group: Type.String({
      description: 'location, status, electric, fleet, alarms, can, or sensors',
      examples: ['can'],
    }),
    name: Type.String({
      description: 'the name within the group; of a sensor, its name and the key',
      examples: ['rpm'],
    }),
    value: Type.Unsafe<string | number | boolean>({
      anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }],
      description: 'as the device reported it; CAN data and sensors are texts',
      examples: ['2100'],
    }),
    unit: Type.String({ description: 'empty if it has none or is unknown', examples: [''] }),
    time: moment('device time of the last report of the group'),
    field: Type.Optional(
      Type.String({
        description: 'name of the field in GET /v1/x/vehicle/{id}/series; left out without one',
        examples: ['can.rpm'],
      }),
    ),
  },
  { title: 'LatestValue' },
);
export type LatestValue = Static<typeof LatestValue>;

const members = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description, examples: [{}] }));
const list = (description: string) => Type.Optional(Type.Array(Type.Unknown(), { description, examples: [[]] }));

export const RecordedReading = Type.Object(
  {
    time: moment('device time, to the microsecond'),
    receivedAt: moment('when the platform received it'),
    deviceId: DeviceId,
    sequence: Type.Optional(Type.Integer({ description: 'the number that the device gave it', examples: [17] })),
    location: members('position, speed and satellites; without a position in a privacy interval'),
    status: members('as in the status object'),
    electric: members('as in the electric object'),
    can: list('CAN data'),
    sensors: list('sensors'),
    fleet: members('what the device reported of the fleet vehicle status record'),
    alarms: members('alarms of the device'),
  },
  { title: 'RecordedReading', description: 'what was not reported is left out' },
);
export type RecordedReading = Static<typeof RecordedReading>;

export const RecordsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'readings in the answer' }),
  before: Type.Optional(timestamp('only readings with an earlier device time')),
});

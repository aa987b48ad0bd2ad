import { deviceProtocols } from '@odograph/contracts/device-models';
import { DeviceId, Flag, moment, text, VehicleId, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

/** The columns of the table by which it can be sorted. */
export const sortColumns = [
  ...(['deviceId', 'model', 'appId', 'plate', 'createdAt', 'secretIssuedAt', 'lastUpload', 'quarantined'] as const),
] as const;
export type SortColumn = (typeof sortColumns)[number];

const word256 = (description: string) => Type.Optional(text(1, 256, { description }));
const name = (description: string, example: string) => Type.String({ description, examples: [example] });

export const TableDevice = Type.Object(
  {
    deviceId: name('device identifier', 'unit-0001'),
    model: name('device model', 'generic'),
    protocol: word(deviceProtocols, { description: 'how it reports: MQTT, Teltonika, or through another system' }),
    appId: name('the application that the device belongs to, empty without one', 'app-0001'),
    vehicleId: name('the vehicle that it is linked to, empty without one', '1000000001'),
    plate: name('license plate of that vehicle', 'AB-123-CD'),
    linkedSince: Type.Optional(moment('start of the link; left out for a link without a start')),
    connected: Type.Boolean({ description: 'has a live connection', examples: [true] }),
    disconnectedSince: Type.Optional(
      moment('when its last connection ended; left out while it has one, and if it never had one'),
    ),
    lastUpload: Type.Optional(moment('when the platform last stored a reading of the device for that vehicle')),
    createdAt: moment('when the device was provisioned'),
    secretIssuedAt: moment('when its secret was issued'),
    previousSecretUntil: Type.Optional(moment('until when the secret before is valid, while it is rotated out')),
    quarantined: Type.Integer({
      description: 'uploads in the quarantine without a decision',
      minimum: 0,
      examples: [0],
    }),
  },
  { title: 'TableDevice' },
);
export type TableDevice = Static<typeof TableDevice>;

const Link = Type.Object(
  {
    vehicleId: VehicleId,
    plate: name('license plate of the vehicle', 'AB-123-CD'),
    from: Type.Optional(moment('start; left out for a link without a start')),
    until: Type.Optional(moment('end; left out for the current link')),
  },
  { title: 'DeviceLink' },
);
const Upload = Type.Object(
  {
    receivedAt: moment('when the platform received it'),
    vehicleId: VehicleId,
    readings: Type.Integer({ description: 'readings of it that are stored', minimum: 1, examples: [3] }),
    firstTime: moment('device time of its oldest reading'),
    lastTime: moment('device time of its newest reading'),
  },
  { title: 'StoredUpload' },
);

export const DeviceDetail = Type.Object(
  {
    ...TableDevice.properties,
    links: Type.Array(Link, { description: 'to vehicles that the person sees, newest first' }),
    uploads: Type.Array(Upload, { description: 'the last ones, newest first, of at most 500 readings' }),
  },
  { title: 'DeviceDetail' },
);
export type DeviceDetail = Static<typeof DeviceDetail>;

export const DeviceTable = Type.Object(
  {
    devices: Type.Array(TableDevice),
    total: Type.Integer({ description: 'devices on all pages', minimum: 0, examples: [1] }),
  },
  { title: 'DeviceTable' },
);

export const DeviceTableQuery = Type.Object({
  q: word256('part of a device id, plate, VIN, make or model, in any case'),
  model: word256('only devices of this model'),
  appId: word256('only devices of this application'),
  linked: Type.Optional(Flag),
  connected: Type.Optional(Flag),
  quarantined: Type.Optional(Flag),
  sort: Type.Optional(
    word([...sortColumns, ...sortColumns.map((column) => `-${column}` as const)], {
      description:
        'column, by default deviceId; with a minus sign in descending order. Unknown values come last in both',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'devices on a page' }),
  after: Type.Optional(DeviceId),
});

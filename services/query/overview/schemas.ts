import { alarmKinds } from '@odograph/contracts/alarms';
import { listPattern } from '@odograph/contracts/text-patterns';
import { moment, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

/** The states of a vehicle in the table; those of the live stream, and `archived`. */
export const tableStates = ['moving', 'parked', 'silent', 'private', 'archived'] as const;
const flags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const number = (description: string, example: number) => Type.Number({ description, examples: [example] });

export const TableVehicle = Type.Object(
  {
    id: text('vehicle identifier', '1000000001'),
    appId: text('the application that the vehicle belongs to', 'app-0001'),
    plate: text('license plate', 'AB-123-CD'),
    vin: text('vehicle identification number', 'VF1AG000000000001'),
    brand: text('make', 'Renault'),
    model: text('commercial name', 'Zoe'),
    energy: text('energy, registration-certificate nomenclature', 'EL'),
    deviceId: text('the linked device, empty without one', 'unit-0001'),
    state: word(tableStates),
    flags: Type.Array(word(flags), { description: 'raised state flags' }),
    alarms: Type.Array(word(alarmKinds), { description: 'the kinds of its open alarms' }),
    lastContact: Type.Optional(moment('when the platform last received a reading; left out if it never did')),
    time: Type.Optional(moment('device time of the newest reading')),
    location: Type.Optional(
      Type.Object(
        {
          latitude: number('decimal degrees', 48.8566),
          longitude: number('decimal degrees', 2.3522),
          time: moment('device time of the position'),
        },
        { title: 'TableLocation', description: 'left out while it is private' },
      ),
    ),
    speed: Type.Optional(number('km/h; left out while positions are private', 52)),
    mileage: Type.Optional(number('km', 15230.4)),
    soc: Type.Optional(number('charge level, %', 80)),
    range: Type.Optional(number('km', 210)),
    ignition: Type.Optional(Type.Boolean({ description: 'true engine running', examples: [false] })),
    parkedSince: Type.Optional(moment('device time at which the ignition was switched off')),
  },
  { title: 'TableVehicle', additionalProperties: false },
);
export type TableVehicle = Static<typeof TableVehicle>;

export const VehicleTable = Type.Object(
  {
    vehicles: Type.Array(TableVehicle),
    total: Type.Optional(
      Type.Integer({ description: 'vehicles on all pages; on the first page only', minimum: 0, examples: [1] }),
    ),
  },
  { title: 'VehicleTable' },
);

/** The columns of the table by which it can be sorted. */
export const sortColumns = [
  ...(['plate', 'vin', 'brand', 'model', 'energy', 'appId', 'deviceId', 'state', 'id'] as const),
  ...(['lastContact', 'time', 'speed', 'mileage', 'soc', 'range', 'parkedSince'] as const),
] as const;
export type SortColumn = (typeof sortColumns)[number];

/** The columns of the table as CSV. */
export const csvColumns = [...sortColumns, 'ignition', 'flags', 'latitude', 'longitude'] as const;
export type CsvColumn = (typeof csvColumns)[number];

const filter = (description: string) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$', description }));

export const VehicleTableQuery = Type.Object({
  q: filter('part of a plate, a VIN, a device id, make and model, or an identifier; in any case'),
  state: Type.Optional(
    Type.String({
      pattern: listPattern(tableStates),
      description: `separated by commas, of ${tableStates.join(', ')}; by default all but archived`,
      examples: ['moving,parked'],
    }),
  ),
  flag: Type.Optional(word(flags, { description: 'only vehicles with this state flag' })),
  appId: filter('only vehicles of this application'),
  brand: filter('make, in any case'),
  model: filter('commercial name, in any case'),
  energy: filter('energy, in any case'),
  sort: Type.Optional(
    word([...sortColumns, ...sortColumns.map((column) => `-${column}` as const)], {
      description: 'column, by default plate; with a minus sign in descending order. Unknown values come last in both',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'vehicles on a page' }),
  after: filter('continues behind a vehicle; from the Link of the page before'),
  format: Type.Optional(word(['json', 'csv'], { description: 'csv: all vehicles that match, without limit' })),
  columns: Type.Optional(
    Type.String({
      pattern: listPattern(csvColumns),
      description: `columns of the CSV, separated by commas, of ${csvColumns.join(', ')}; by default all`,
      examples: ['plate,state,lastContact'],
    }),
  ),
});
export type VehicleTableQuery = Static<typeof VehicleTableQuery>;

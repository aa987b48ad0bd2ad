/**
 * A column of a report table. Its heading is the text of its key (texts/). `moment` is ISO 8601 in UTC, `date` a day in the
 * time zone of the report, `word` an enumerated value that files translate.
 */
export interface Column {
  readonly key: string;
  readonly type: 'text' | 'word' | 'moment' | 'date' | 'whole' | 'number' | 'flag';
  /** Coordinate columns of a place column, which contains the address, else the coordinates. */
  readonly position?: readonly [latitude: string, longitude: string];
  /** Decimals of a number. */
  readonly digits?: number;
  /** Whether PDF omits the column for lack of width. */
  readonly isWide?: true;
}

const text = (key: string): Column => ({ key, type: 'text' });
const word = (key: string): Column => ({ key, type: 'word' });
const moment = (key: string): Column => ({ key, type: 'moment' });
const date = (key: string): Column => ({ key, type: 'date' });
const whole = (key: string): Column => ({ key, type: 'whole' });
const flag = (key: string): Column => ({ key, type: 'flag' });
const number = (key: string, digits: number): Column => ({ key, type: 'number', digits });
const wide = (column: Column): Column => ({ ...column, isWide: true });

/** Creates a column for a place; rows may already contain its name. */
const place = (key: string, latitude: string, longitude: string): Column => ({
  ...text(key),
  position: [latitude, longitude],
});
const startPlace = place('startPlace', 'startLatitude', 'startLongitude');
const endPlace = place('endPlace', 'endLatitude', 'endLongitude');
const onePlace = place('place', 'latitude', 'longitude');

const vehicle = [wide(text('vehicleId')), text('plate')];
/** Creates a column of degrees with the precision of devices. */
const degrees = (key: string) => wide(number(key, 7));
const distanceKm = number('distanceKm', 3);
const hours = number('drivingHours', 2);
const drives = [whole('trips'), distanceKm, hours];
const consumption = [
  number('fuelLitres', 3),
  number('fuelLitresPer100Km', 2),
  number('electricKwh', 3),
  number('electricKwhPer100Km', 2),
];
const energy = [...drives, ...consumption, whole('tripsWithoutEnergy')];
/** A day in the time zone of the report, and the number of its 23, 24 or 25 hours that the interval contains. */
const day = [date('date'), number('dayHours', 2)];

/** The tables of each kind of report; the first holds its rows, the others its totals. */
export const reportKinds = {
  trips: {
    rows: [
      ...vehicle,
      ...[text('driver'), wide(text('tripId')), wide(date('date')), moment('startedAt'), moment('endedAt')],
      ...[startPlace, endPlace, distanceKm, number('minutes', 2), number('averageSpeedKmh', 1)],
      ...[number('fuelLitres', 3), number('electricKwh', 3)],
      ...[wide(number('cost', 2)), degrees('startLatitude'), degrees('startLongitude')],
      ...[degrees('endLatitude'), degrees('endLongitude')],
    ],
    vehicles: [...vehicle, ...drives],
    drivers: [text('driver'), ...drives],
    days: [...day, ...drives],
  },
  mileage: {
    rows: [
      ...[...vehicle, text('driver'), wide(text('tripId')), wide(date('date')), moment('startedAt'), moment('endedAt')],
      ...[number('startOdometerKm', 1), number('endOdometerKm', 1), startPlace, endPlace, distanceKm],
      ...[word('class'), text('purpose'), text('partner'), text('note'), wide(moment('enteredAt'))],
      ...[wide(text('enteredBy')), flag('late'), whole('replaced'), flag('tripChanged')],
      wide(number('enteredDistanceKm', 3)),
    ],
    vehicles: [
      ...[
        ...vehicle,
        whole('trips'),
        distanceKm,
        number('businessKm', 3),
        number('commuteKm', 3),
        number('privateKm', 3),
      ],
      number('unclassifiedKm', 3),
    ],
    replaced: [
      ...[...vehicle, wide(text('tripId')), moment('startedAt'), whole('version'), word('class'), text('purpose')],
      ...[text('partner'), text('driver'), text('note'), moment('enteredAt'), text('enteredBy')],
    ],
  },
  stops: {
    rows: [
      ...[...vehicle, wide(date('date')), moment('startedAt'), moment('endedAt'), number('minutes', 2)],
      ...[onePlace, degrees('latitude'), degrees('longitude')],
    ],
    vehicles: [...vehicle, whole('stops'), number('stoppedHours', 2)],
  },
  utilization: {
    rows: [
      ...[...vehicle, whole('bookings'), number('bookedHours', 2), number('bookedPercent', 1), ...drives],
      number('drivenPercent', 1),
    ],
    drivers: [text('driver'), whole('bookings'), number('bookedHours', 2)],
  },
  energy: {
    rows: [...vehicle, ...energy],
    drivers: [text('driver'), ...energy],
    days: [...day, ...energy],
  },
  alarms: {
    rows: [
      ...[...vehicle, wide(text('alarmId')), word('kind'), text('rule'), moment('raisedAt'), moment('clearedAt')],
      ...[number('value', 2), moment('acknowledgedAt'), text('acknowledgedBy'), text('note')],
      ...[onePlace, degrees('latitude'), degrees('longitude')],
    ],
    vehicles: [...vehicle, whole('alarms'), whole('openAlarms')],
    kinds: [word('kind'), whole('alarms'), whole('openAlarms')],
  },
  'silent-devices': {
    rows: [...vehicle, text('deviceId'), moment('lastContactAt'), number('silentHours', 1)],
  },
} as const satisfies Readonly<
  Record<string, Readonly<Record<string, readonly Column[]>> & { rows: readonly Column[] }>
>;

export type ReportKind = keyof typeof reportKinds;

/** Returns the tables of a kind of report by name, rows first. */
export const tablesOf = (kind: ReportKind): Readonly<Record<string, readonly Column[]>> => reportKinds[kind];

import { Failure } from '@odograph/contracts/failures';
import { type Addresses, describePlace, maxReportWaitMs, type VehiclePosition } from '@odograph/database/addresses';
import { fetchRows, inSnapshot } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { writeTimestamp } from '@odograph/database/trips';
import type { Kysely, RawBuilder } from 'kysely';
import { type Column, type ReportKind, tablesOf } from './columns.ts';
import * as fleet from './fleet.ts';
import * as mileage from './mileage.ts';
import type { ReportScope } from './scope.ts';
import * as trips from './trips.ts';

/** Maximum interval of a report in days: a year and some slack. */
export const maxReportDays = 400;
/** Maximum rows of a table, which is held in memory and takes 20 to 40 MB. */
export const maxReportRows = 50_000;

export type ReportValue = string | number | boolean;
/** The values of a row by column; unknown values are omitted. */
export type ReportRow = Readonly<Record<string, ReportValue>>;

/** A report with its tables. */
export interface Report {
  readonly kind: ReportKind;
  readonly scope: ReportScope;
  readonly tables: Readonly<Record<string, readonly ReportRow[]>>;
}

type Select = (scope: ReportScope) => RawBuilder<object>;

/** The query of each table. */
const selections: { readonly [Kind in ReportKind]: Readonly<Record<string, Select>> } = {
  trips: {
    rows: trips.selectTripRows,
    vehicles: trips.selectVehicleTotals,
    drivers: trips.selectDriverTotals,
    days: trips.selectDayTotals,
  },
  mileage: {
    rows: mileage.selectMileageRows,
    vehicles: mileage.selectMileageTotals,
    replaced: mileage.selectReplacedEntries,
  },
  stops: { rows: trips.selectStopRows, vehicles: trips.selectStopTotals },
  utilization: { rows: fleet.selectUtilization, drivers: fleet.selectBookingTotals },
  energy: { rows: trips.selectVehicleTotals, drivers: trips.selectDriverTotals, days: trips.selectDayTotals },
  alarms: { rows: fleet.selectAlarmRows, vehicles: fleet.selectAlarmVehicles, kinds: fleet.selectAlarmKinds },
  'silent-devices': { rows: fleet.selectSilentDevices },
};

function shownValue({ type, digits = 0 }: Column, value: unknown): ReportValue | undefined {
  if (typeof value === 'number') return Number(value.toFixed(digits));
  if (typeof value === 'string') return type === 'moment' ? writeTimestamp(BigInt(value)) : value;
  return typeof value === 'boolean' ? value : undefined;
}

function toRow(columns: readonly Column[], stored: object): Record<string, ReportValue> {
  const values = new Map(Object.entries(stored));
  const known = columns.flatMap((column) => {
    const value = shownValue(column, values.get(column.key));
    return value === undefined ? [] : [[column.key, value] as const];
  });
  return Object.fromEntries(known);
}

/** A place whose name is not known yet. */
interface UnnamedPlace {
  readonly row: Record<string, ReportValue>;
  readonly column: string;
  readonly position: VehiclePosition;
}

/** Finds the places of a row that have a position but no name. */
function placesOf(columns: readonly Column[], stored: object, row: UnnamedPlace['row']): UnnamedPlace[] {
  const values = new Map<string, unknown>(Object.entries(stored));
  return columns.flatMap(({ key, position: names }) => {
    const [latitude, longitude] = names?.map((name) => values.get(name)) ?? [];
    if (typeof latitude !== 'number' || typeof longitude !== 'number' || row[key] !== undefined) return [];
    return [{ row, column: key, position: { vehicleId: String(values.get('vehicleId')), latitude, longitude } }];
  });
}

/** Names places by their addresses, else by their coordinates. */
async function namePlaces(db: Database, places: readonly UnnamedPlace[], addresses: Addresses): Promise<void> {
  const positions = places.map(({ position }) => position);
  const found = await addresses.find(db, positions, maxReportWaitMs);
  for (const [index, { row, column, position }] of places.entries()) {
    row[column] = describePlace(position, found[index]);
  }
}

/**
 * Reads the rows of a table, and adds their places to `places`.
 * @throws Failure INVALID_PARAMETER if there are more than maxRows
 */
async function readTable(
  snapshot: Database,
  columns: readonly Column[],
  query: RawBuilder<object>,
  maxRows: number,
  places: UnnamedPlace[] = [],
): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  await fetchRows(snapshot, query, {
    averageBytes: () => 1024,
    room: () => Number.MAX_SAFE_INTEGER,
    take(stored) {
      for (const one of stored) {
        const row = toRow(columns, one);
        rows.push(row);
        places.push(...placesOf(columns, one, row));
      }
      return rows.length <= maxRows;
    },
  });
  if (rows.length <= maxRows) return rows;
  const message = `until selects more than ${maxRows} rows: choose a shorter interval or fewer vehicles`;
  throw new Failure('INVALID_PARAMETER', message, { field: 'until', reason: 'TOO_MANY_ROWS' });
}

interface ReadOptions {
  readonly addresses: Addresses;
  /** Maximum rows of each table. */
  readonly maxRows?: number;
  /** Called with the number of rows of all tables before missing addresses are awaited. */
  readonly onRead?: (rows: number) => void;
}

/**
 * Reads a report in one snapshot, then names its places, waiting up to 10 s for missing addresses. Holds the tables in memory,
 * so callers must limit concurrent reports.
 * @throws Failure INVALID_PARAMETER with the reason TOO_MANY_ROWS
 */
export async function readReport(
  db: Kysely<Tables>,
  kind: ReportKind,
  scope: ReportScope,
  { addresses, maxRows = maxReportRows, onRead }: ReadOptions,
): Promise<Report> {
  const places: UnnamedPlace[] = [];
  const tables = await inSnapshot(db, async (snapshot) => {
    const read: [string, ReportRow[]][] = [];
    for (const [name, columns] of Object.entries(tablesOf(kind))) {
      const select = selections[kind][name];
      if (select !== undefined) read.push([name, await readTable(snapshot, columns, select(scope), maxRows, places)]);
    }
    return read;
  });
  onRead?.(tables.reduce((sum, [, rows]) => sum + rows.length, 0));
  await namePlaces(db, places, addresses);
  return { kind, scope, tables: Object.fromEntries(tables) };
}

/** Totals that change as time passes, without late data; ignored when totals are compared. */
const timeDependentTotals = new Set(['openAlarms', 'stoppedHours']);

/** The numeric totals of each vehicle, by vehicle id. */
export type VehicleTotals = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** Finds the table with one row for each vehicle; silent devices have none, because they change as time passes. */
function vehicleTableOf(kind: ReportKind): string | undefined {
  if (kind === 'silent-devices') return undefined;
  return 'vehicles' in tablesOf(kind) ? 'vehicles' : 'rows';
}

/** Extracts the totals of each vehicle from a report. */
export function totalsOf({ kind, tables }: Pick<Report, 'kind' | 'tables'>): VehicleTotals {
  const rows = tables[vehicleTableOf(kind) ?? ''] ?? [];
  return new Map(
    rows.map((row) => {
      const numbers = Object.entries(row).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number' && !timeDependentTotals.has(entry[0]),
      );
      return [String(row['vehicleId']), Object.fromEntries(numbers)];
    }),
  );
}

/** Reads only the totals of each vehicle. @throws Failure as readReport */
export async function readTotals(db: Kysely<Tables>, kind: ReportKind, scope: ReportScope): Promise<VehicleTotals> {
  const name = vehicleTableOf(kind);
  const { [name ?? '']: columns } = tablesOf(kind);
  const { [name ?? '']: select } = selections[kind];
  if (name === undefined || columns === undefined || select === undefined) return new Map();
  const rows = await inSnapshot(db, (snapshot) => readTable(snapshot, columns, select(scope), maxReportRows));
  return totalsOf({ kind, tables: { [name]: rows } });
}

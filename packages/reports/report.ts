import { Failure } from '@odograph/contracts/failures';
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

/** The longest interval of a report: a year, and the month around it. */
export const maxReportDays = 400;
/** The most rows of a table: in memory as a whole, 20 to 40 MB. */
export const maxReportRows = 50_000;

export type ReportValue = string | number | boolean;
/** The values of the columns of a table; unknown ones are left out. */
export type ReportRow = Readonly<Record<string, ReportValue>>;

/** A report with its tables. */
export interface Report {
  readonly kind: ReportKind;
  readonly scope: ReportScope;
  readonly tables: Readonly<Record<string, readonly ReportRow[]>>;
}

type Select = (scope: ReportScope) => RawBuilder<object>;

/** The SQL of each table. */
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

function toRow(columns: readonly Column[], stored: object): ReportRow {
  const values = new Map(Object.entries(stored));
  const known = columns.flatMap((column) => {
    const value = shownValue(column, values.get(column.key));
    return value === undefined ? [] : [[column.key, value] as const];
  });
  return Object.fromEntries(known);
}

/** Reads the rows of a table. @throws Failure INVALID_PARAMETER if they are more than maxRows */
async function readTable(
  snapshot: Database,
  columns: readonly Column[],
  query: RawBuilder<object>,
  maxRows: number,
): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  await fetchRows(snapshot, query, {
    averageBytes: () => 1024,
    room: () => Number.MAX_SAFE_INTEGER,
    take(stored) {
      for (const one of stored) rows.push(toRow(columns, one));
      return rows.length <= maxRows;
    },
  });
  if (rows.length <= maxRows) return rows;
  const message = `until leads to more than ${maxRows} rows: choose a shorter interval or fewer vehicles`;
  throw new Failure('INVALID_PARAMETER', message, { field: 'until', reason: 'TOO_MANY_ROWS' });
}

/**
 * Reads a report in one snapshot.
 * @param maxRows of each table
 * @throws Failure INVALID_PARAMETER with the reason TOO_MANY_ROWS
 */
export async function readReport(
  db: Kysely<Tables>,
  kind: ReportKind,
  scope: ReportScope,
  maxRows: number = maxReportRows,
): Promise<Report> {
  const tables = await inSnapshot(db, async (snapshot) => {
    const read: [string, ReportRow[]][] = [];
    for (const [name, columns] of Object.entries(tablesOf(kind))) {
      const select = selections[kind][name];
      if (select !== undefined) read.push([name, await readTable(snapshot, columns, select(scope), maxRows)]);
    }
    return read;
  });
  return { kind, scope, tables: Object.fromEntries(tables) };
}

/** Columns of totals that time changes, not late data. */
const passing = new Set(['openAlarms', 'stoppedHours']);

/** The numbers of each vehicle in a report, by its id. */
export type VehicleTotals = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** The table of a kind of report with a row for each vehicle; none for what devices are silent now. */
function vehicleTableOf(kind: ReportKind): string | undefined {
  if (kind === 'silent-devices') return undefined;
  return 'vehicles' in tablesOf(kind) ? 'vehicles' : 'rows';
}

/** Picks the numbers of each vehicle of a report. */
export function totalsOf({ kind, tables }: Pick<Report, 'kind' | 'tables'>): VehicleTotals {
  const rows = tables[vehicleTableOf(kind) ?? ''] ?? [];
  return new Map(
    rows.map((row) => {
      const numbers = Object.entries(row).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number' && !passing.has(entry[0]),
      );
      return [String(row['vehicleId']), Object.fromEntries(numbers)];
    }),
  );
}

/** Reads the numbers of each vehicle without the rest of a report. @throws Failure as readReport */
export async function readTotals(db: Kysely<Tables>, kind: ReportKind, scope: ReportScope): Promise<VehicleTotals> {
  const name = vehicleTableOf(kind);
  const { [name ?? '']: columns } = tablesOf(kind);
  const { [name ?? '']: select } = selections[kind];
  if (name === undefined || columns === undefined || select === undefined) return new Map();
  const rows = await inSnapshot(db, (snapshot) => readTable(snapshot, columns, select(scope), maxReportRows));
  return totalsOf({ kind, tables: { [name]: rows } });
}

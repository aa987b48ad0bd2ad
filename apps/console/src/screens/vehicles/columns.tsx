import type { ComponentChildren } from 'preact';
import { formatAgo, formatDistance, formatFull, formatPercent, formatSpeed, formatTime } from '../../parts/format.ts';
import { StateMark, shownState, stateText } from '../../parts/vehicle-state.tsx';
import type { TableVehicle } from './table-data.ts';

interface Column {
  /** As in the parameters `sort` and `columns` of GET /v1/x/vehicles. */
  readonly name: ColumnName;
  readonly isNumber?: true;
  readonly cell: (vehicle: TableVehicle) => ComponentChildren;
}

/** All columns in their order. */
export const columnNames = [
  ...(['plate', 'state', 'brand', 'model', 'speed', 'soc', 'range', 'mileage', 'parkedSince', 'lastContact'] as const),
  ...(['deviceId', 'vin', 'energy', 'appId', 'id'] as const),
] as const;
export type ColumnName = (typeof columnNames)[number];

/** Those that are shown until a person chooses others. */
export const usualColumns: readonly ColumnName[] = columnNames.slice(0, 11);

const whenKnown = <Value,>(value: Value | undefined, write: (value: Value) => string): string =>
  value === undefined ? '' : write(value);

const cells: Readonly<Record<ColumnName, (vehicle: TableVehicle) => ComponentChildren>> = {
  plate: ({ id, plate }) => <a href={`/vehicles/${id}`}>{plate}</a>,
  state: (vehicle) => (
    <span class="state-cell">
      <StateMark state={shownState(vehicle)} size={14} />
      {stateText(vehicle)}
    </span>
  ),
  brand: ({ brand }) => brand,
  model: ({ model }) => model,
  speed: ({ speed, state }) => (state === 'moving' ? whenKnown(speed, formatSpeed) : ''),
  soc: ({ soc }) => whenKnown(soc, formatPercent),
  range: ({ range }) => whenKnown(range, formatDistance),
  mileage: ({ mileage }) => whenKnown(mileage, formatDistance),
  parkedSince: ({ parkedSince }) => (
    <span title={whenKnown(parkedSince, formatFull)}>{whenKnown(parkedSince, formatTime)}</span>
  ),
  lastContact: ({ lastContact }) => (
    <span title={whenKnown(lastContact, formatFull)}>{whenKnown(lastContact, formatAgo)}</span>
  ),
  deviceId: ({ deviceId }) => deviceId,
  vin: ({ vin }) => vin,
  energy: ({ energy }) => energy,
  appId: ({ appId }) => appId,
  id: ({ id }) => id,
};
const numbers: ReadonlySet<ColumnName> = new Set(['speed', 'soc', 'range', 'mileage']);

/** The columns with these names, in the order of the table. */
export function columnsOf(names: readonly ColumnName[]): readonly Column[] {
  return columnNames
    .filter((name) => names.includes(name))
    .map((name) => ({ name, cell: cells[name], ...(numbers.has(name) && { isNumber: true as const }) }));
}

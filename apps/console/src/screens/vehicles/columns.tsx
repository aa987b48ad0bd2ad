import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { StateMark, shownState, stateText } from '../../parts/layout/vehicle-state.tsx';
import { formatAgo, formatDistance, formatFull, formatPercent, formatSpeed, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { TableVehicle } from './table-data.ts';

const mostReplayed = 10;

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

/** The vehicles chosen for a replay, by their ids. */
export const chosenVehicles = signal<readonly string[]>([]);

/** A vehicle's plate, and the box that chooses it. */
function PlateCell({ vehicle: { id, plate } }: { vehicle: TableVehicle }) {
  const isChosen = chosenVehicles.value.includes(id);
  return (
    <span class="plate-cell">
      <input
        type="checkbox"
        aria-label={texts.value.replay.choose(plate)}
        checked={isChosen}
        disabled={!isChosen && chosenVehicles.value.length >= mostReplayed}
        onChange={() => {
          chosenVehicles.value = isChosen
            ? chosenVehicles.value.filter((one) => one !== id)
            : [...chosenVehicles.value, id];
        }}
      />
      <a href={`/vehicles/${id}`}>{plate}</a>
    </span>
  );
}

const cells: Readonly<Record<ColumnName, (vehicle: TableVehicle) => ComponentChildren>> = {
  plate: (vehicle) => <PlateCell vehicle={vehicle} />,
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

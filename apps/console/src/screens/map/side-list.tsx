import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { SearchIcon } from '../../parts/layout/icons.tsx';
import { NoVehicles } from '../../parts/layout/no-vehicles.tsx';
import { Empty, Loading } from '../../parts/layout/placeholders.tsx';
import { type ShownState, StateMark, shownState, shownStates, stateText } from '../../parts/layout/vehicle-state.tsx';
import { assign } from '../../signals.ts';
import { formatAgo, formatNumber, formatPercent, formatSpeed } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

const spare = 6;

interface VirtualListOptions<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** Of every row, CSS pixels. */
  readonly rowHeight: number;
  readonly row: (item: Item) => ComponentChildren;
}

/** A list of any length that has only the visible rows in the page. Arrow keys move between rows. */
function VirtualList<Item>({ label, items, keyOf, rowHeight, row }: VirtualListOptions<Item>) {
  const frame = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => assign(height, element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top.value / rowHeight) - spare);
  const shown = items.slice(first, Math.ceil((top.value + height.value) / rowHeight) + spare);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const current = document.activeElement?.closest('li');
    if (step === undefined || !current) return;
    event.preventDefault();
    const next = step > 0 ? current.nextElementSibling : current.previousElementSibling;
    next?.querySelector<HTMLElement>('button, a')?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the buttons in it
    <div
      class="virtual-list"
      ref={frame}
      onScroll={({ currentTarget }) => assign(top, currentTarget.scrollTop)}
      onKeyDown={move}
    >
      <ul aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
        {shown.map((item, index) => (
          <li
            key={keyOf(item)}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${(first + index) * rowHeight}px)` }}
          >
            {row(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

const rowHeight = 50;

/** A vehicle of the map, or one that the platform found elsewhere. */
export type ListedVehicle = LiveVehicle | Schema<'TableVehicle'>;

/** Whether every word of a search is in what identifies a vehicle. */
export function matches({ plate, vin, brand, model, deviceId, id }: LiveVehicle, search: string): boolean {
  const text = `${plate} ${plate.replaceAll('-', '')} ${vin} ${deviceId} ${brand} ${model} ${id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface SearchFieldOptions {
  readonly search: Signal<string>;
  /** Called on Enter. */
  readonly onSubmit: () => void;
  readonly children?: ComponentChildren;
}

export function SearchField({ search, onSubmit, children }: SearchFieldOptions) {
  const { map } = texts.value;
  return (
    <search class="map-search">
      <SearchIcon size={16} />
      <input
        class="input"
        type="search"
        aria-label={map.searchAllLabel}
        placeholder={map.searchAll}
        value={search.value}
        onInput={({ currentTarget }) => assign(search, currentTarget.value)}
        onKeyDown={({ key }) => {
          if (key === 'Enter') onSubmit();
        }}
      />
      {children}
    </search>
  );
}

/** The states with their counts; those that are not checked are left out of the map and the list. */
export function StateFilters({
  counts,
  hidden,
}: {
  counts: ReadonlyMap<ShownState, number>;
  hidden: Signal<ReadonlySet<ShownState>>;
}) {
  const { map, states } = texts.value;
  const toggle = (state: ShownState) => {
    const next = new Set(hidden.value);
    if (!next.delete(state)) next.add(state);
    hidden.value = next;
  };
  const isUsual = (state: ShownState) => state !== 'private' && state !== 'alarm';
  return (
    <fieldset class="map-filters">
      <legend class="visually-hidden">{map.filter}</legend>
      {shownStates
        .filter((state) => isUsual(state) || counts.has(state))
        .map((state) => (
          <label key={state}>
            <input
              class="visually-hidden"
              type="checkbox"
              checked={!hidden.value.has(state)}
              onChange={() => toggle(state)}
            />
            <span class="count">
              <StateMark state={state} size={14} />
              {formatNumber(counts.get(state) ?? 0)}
            </span>
            {states[state]}
          </label>
        ))}
    </fieldset>
  );
}

function figureOf({ state, speed, soc }: ListedVehicle): string {
  if (state === 'moving' && speed) return formatSpeed(speed);
  return soc === undefined ? '' : formatPercent(soc);
}

function VehicleRow({
  vehicle,
  isSelected,
  onSelect,
}: {
  vehicle: ListedVehicle;
  isSelected: boolean;
  onSelect: () => void;
}) {
  const { plate, brand, model, location, lastContact } = vehicle;
  const angle = location && 'angle' in location ? location.angle : undefined;
  const name = [stateText(vehicle), `${brand} ${model}`.trim()].filter((part) => part !== '').join(' · ');
  return (
    <button type="button" class="vehicle-row" aria-current={isSelected} onClick={onSelect}>
      <StateMark state={shownState(vehicle)} angle={angle} />
      <strong>{plate}</strong>
      <small>{name}</small>
      <span class="figure">{figureOf(vehicle)}</span>
      <span class="age">{lastContact ? formatAgo(lastContact) : texts.value.vehicle.never}</span>
    </button>
  );
}

interface SideListOptions {
  readonly vehicles: readonly ListedVehicle[];
  readonly selected: string | undefined;
  readonly isLoaded: boolean;
  /** Whether the map shows cells in place of vehicles. */
  readonly isCells: boolean;
  readonly isFiltered: boolean;
  readonly onSelect: (vehicleId: string) => void;
}

/** The vehicles of the map as a list; the same thing for a screen reader. */
export function SideList({ vehicles, selected, isLoaded, isCells, isFiltered, onSelect }: SideListOptions) {
  const { map } = texts.value;
  if (!isLoaded) return <Loading />;
  if (vehicles.length === 0 && isCells) return <Empty title={map.tooMany}>{<p>{map.tooManyText}</p>}</Empty>;
  if (vehicles.length === 0 && isFiltered) return <Empty title={map.noMatch} />;
  if (vehicles.length === 0) return <NoVehicles />;
  return (
    <VirtualList
      label={map.list}
      items={vehicles}
      keyOf={({ id }) => id}
      rowHeight={rowHeight}
      row={(vehicle) => (
        <VehicleRow vehicle={vehicle} isSelected={vehicle.id === selected} onSelect={() => onSelect(vehicle.id)} />
      )}
    />
  );
}

const pauseMs = 250;
const maxFound = 50;

/** Vehicles that the platform has found; `isFailed` when it could not be asked. */
export interface Found {
  readonly vehicles: readonly Schema<'TableVehicle'>[];
  readonly total: number;
  readonly isFailed: boolean;
}

async function find(words: string): Promise<Found> {
  const answer = await answerOf(api.GET('/v1/x/vehicles', { params: { query: { q: words, limit: maxFound } } }));
  // The other format is CSV, as text.
  const { vehicles, total = vehicles.length } = typeof answer === 'string' ? { vehicles: [] } : answer;
  return { vehicles, total, isFailed: false };
}

/** Has the platform search the whole fleet. @param words none: nothing is searched, and nothing found */
export function useFleetSearch(words: string): Found | undefined {
  const found = useSignal<Found | undefined>(undefined);
  useEffect(() => {
    found.value = undefined;
    if (words === '') return undefined;
    let isCurrent = true;
    const keep = (result: Found) => {
      if (isCurrent) found.value = result;
    };
    const timer = setTimeout(() => {
      find(words).then(keep, () => keep({ vehicles: [], total: 0, isFailed: true }));
    }, pauseMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [words]);
  return found.value;
}

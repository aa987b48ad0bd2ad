import './map-screen.css';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ConnectionLine } from '../../live/connection-line.tsx';
import { Fleet } from '../../live/fleet.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Button } from '../../parts/layout/button.tsx';
import { FitIcon, ListIcon } from '../../parts/layout/icons.tsx';
import { lazy } from '../../parts/layout/lazy.tsx';
import { Heading } from '../../parts/layout/placeholders.tsx';
import { type ShownState, shownState } from '../../parts/layout/vehicle-state.tsx';
import { address, navigate } from '../../router.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { type Place, PlaceList, usePlaceSearch } from './places.tsx';
import { useRoute } from './routes.ts';
import {
  type Found,
  type ListedVehicle,
  matches,
  SearchField,
  SideList,
  StateFilters,
  useFleetSearch,
} from './side-list.tsx';
import { VehicleCard } from './vehicle-card.tsx';

/** The list does not wait for the map, which is most of the console's code. */
const FleetMap = lazy(async () => (await import('./fleet-map.tsx')).FleetMap);

const order: Readonly<Record<ShownState, number>> = {
  alarm: 0,
  moving: 1,
  parked: 2,
  silent: 3,
  private: 4,
  archived: 5,
};

function compare(one: LiveVehicle, other: LiveVehicle): number {
  return order[shownState(one)] - order[shownState(other)] || one.plate.localeCompare(other.plate);
}

function countStates(fleet: Fleet): ReadonlyMap<ShownState, number> {
  const counts = new Map<ShownState, number>();
  const add = (state: ShownState, count: number) => {
    if (count > 0) counts.set(state, (counts.get(state) ?? 0) + count);
  };
  if (fleet.mode.value === 'cells') {
    for (const cell of fleet.cells.values())
      for (const state of ['moving', 'parked', 'silent'] as const) add(state, cell[state]);
  } else {
    for (const vehicle of fleet.vehicles.values()) add(shownState(vehicle), 1);
  }
  return counts;
}

/** A fleet that lives as long as the screen. */
function useFleet(): Fleet {
  const fleet = useMemo(() => new Fleet(), []);
  useEffect(() => () => fleet.stop(), [fleet]);
  return fleet;
}

/** The choices of a person on the map. */
interface MapState {
  readonly fleet: Fleet;
  readonly selected: string | undefined;
  readonly search: Signal<string>;
  readonly hidden: Signal<ReadonlySet<ShownState>>;
  /** The vehicles that lie on one another where the map was clicked. */
  readonly stack: Signal<readonly string[]>;
  readonly isFollowing: Signal<boolean>;
  readonly isListHidden: Signal<boolean>;
  /** The selected search result. */
  readonly place: Signal<Place | undefined>;
  select(vehicleId: string | undefined): void;
  /** Selects a vehicle that may be anywhere, and keeps the map on it. */
  follow(vehicleId: string): void;
  pick(vehicleIds: readonly string[]): void;
}

function useMapState(): MapState {
  const fleet = useFleet();
  const search = useSignal('');
  const hidden = useSignal<ReadonlySet<ShownState>>(new Set());
  const stack = useSignal<readonly string[]>([]);
  const isFollowing = useSignal(false);
  const isListHidden = useSignal(false);
  const place = useSignal<Place | undefined>(undefined);
  const selected = address.value.query.get('vehicle') ?? undefined;
  const select = (vehicleId: string | undefined) => {
    if (vehicleId !== selected) isFollowing.value = false;
    navigate(vehicleId === undefined ? '/map' : `/map?vehicle=${vehicleId}`, { replace: true });
  };
  const follow = (vehicleId: string) => {
    select(vehicleId);
    isFollowing.value = true;
  };
  const pick = (vehicleIds: readonly string[]) => {
    stack.value = vehicleIds.length > 1 ? vehicleIds : [];
    if (vehicleIds.length <= 1) select(vehicleIds[0]);
  };
  return { fleet, selected, search, hidden, stack, isFollowing, isListHidden, place, select, follow, pick };
}

/** The vehicles that the list shows, in its order: those of the map, then those found elsewhere. */
function listVehicles({ fleet, search, hidden, stack }: MapState, found: Found | undefined): readonly ListedVehicle[] {
  const words = search.value.trim();
  const isShown = (vehicle: LiveVehicle) => {
    if (stack.value.length > 0) return stack.value.includes(vehicle.id);
    return !hidden.value.has(shownState(vehicle)) && (words === '' || matches(vehicle, words));
  };
  const elsewhere = found?.vehicles.filter(({ id }) => stack.value.length === 0 && !fleet.vehicles.has(id)) ?? [];
  return [...[...fleet.vehicles.values()].filter(isShown).sort(compare), ...elsewhere];
}

interface ListHeadOptions {
  readonly state: MapState;
  readonly shown: number;
  /** Vehicles in the cells of the map; undefined when it shows vehicles. */
  readonly inCells: number | undefined;
  readonly found: Found | undefined;
}

function headingOf({ shown, inCells, found }: ListHeadOptions): string {
  const { map: text } = texts.value;
  if (found?.isFailed) return text.searchFailed;
  if (found) return text.foundInFleet(found.total);
  const count = text.count(inCells ?? shown);
  return inCells === undefined ? count : `${count} ${text.inView}`;
}

function ListHead(options: ListHeadOptions) {
  const { map: text } = texts.value;
  const { stack, pick } = options.state;
  return (
    <div class="map-list-head" role="status">
      <span>{stack.value.length > 0 ? text.stacked(stack.value.length) : headingOf(options)}</span>
      {stack.value.length > 0 && (
        <a class="button plain" href={`/replay?vehicles=${stack.value.slice(0, 10).join(',')}`}>
          {texts.value.replay.title}
        </a>
      )}
      {stack.value.length > 0 && (
        <Button kind="plain" onClick={() => pick([])}>
          {text.showAll}
        </Button>
      )}
    </div>
  );
}

function SidePanel({ state }: { state: MapState }) {
  const { map: text } = texts.value;
  const { fleet, selected, search, hidden, isListHidden, place, isFollowing, select, follow } = state;
  fleet.watch();
  const places = usePlaceSearch(search.value.trim());
  const found = useFleetSearch(fleet.isLarge.value ? search.value.trim() : '');
  const vehicles = listVehicles(state, found);
  const counts = countStates(fleet);
  const isCells = fleet.mode.value === 'cells';
  const onSelect = (vehicleId: string) => (found ? follow(vehicleId) : select(vehicleId));
  const go = (found: Place | undefined) => {
    isFollowing.value = false;
    place.value = found;
  };
  const goToFirst = async () => {
    const [vehicle] = vehicles;
    if (search.value.trim() === '') go(undefined);
    else if (vehicle) onSelect(vehicle.id);
    else go(places.places[0] ?? (await places.searchAddresses()));
  };
  return (
    <aside class="map-side" aria-label={text.list}>
      <SearchField search={search} onSubmit={() => void goToFirst()}>
        <Button
          kind="icon map-toggle"
          aria-label={isListHidden.value ? text.showList : text.hideList}
          aria-expanded={!isListHidden.value}
          onClick={() => assign(isListHidden, !isListHidden.value)}
        >
          <ListIcon size={18} />
        </Button>
      </SearchField>
      <PlaceList search={places} onGo={go} />
      <StateFilters counts={counts} hidden={hidden} />
      <ListHead
        state={state}
        shown={vehicles.length}
        found={found}
        inCells={isCells ? [...counts.values()].reduce((sum, count) => sum + count, 0) : undefined}
      />
      <div class="map-list">
        <SideList
          vehicles={vehicles}
          selected={selected}
          isLoaded={fleet.isComplete.value || fleet.vehicles.size > 0 || isCells}
          isCells={isCells && !found}
          isFiltered={search.value !== '' || hidden.value.size > 0}
          onSelect={onSelect}
        />
      </div>
      <ConnectionLine connection={fleet.connection.value} />
    </aside>
  );
}

function MapFrame({ state }: { state: MapState }) {
  const { map: text } = texts.value;
  const { fleet, selected, isFollowing, hidden, place, select, pick } = state;
  const fit = useSignal(0);
  const route = useRoute(selected);
  fleet.watch();
  const vehicle = selected === undefined ? undefined : fleet.vehicles.get(selected);
  return (
    <div class={`map-frame${fleet.connection.value.state === 'lost' ? ' stale' : ''}`}>
      <FleetMap
        fleet={fleet}
        selected={selected}
        isFollowing={isFollowing}
        hidden={hidden.value}
        route={route.line}
        fit={fit.value}
        place={place.value}
        onPick={pick}
      />
      <Button
        kind="icon map-fit"
        aria-label={text.fit}
        title={text.fit}
        onClick={() => {
          fit.value += 1;
        }}
      >
        <FitIcon size={16} />
      </Button>
      {vehicle && (
        <VehicleCard
          vehicle={vehicle}
          isFollowed={isFollowing.value}
          route={route.shown}
          onFollow={() => assign(isFollowing, !isFollowing.value)}
          onRoute={(kind) => route.toggle(kind, vehicle)}
          onClose={() => select(undefined)}
        />
      )}
    </div>
  );
}

/** Every vehicle, live: on the map and as a list. */
export function MapScreen() {
  const state = useMapState();
  return (
    <div class={`map-screen${state.isListHidden.value ? ' without-list' : ''}`}>
      <Heading text={texts.value.navigation.map} isHidden />
      <SidePanel state={state} />
      <MapFrame state={state} />
    </div>
  );
}

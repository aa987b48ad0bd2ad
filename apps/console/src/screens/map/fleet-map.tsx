import type { Signal } from '@preact/signals';
import { type Map as MapLibreMap, Marker, type PaddingOptions } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Fleet } from '../../live/fleet.ts';
import { createBaseMap } from '../../parts/map/base-map.ts';
import { paletteOf } from '../../parts/map/palette.ts';
import { addRouteLayer, boundsOf, drawRoute, type Route } from '../../parts/map/route-layer.ts';
import { isDark } from '../../preferences.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { FleetLayer } from './fleet-layer.ts';
import type { Place } from './places.tsx';

/** Where the map was, for the next time that the screen opens. */
const lastPlace: { center?: [number, number]; zoom?: number } = {};

interface FleetMapOptions {
  readonly fleet: Fleet;
  readonly selected: string | undefined;
  readonly isFollowing: Signal<boolean>;
  readonly hidden: ReadonlySet<string>;
  readonly route: Route;
  /** Counts the requests to show the whole fleet. */
  readonly fit: number;
  /** A place to show. */
  readonly place: Place | undefined;
  readonly onPick: (vehicleIds: readonly string[]) => void;
}

interface Loaded {
  readonly map: MapLibreMap;
  readonly layer: FleetLayer;
}

const motion = (): { animate: boolean } => ({ animate: !matchMedia('(prefers-reduced-motion: reduce)').matches });

/** Keeps clear of the card of the vehicle, where the map is wide enough for both. */
function besideCard(map: MapLibreMap): PaddingOptions {
  const left = map.getContainer().clientWidth > 720 ? 400 : 70;
  return { top: 70, right: 70, bottom: 70, left };
}

function positionsOf(fleet: Fleet): Route {
  const places =
    fleet.mode.value === 'cells'
      ? [...fleet.cells.values()]
      : [...fleet.vehicles.values()].map(({ location }) => location);
  return places.flatMap((place) => (place ? [[place.longitude, place.latitude] as const] : []));
}

function fitFleet(map: MapLibreMap, fleet: Fleet): void {
  const bounds = boundsOf(positionsOf(fleet));
  if (bounds) map.fitBounds(bounds, { padding: 70, maxZoom: 14, ...motion() });
}

function tellView(map: MapLibreMap, fleet: Fleet): void {
  const bounds = map.getBounds();
  const { lng, lat } = map.getCenter();
  lastPlace.center = [lng, lat];
  lastPlace.zoom = map.getZoom();
  fleet.show({
    west: bounds.getWest(),
    east: bounds.getEast(),
    south: Math.max(-90, bounds.getSouth()),
    north: Math.min(90, bounds.getNorth()),
    zoom: map.getZoom(),
  });
}

/** Creates the map in an element and again when the page turns dark or light. */
function useMap(fleet: Fleet, onPick: FleetMapOptions['onPick']) {
  const container = useRef<HTMLDivElement>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const map = createBaseMap(container.current, { isDark: dark, ...lastPlace });
    let layer: FleetLayer | undefined;
    map.on('load', () => {
      const palette = paletteOf(dark);
      addRouteLayer(map, palette);
      layer = new FleetLayer(map, fleet, palette, { onPick: (ids) => pick.current(ids) });
      setLoaded({ map, layer });
      map.on('moveend', () => tellView(map, fleet));
      tellView(map, fleet);
    });
    return () => {
      setLoaded(undefined);
      layer?.remove();
      map.remove();
    };
  }, [dark, fleet]);
  return { container, loaded };
}

/** Shows the fleet once when it is first known, and whenever `fit` counts on. */
function useFit(loaded: Loaded | undefined, { fleet, fit }: FleetMapOptions): void {
  const isReady = fleet.isComplete.value || fleet.cells.size > 0;
  useEffect(() => {
    if (!loaded || !isReady) return;
    if (fit > 0 || (lastPlace.zoom ?? 0) < 2) fitFleet(loaded.map, fleet);
  }, [loaded, isReady, fit]);
}

/** Keeps the followed vehicle in the middle until the person moves the map. */
function useFollow(loaded: Loaded | undefined, { fleet, selected, isFollowing }: FleetMapOptions): void {
  const isOn = isFollowing.value;
  const location = selected === undefined ? undefined : fleet.vehicles.get(selected)?.location;
  useEffect(() => {
    fleet.follow(selected);
  }, [fleet, selected]);
  useEffect(() => {
    if (!loaded || !isOn) return undefined;
    const stop = () => assign(isFollowing, false);
    loaded.map.on('dragstart', stop);
    return () => {
      loaded.map.off('dragstart', stop);
    };
  }, [loaded, isOn]);
  useEffect(() => {
    if (!loaded || !isOn || !location) return;
    const zoom = Math.max(loaded.map.getZoom(), 14);
    loaded.map.easeTo({ center: [location.longitude, location.latitude], zoom, duration: 900, ...motion() });
  }, [loaded, isOn, location?.longitude, location?.latitude]);
}

/** Brings a vehicle into view when it is chosen from the list. */
function useSelection(loaded: Loaded | undefined, { fleet, selected }: FleetMapOptions): void {
  const isKnown = selected !== undefined && fleet.vehicles.get(selected)?.location !== undefined;
  useEffect(() => {
    loaded?.layer.select(selected);
    const location = selected === undefined ? undefined : fleet.vehicles.get(selected)?.location;
    if (!loaded || !location) return;
    const { longitude, latitude } = location;
    if (loaded.map.getZoom() > 9 && loaded.map.getBounds().contains([longitude, latitude])) return;
    loaded.map.easeTo({ center: [longitude, latitude], zoom: Math.max(loaded.map.getZoom(), 13), ...motion() });
  }, [loaded, selected, isKnown]);
}

const placeZooms = { parking: 16, geofence: 14, address: 14 } as const;

/** Marks a search result on the map, and moves it into view. */
function usePlace(loaded: Loaded | undefined, { place }: FleetMapOptions): void {
  useEffect(() => {
    if (!loaded || !place) return undefined;
    const { name, kind, longitude, latitude } = place;
    const marker = new Marker({ color: paletteOf(isDark()).accent }).setLngLat([longitude, latitude]).addTo(loaded.map);
    marker.getElement().setAttribute('aria-label', name);
    marker.getElement().title = name;
    loaded.map.easeTo({ center: [longitude, latitude], zoom: placeZooms[kind], ...motion() });
    return () => void marker.remove();
  }, [loaded, place]);
}

/** The map with the live vehicles. */
export function FleetMap(options: FleetMapOptions) {
  const { fleet, hidden, route, onPick } = options;
  fleet.watch();
  const { container, loaded } = useMap(fleet, onPick);
  useFit(loaded, options);
  useSelection(loaded, options);
  useFollow(loaded, options);
  usePlace(loaded, options);
  useEffect(() => loaded?.layer.hide(hidden), [loaded, hidden]);
  useEffect(() => {
    if (!loaded) return;
    drawRoute(loaded.map, route);
    const bounds = boundsOf(route);
    if (bounds) loaded.map.fitBounds(bounds, { padding: besideCard(loaded.map), maxZoom: 15, ...motion() });
  }, [loaded, route]);
  return <section class="map" ref={container} aria-label={texts.value.map.label} />;
}

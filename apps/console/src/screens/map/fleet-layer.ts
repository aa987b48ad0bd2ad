import type { Feature, Point } from 'geojson';
import type { GeoJSONSource, MapGeoJSONFeature, Map as MapLibreMap, MapMouseEvent } from 'maplibre-gl';
import type { Fleet, FleetChange } from '../../live/fleet.ts';
import type { LiveCell, LiveVehicle } from '../../live/live-stream.ts';
import { shownState } from '../../parts/layout/vehicle-state.tsx';
import { addMarkerImages } from '../../parts/map/marker-images.ts';
import type { MapPalette } from '../../parts/map/palette.ts';

/** Pixels around a click in which vehicles count as clicked. */
const clickReach = 9;
const systemFont = ['system-ui'];

/** The actions of a person on the map. */
export interface FleetLayerEvents {
  /** Clicked the vehicles that lie on one another at a point; none beside all of them. */
  onPick(vehicleIds: readonly string[]): void;
}

const ofVehicle = (vehicle: LiveVehicle): Feature<Point>[] => {
  const { id, plate, location } = vehicle;
  if (!location) return [];
  const { longitude, latitude, angle = 0 } = location;
  const state = shownState(vehicle);
  const properties = { id, plate, state, angle: state === 'moving' ? angle : 0 };
  return [
    { type: 'Feature', id: Number(id), geometry: { type: 'Point', coordinates: [longitude, latitude] }, properties },
  ];
};

const ofCell = ({ id, longitude, latitude, count, moving }: LiveCell): Feature<Point> => ({
  type: 'Feature',
  id: Number(id),
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  properties: { count, moving, text: count < 10_000 ? String(count) : `${Math.round(count / 1000)}k` },
});

/** The sources and layers of the vehicles and cells on a map. */
export class FleetLayer {
  readonly #map: MapLibreMap;
  readonly #fleet: Fleet;
  readonly #palette: MapPalette;
  readonly #events: FleetLayerEvents;
  /** Vehicles on the map; after a reset some of them may be gone. */
  readonly #drawn = new Set<string>();
  #unlisten = (): void => undefined;

  /** @param map that has loaded its style */
  constructor(map: MapLibreMap, fleet: Fleet, palette: MapPalette, events: FleetLayerEvents) {
    this.#map = map;
    this.#fleet = fleet;
    this.#palette = palette;
    this.#events = events;
    addMarkerImages(map, palette);
    this.#addCells();
    this.#addVehicles();
    this.#drawAll();
    this.#unlisten = fleet.listen((change) => this.#draw(change));
    map.on('click', (event) => this.#click(event));
    for (const layer of ['vehicles', 'cells']) {
      map.on('mouseenter', layer, () => {
        map.getCanvas().style.cursor = 'pointer';
      });
      map.on('mouseleave', layer, () => {
        map.getCanvas().style.cursor = '';
      });
    }
  }

  remove(): void {
    this.#unlisten();
  }

  /** Marks one vehicle, or none. */
  select(vehicleId: string | undefined): void {
    this.#map.setFilter('selected', ['==', ['get', 'id'], vehicleId ?? '']);
  }

  /** Leaves out vehicles in these states. */
  hide(states: ReadonlySet<string>): void {
    this.#map.setFilter(
      'vehicles',
      states.size === 0 ? null : ['!', ['in', ['get', 'state'], ['literal', [...states]]]],
    );
  }

  #addCells(): void {
    const { surface, accent, label } = this.#palette;
    this.#map.addSource('cells', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
    this.#map.addLayer({
      id: 'cells',
      type: 'circle',
      source: 'cells',
      paint: {
        'circle-color': surface,
        'circle-opacity': 0.92,
        'circle-stroke-color': accent,
        'circle-stroke-width': 2,
        'circle-radius': ['interpolate', ['linear'], ['log10', ['get', 'count']], 0, 10, 2, 17, 4, 28],
      },
    });
    this.#map.addLayer({
      id: 'cell-counts',
      type: 'symbol',
      source: 'cells',
      layout: { 'text-field': ['get', 'text'], 'text-font': systemFont, 'text-size': 12, 'text-allow-overlap': true },
      paint: { 'text-color': label },
    });
  }

  #addVehicles(): void {
    const { accent, label, halo } = this.#palette;
    const data = { type: 'FeatureCollection' as const, features: [] };
    this.#map.addSource('vehicles', { type: 'geojson', data, maxzoom: 14 });
    this.#map.addLayer({
      id: 'selected',
      type: 'circle',
      source: 'vehicles',
      filter: ['==', ['get', 'id'], ''],
      paint: {
        'circle-radius': 19,
        'circle-color': accent,
        'circle-opacity': 0.16,
        'circle-stroke-color': accent,
        'circle-stroke-width': 2.5,
      },
    });
    this.#map.addLayer({
      id: 'vehicles',
      type: 'symbol',
      source: 'vehicles',
      layout: {
        'icon-image': ['get', 'state'],
        'icon-rotate': ['get', 'angle'],
        'icon-rotation-alignment': 'map',
        'icon-allow-overlap': true,
        'icon-ignore-placement': true,
        'symbol-sort-key': ['match', ['get', 'state'], 'alarm', 3, 'moving', 2, 'parked', 1, 0],
        'text-field': ['step', ['zoom'], '', 10.5, ['get', 'plate']],
        'text-font': systemFont,
        'text-size': 11,
        'text-offset': [0, 1.3],
        'text-anchor': 'top',
        'text-optional': true,
      },
      paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.6 },
    });
  }

  #source(name: 'vehicles' | 'cells'): GeoJSONSource | undefined {
    return this.#map.getSource<GeoJSONSource>(name);
  }

  #drawAll(): void {
    const vehicles = [...this.#fleet.vehicles.values()].flatMap(ofVehicle);
    for (const id of this.#fleet.vehicles.keys()) this.#drawn.add(id);
    const cells = [...this.#fleet.cells.values()].map(ofCell);
    void this.#source('vehicles')?.setData({ type: 'FeatureCollection', features: vehicles });
    void this.#source('cells')?.setData({ type: 'FeatureCollection', features: cells });
  }

  #draw({ isReset, isComplete, vehicles, left, cells }: FleetChange): void {
    if (isReset) {
      // The old vehicles stay until the new ones arrive, unless the map changes between vehicles and cells.
      if (this.#fleet.mode.value === 'cells') void this.#source('vehicles')?.updateData({ removeAll: true });
      else void this.#source('cells')?.updateData({ removeAll: true });
      return;
    }
    for (const { id } of vehicles) this.#drawn.add(id);
    const missing = isComplete ? [...this.#drawn].filter((id) => !this.#fleet.vehicles.has(id)) : [];
    const gone = [...left, ...missing];
    for (const id of gone) this.#drawn.delete(id);
    if (vehicles.length > 0 || gone.length > 0) {
      const hidden = vehicles.filter(({ location }) => !location).map(({ id }) => id);
      const remove = [...gone, ...hidden].map(Number);
      void this.#source('vehicles')?.updateData({ remove, add: vehicles.flatMap(ofVehicle) });
    }
    if (cells.length > 0) {
      const gone = cells.filter(({ count }) => count === 0).map(({ id }) => Number(id));
      void this.#source('cells')?.updateData({ remove: gone, add: cells.filter(({ count }) => count > 0).map(ofCell) });
    }
  }

  #click({ point: { x, y } }: MapMouseEvent): void {
    const layers = ['vehicles', 'cells'];
    const found = this.#map.queryRenderedFeatures(
      [
        [x - clickReach, y - clickReach],
        [x + clickReach, y + clickReach],
      ],
      { layers },
    );
    const vehicles = found.filter(({ layer }) => layer.id === 'vehicles');
    const [cell] = found.filter(({ layer }) => layer.id === 'cells');
    if (vehicles.length === 0 && cell) this.#enter(cell);
    else this.#events.onPick([...new Set(vehicles.map(({ properties }) => String(properties['id'])))]);
  }

  /** Looks closer at a cell. */
  #enter({ geometry }: MapGeoJSONFeature): void {
    if (geometry.type !== 'Point') return;
    const [longitude = 0, latitude = 0] = geometry.coordinates;
    this.#map.easeTo({ center: [longitude, latitude], zoom: this.#map.getZoom() + 2.5 });
  }
}

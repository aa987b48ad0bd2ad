import type { Signal } from '@preact/signals';
import type { Feature, Point } from 'geojson';
import type { Map as MapLibreMap, MapMouseEvent, MapTouchEvent } from 'maplibre-gl';
import { type Draft, metresBetween, type Place, placeAt, placesOf, toPoint } from './geofence-shapes.ts';

/** Pixels around a handle in which a pointer takes it. */
const reach = 11;
/** The first radius of a circle, pixels of the map as it is shown. */
const firstRadius = 70;

/** The point that a handle moves: the centre, the edge of the circle, or a corner by its number. */
type Handle = 'centre' | 'edge' | number;

/** The handles of a geofence that is drawn, with their places. */
function handlePlaces({ type, centre, radiusMetres, corners }: Draft): (readonly [Handle, Place])[] {
  if (type !== 'Point')
    return corners.flatMap((corner, index) => placesOf(corner).map((place) => [index, place] as const));
  return placesOf(centre).flatMap((place) => [
    ['centre', place] as const,
    ...(radiusMetres === undefined ? [] : [['edge', placeAt(place, 90, radiusMetres)] as const]),
  ]);
}

/** Draws the handles of a geofence. @param selected the number of a corner */
export function handlesOf(draft: Draft, selected: number | undefined): Feature<Point>[] {
  return handlePlaces(draft).map(([handle, [longitude, latitude]]) => ({
    type: 'Feature',
    properties: { isSelected: handle === selected },
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  }));
}

/** Moves what a handle stands for to another place. */
function move(draft: Draft, moved: Handle, place: Place): Draft {
  if (typeof moved === 'number') return { ...draft, corners: draft.corners.with(moved, toPoint(place)) };
  if (moved === 'centre') return { ...draft, centre: toPoint(place) };
  const [centre] = placesOf(draft.centre);
  return centre ? { ...draft, radiusMetres: Math.max(1, Math.round(metresBetween(centre, place))) } : draft;
}

/** Draws a geofence with the pointer: clicks set its points, and handles move them. */
export class GeofenceEditor {
  readonly #map: MapLibreMap;
  readonly #draft: Signal<Draft | undefined>;
  readonly #corner: Signal<number | undefined>;
  readonly #onPick: (id: string) => void;
  readonly #stopped = new AbortController();
  #moved: Handle | undefined;

  /** @param onPick called with the geofence that is clicked while none is drawn */
  constructor(
    map: MapLibreMap,
    draft: Signal<Draft | undefined>,
    corner: Signal<number | undefined>,
    onPick: (id: string) => void,
  ) {
    this.#map = map;
    this.#draft = draft;
    this.#corner = corner;
    this.#onPick = onPick;
    map.on('click', (event) => this.#click(event));
    map.on('mousedown', (event) => this.#grab(event));
    map.on('touchstart', (event) => this.#grab(event));
    map.on('mousemove', (event) => this.#drag(event));
    map.on('touchmove', (event) => this.#drag(event));
    const { signal } = this.#stopped;
    for (const end of ['mouseup', 'touchend', 'touchcancel']) {
      addEventListener(end, () => this.#release(), { signal });
    }
    map.getCanvas().addEventListener('keydown', (event) => this.#press(event), { signal });
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Compares positions: what was just drawn is not rendered yet. */
  #handleAt({ x, y }: { x: number; y: number }): Handle | undefined {
    const drawn = this.#draft.value;
    if (!drawn) return undefined;
    const found = handlePlaces(drawn).findLast(([, [longitude, latitude]]) => {
      const shown = this.#map.project([longitude, latitude]);
      return Math.hypot(shown.x - x, shown.y - y) <= reach;
    });
    return found?.[0];
  }

  #grab(event: MapMouseEvent | MapTouchEvent): void {
    if (!this.#draft.value) return;
    this.#moved = this.#handleAt(event.point);
    // Otherwise the map would be dragged.
    if (this.#moved !== undefined) event.preventDefault();
  }

  #drag(event: MapMouseEvent | MapTouchEvent): void {
    const drawn = this.#draft.value;
    if (!drawn) return;
    if (this.#moved === undefined) {
      this.#map.getCanvas().style.cursor = this.#handleAt(event.point) === undefined ? 'crosshair' : 'move';
      return;
    }
    const { lng, lat } = event.lngLat.wrap();
    this.#draft.value = move(drawn, this.#moved, [lng, lat]);
  }

  #release(): void {
    this.#moved = undefined;
    if (!this.#draft.value) this.#map.getCanvas().style.cursor = '';
  }

  #click({ point, lngLat }: MapMouseEvent): void {
    const drawn = this.#draft.value;
    if (!drawn) {
      const [area] = this.#map.queryRenderedFeatures(point, { layers: ['geofences-fill'] });
      if (area) this.#onPick(String(area.properties['id']));
      return;
    }
    const { lng, lat } = lngLat.wrap();
    const clicked = this.#handleAt(point);
    if (drawn.type !== 'Point') {
      this.#corner.value = typeof clicked === 'number' ? clicked : drawn.corners.length;
      if (clicked === undefined) this.#draft.value = { ...drawn, corners: [...drawn.corners, toPoint([lng, lat])] };
      return;
    }
    if (clicked !== undefined || placesOf(drawn.centre).length > 0) return;
    const edge = this.#map.unproject([point.x + firstRadius, point.y]);
    const radiusMetres = drawn.radiusMetres ?? Math.round(metresBetween([lng, lat], [edge.lng, edge.lat]));
    this.#draft.value = { ...drawn, centre: toPoint([lng, lat]), radiusMetres };
  }

  #press({ key }: KeyboardEvent): void {
    const [drawn, corner] = [this.#draft.value, this.#corner.value];
    if ((key !== 'Delete' && key !== 'Backspace') || !drawn || corner === undefined) return;
    this.#draft.value = { ...drawn, corners: drawn.corners.filter((_unused, index) => index !== corner) };
    this.#corner.value = undefined;
  }
}

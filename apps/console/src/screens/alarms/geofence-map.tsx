import { effect, type Signal } from '@preact/signals';
import type { Feature, FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect } from 'preact/hooks';
import type { MapPalette } from '../../parts/map/palette.ts';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { useMap } from '../../parts/map/use-map.ts';
import { texts } from '../../texts/texts.ts';
import { GeofenceEditor, handlesOf } from './geofence-editor.ts';
import { type Draft, outlineOf, type Place, toDraft } from './geofence-shapes.ts';
import type { Geofence } from './rule-data.ts';

const collection = (features: readonly Feature[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: [...features],
});

function areaOf(draft: Draft, id: string): Feature[] {
  const outline = outlineOf(draft).map(([longitude, latitude]) => [longitude, latitude]);
  if (outline.length < 2) return [];
  const geometry =
    outline.length > 3
      ? { type: 'Polygon' as const, coordinates: [outline] }
      : { type: 'LineString' as const, coordinates: outline };
  return [{ type: 'Feature', properties: { id, name: draft.name }, geometry }];
}

function addLayers(map: MapLibreMap, { accent, surface, parked, label, halo }: MapPalette): void {
  for (const source of ['geofences', 'draft', 'handles'])
    map.addSource(source, { type: 'geojson', data: collection([]) });
  const addArea = (source: string, colour: string, width: number) => {
    const paint = { 'fill-color': colour, 'fill-opacity': 0.16 };
    map.addLayer({ id: `${source}-fill`, type: 'fill', source, paint });
    map.addLayer({ id: `${source}-line`, type: 'line', source, paint: { 'line-color': colour, 'line-width': width } });
  };
  addArea('geofences', parked, 1.6);
  map.addLayer({
    id: 'geofence-names',
    type: 'symbol',
    source: 'geofences',
    layout: { 'text-field': ['get', 'name'], 'text-font': ['system-ui'], 'text-size': 12 },
    paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.4 },
  });
  addArea('draft', accent, 2.5);
  map.addLayer({
    id: 'handles',
    type: 'circle',
    source: 'handles',
    paint: {
      'circle-radius': ['case', ['get', 'isSelected'], 9, 7],
      'circle-color': ['case', ['get', 'isSelected'], accent, surface],
      'circle-stroke-color': accent,
      'circle-stroke-width': 2.5,
    },
  });
}

interface GeofenceMapOptions {
  readonly geofences: readonly Geofence[];
  /** The geofence that is drawn; undefined while none is. */
  readonly draft: Signal<Draft | undefined>;
  /** The corner that the Delete key removes. */
  readonly corner: Signal<number | undefined>;
  /** The geofence that is changed, and drawn as the draft. */
  readonly changed: string | undefined;
  readonly onPick: (id: string) => void;
}

/** The geofences on the map; one of them can be drawn. */
export function GeofenceMap({ geofences, draft, corner, changed, onPick }: GeofenceMapOptions) {
  const { container, map } = useMap(addLayers);
  useEffect(() => {
    const others = geofences.filter(({ id }) => id !== changed);
    const areas = others.flatMap((geofence) => areaOf(toDraft(geofence), geofence.id));
    void map?.getSource<GeoJSONSource>('geofences')?.setData(collection(areas));
  }, [map, geofences, changed]);
  useEffect(() => {
    if (!map) return;
    const shown = draft.peek();
    const outlines: readonly Place[] = shown ? outlineOf(shown) : geofences.flatMap((one) => outlineOf(toDraft(one)));
    const bounds = boundsOf(outlines);
    if (bounds) map.fitBounds(bounds, { padding: 60, maxZoom: 15, animate: false });
  }, [map, changed, geofences.length]);
  useEffect(() => {
    if (!map) return undefined;
    const editor = new GeofenceEditor(map, draft, corner, onPick);
    const stop = effect(() => {
      const drawn = draft.value;
      void map.getSource<GeoJSONSource>('draft')?.setData(collection(drawn ? areaOf(drawn, '') : []));
      const handles = drawn ? handlesOf(drawn, corner.value) : [];
      void map.getSource<GeoJSONSource>('handles')?.setData(collection(handles));
    });
    return () => {
      stop();
      editor.stop();
    };
  }, [map]);
  return <section class="map" ref={container} aria-label={texts.value.geofences.map} />;
}

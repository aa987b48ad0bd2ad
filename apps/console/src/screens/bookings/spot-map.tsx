import type { Feature } from 'geojson';
import type { GeoJSONSource, MapMouseEvent } from 'maplibre-gl';
import { useEffect, useRef } from 'preact/hooks';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { useMap } from '../../parts/map/use-map.ts';
import { texts } from '../../texts/texts.ts';
import type { Spot } from './spot-data.ts';

interface SpotMapOptions {
  readonly spots: readonly Spot[];
  /** The place of the spot that is written; it moves with a click. */
  readonly place: { readonly latitude: number; readonly longitude: number } | undefined;
  readonly isWriting: boolean;
  readonly onPlace: (latitude: number, longitude: number) => void;
  readonly onPick: (id: string) => void;
}

function featuresOf(spots: readonly Spot[], place: SpotMapOptions['place']): Feature[] {
  const points = spots.flatMap(({ id, name, latitude, longitude }) =>
    latitude === undefined || longitude === undefined ? [] : [{ id, name, latitude, longitude, isDraft: false }],
  );
  const draft = place ? [{ id: '', name: '', ...place, isDraft: true }] : [];
  return [...points, ...draft].map(({ latitude, longitude, ...properties }) => ({
    type: 'Feature',
    properties,
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  }));
}

/** The parking spots on the map. A click picks one, or gives the one that is written its place. */
export function SpotMap({ spots, place, isWriting, onPlace, onPick }: SpotMapOptions) {
  const { container, map } = useMap((created, { parked, accent, surface, label, halo }) => {
    created.addSource('spots', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
    created.addLayer({
      id: 'spots',
      type: 'circle',
      source: 'spots',
      paint: {
        'circle-radius': ['case', ['get', 'isDraft'], 9, 7],
        'circle-color': ['case', ['get', 'isDraft'], accent, parked],
        'circle-stroke-color': surface,
        'circle-stroke-width': 2,
      },
    });
    created.addLayer({
      id: 'spot-names',
      type: 'symbol',
      source: 'spots',
      layout: {
        ...{ 'text-field': ['get', 'name'], 'text-font': ['system-ui'], 'text-size': 12 },
        ...{ 'text-anchor': 'top', 'text-offset': [0, 0.8] },
      },
      paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.4 },
    });
  });
  const clicked = useRef({ isWriting, onPlace, onPick });
  clicked.current = { isWriting, onPlace, onPick };
  useEffect(() => {
    const features = featuresOf(spots, place);
    void map?.getSource<GeoJSONSource>('spots')?.setData({ type: 'FeatureCollection', features });
  }, [map, spots, place?.latitude, place?.longitude]);
  useEffect(() => {
    const known = spots.flatMap(({ latitude, longitude }) =>
      latitude === undefined || longitude === undefined ? [] : [[longitude, latitude] as const],
    );
    const bounds = boundsOf(known);
    if (map && bounds) map.fitBounds(bounds, { padding: 60, maxZoom: 14, animate: false });
  }, [map, spots.length]);
  useEffect(() => {
    if (!map) return undefined;
    const click = ({ point, lngLat }: MapMouseEvent) => {
      const now = clicked.current;
      if (now.isWriting) return now.onPlace(lngLat.lat, lngLat.lng);
      const [found] = map.queryRenderedFeatures(point, { layers: ['spots'] });
      const id: unknown = found?.properties['id'];
      if (typeof id === 'string') now.onPick(id);
    };
    map.on('click', click);
    return () => map.off('click', click);
  }, [map]);
  return <section class="map" ref={container} aria-label={texts.value.parkingSpots.map} />;
}

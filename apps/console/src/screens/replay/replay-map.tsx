import type { Feature, FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createBaseMap } from '../../parts/map/base-map.ts';
import { type MapPalette, paletteOf } from '../../parts/map/palette.ts';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { linesOf, type Moment } from '../../parts/time/trail.ts';
import { isDark } from '../../preferences.ts';
import { texts } from '../../texts/texts.ts';
import { colourOf, type ReplayedVehicle } from './replay-data.ts';

interface ReplayMapOptions {
  readonly vehicles: readonly ReplayedVehicle[];
  /** Where each vehicle is, in the same order. */
  readonly moments: readonly (Moment | undefined)[];
}

const collection = (features: Feature[]): FeatureCollection => ({ type: 'FeatureCollection', features });

function addLayers(map: MapLibreMap, { surface, label, halo }: MapPalette): void {
  for (const name of ['trails', 'stops', 'moments']) map.addSource(name, { type: 'geojson', data: collection([]) });
  const layout = { 'line-cap': 'round', 'line-join': 'round' } as const;
  const colour = ['get', 'colour'] as const;
  map.addLayer({
    ...{ id: 'trails', type: 'line', source: 'trails', layout },
    paint: { 'line-color': [...colour], 'line-width': 3, 'line-opacity': 0.75 },
  });
  map.addLayer({
    ...{ id: 'stops', type: 'circle', source: 'stops' },
    paint: {
      'circle-radius': 4,
      'circle-color': surface,
      'circle-stroke-color': [...colour],
      'circle-stroke-width': 2,
    },
  });
  map.addLayer({
    ...{ id: 'moments', type: 'circle', source: 'moments' },
    paint: {
      'circle-radius': 9,
      'circle-color': [...colour],
      'circle-opacity': ['get', 'opacity'],
      'circle-stroke-color': surface,
      'circle-stroke-width': 2.5,
    },
  });
  map.addLayer({
    ...{ id: 'plates', type: 'symbol', source: 'moments' },
    layout: {
      'text-field': ['get', 'plate'],
      'text-font': ['system-ui'],
      'text-size': 12,
      'text-offset': [0, 1.5],
      'text-allow-overlap': true,
    },
    paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.6 },
  });
}

function drawTrails(map: MapLibreMap, vehicles: readonly ReplayedVehicle[], dark: boolean): void {
  const trails = vehicles.flatMap(({ trail }, index) =>
    linesOf(trail).map(
      (coordinates): Feature => ({
        type: 'Feature',
        properties: { colour: colourOf(index, dark) },
        geometry: { type: 'LineString', coordinates },
      }),
    ),
  );
  const stops = vehicles.flatMap(({ trail }, index) =>
    trail.stops.map(
      ({ longitude, latitude }): Feature => ({
        type: 'Feature',
        properties: { colour: colourOf(index, dark) },
        geometry: { type: 'Point', coordinates: [longitude, latitude] },
      }),
    ),
  );
  void map.getSource<GeoJSONSource>('trails')?.setData(collection(trails));
  void map.getSource<GeoJSONSource>('stops')?.setData(collection(stops));
  const bounds = boundsOf(vehicles.flatMap(({ trail }) => linesOf(trail).flat()));
  if (bounds) map.fitBounds(bounds, { padding: 50, maxZoom: 15, animate: false });
}

function drawMoments(map: MapLibreMap, { vehicles, moments }: ReplayMapOptions, dark: boolean): void {
  const features = moments.flatMap((moment, index): Feature[] => {
    if (!moment) return [];
    const opacity = moment.state === 'unknown' ? 0.35 : 1;
    const properties = { colour: colourOf(index, dark), plate: vehicles[index]?.plate ?? '', opacity };
    const geometry = { type: 'Point' as const, coordinates: [moment.longitude, moment.latitude] };
    return [{ type: 'Feature', properties, geometry }];
  });
  void map.getSource<GeoJSONSource>('moments')?.setData(collection(features));
}

/** The trails of several vehicles, and where each is at one moment; pale where that is not known. */
export function ReplayMap(options: ReplayMapOptions) {
  const { vehicles, moments } = options;
  const container = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<MapLibreMap | undefined>(undefined);
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const created = createBaseMap(container.current, { isDark: dark });
    created.on('load', () => {
      addLayers(created, paletteOf(dark));
      setMap(created);
    });
    return () => {
      setMap(undefined);
      created.remove();
    };
  }, [dark]);
  useEffect(() => {
    if (map) drawTrails(map, vehicles, dark);
  }, [map, vehicles]);
  useEffect(() => {
    if (map) drawMoments(map, options, dark);
  }, [map, moments]);
  return <section class="map" ref={container} aria-label={texts.value.replay.map} />;
}

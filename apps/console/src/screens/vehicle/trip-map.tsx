import type { FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createBaseMap } from '../../parts/map/base-map.ts';
import { addMarkerImages } from '../../parts/map/marker-images.ts';
import { type MapPalette, paletteOf } from '../../parts/map/palette.ts';
import { addRouteLayer, boundsOf, drawLines } from '../../parts/map/route-layer.ts';
import { linesOf, type Moment, type Trail } from '../../parts/time/trail.ts';
import { isDark } from '../../preferences.ts';
import { texts } from '../../texts/texts.ts';

interface TripMapOptions {
  readonly trail: Trail;
  readonly moment: Moment | undefined;
}

const points = (features: FeatureCollection['features']): FeatureCollection => ({
  type: 'FeatureCollection',
  features,
});

function pointOf({ longitude, latitude }: { longitude: number; latitude: number }, properties: object) {
  const geometry = { type: 'Point' as const, coordinates: [longitude, latitude] };
  return { type: 'Feature' as const, geometry, properties };
}

function addMarkers(map: MapLibreMap, palette: MapPalette): void {
  addMarkerImages(map, palette);
  for (const name of ['stops', 'vehicle']) map.addSource(name, { type: 'geojson', data: points([]) });
  map.addLayer({
    id: 'stops',
    type: 'symbol',
    source: 'stops',
    layout: { 'icon-image': 'parked', 'icon-allow-overlap': true },
  });
  map.addLayer({
    id: 'vehicle',
    type: 'symbol',
    source: 'vehicle',
    layout: {
      'icon-image': 'moving',
      'icon-size': 1.25,
      'icon-rotate': ['get', 'angle'],
      'icon-rotation-alignment': 'map',
      'icon-allow-overlap': true,
      'icon-ignore-placement': true,
    },
  });
}

/** A trip on the map, with its stops and the vehicle at one moment. */
export function TripMap({ trail, moment }: TripMapOptions) {
  const container = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<MapLibreMap | undefined>(undefined);
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const created = createBaseMap(container.current, { isDark: dark });
    created.on('load', () => {
      addRouteLayer(created, paletteOf(dark));
      addMarkers(created, paletteOf(dark));
      setMap(created);
    });
    return () => {
      setMap(undefined);
      created.remove();
    };
  }, [dark]);
  useEffect(() => {
    if (!map) return;
    const lines = linesOf(trail);
    drawLines(map, lines);
    void map.getSource<GeoJSONSource>('stops')?.setData(points(trail.stops.map((stop) => pointOf(stop, {}))));
    const bounds = boundsOf(lines.flat());
    if (bounds) map.fitBounds(bounds, { padding: 50, maxZoom: 15, animate: false });
  }, [map, trail]);
  useEffect(() => {
    const features = moment ? [pointOf(moment, { angle: moment.angle })] : [];
    void map?.getSource<GeoJSONSource>('vehicle')?.setData(points(features));
  }, [map, moment]);
  return <section class="map" ref={container} aria-label={texts.value.trips.map} />;
}

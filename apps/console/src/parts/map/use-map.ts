import type { Map as MapLibreMap } from 'maplibre-gl';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isDark } from '../../preferences.ts';
import { createBaseMap } from './base-map.ts';
import { type MapPalette, paletteOf } from './palette.ts';

/** A map in an element; undefined until its style is loaded. */
interface UsedMap {
  readonly container: RefObject<HTMLDivElement | null>;
  readonly map: MapLibreMap | undefined;
}

/** Creates a map in an element, and again when the page turns dark or light. @param prepare adds sources and layers */
export function useMap(prepare: (map: MapLibreMap, palette: MapPalette) => void): UsedMap {
  const container = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<MapLibreMap | undefined>(undefined);
  const place = useRef<{ center?: [number, number]; zoom?: number }>({});
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const created = createBaseMap(container.current, { isDark: dark, ...place.current });
    created.on('load', () => {
      prepare(created, paletteOf(dark));
      setMap(created);
    });
    return () => {
      const { lng, lat } = created.getCenter();
      place.current = { center: [lng, lat], zoom: created.getZoom() };
      setMap(undefined);
      created.remove();
    };
  }, [dark]);
  return { container, map };
}

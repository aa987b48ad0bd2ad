import './map-screen.css';
import { useEffect, useRef } from 'preact/hooks';
import { createBaseMap } from '../../parts/map/base-map.ts';
import { isDark } from '../../parts/preferences.ts';
import { texts } from '../../texts/texts.ts';

/** Every vehicle, live. */
export function MapScreen() {
  const container = useRef<HTMLDivElement>(null);
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const map = createBaseMap(container.current, { isDark: dark });
    return () => map.remove();
  }, [dark]);
  return (
    <div class="map-screen">
      <h1 class="visually-hidden">{texts.value.navigation.map}</h1>
      <div class="map" ref={container} />
    </div>
  );
}

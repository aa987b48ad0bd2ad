import type { GeoJSONSource } from 'maplibre-gl';
import { useEffect } from 'preact/hooks';
import type { Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { shownState } from '../../parts/layout/vehicle-state.tsx';
import { useMap } from '../../parts/map/base-map.ts';
import { loadLastTrip } from '../../parts/map/last-trip.ts';
import { addMarkerImages } from '../../parts/map/marker-images.ts';
import { addRouteLayer, boundsOf, drawRoute } from '../../parts/map/route-layer.ts';
import { useAddress } from '../../parts/map/use-address.ts';
import { formatDistance, formatDuration, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

/** Keeps the trip above the scale and the attribution at the bottom of the map, CSS pixels. */
const padding = { top: 32, right: 40, bottom: 72, left: 40 };

/** A small map with the position of a vehicle and its last trip. */
export function LastTrip({ vehicle, location }: { vehicle: LiveVehicle; location: Schema<'LiveLocation'> }) {
  const { map: text, loading } = texts.value;
  const address = useAddress(vehicle);
  const { data: trip, failure, isLoading } = useLoad(() => loadLastTrip(vehicle), [vehicle.id], [vehicle.parkedSince]);
  const { container, map } = useMap((created, palette) => {
    addRouteLayer(created, palette);
    addMarkerImages(created, palette);
    created.addSource('vehicle', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
    created.addLayer({
      id: 'vehicle',
      type: 'symbol',
      source: 'vehicle',
      layout: {
        'icon-image': ['get', 'state'],
        'icon-size': 1.25,
        'icon-rotate': ['get', 'angle'],
        'icon-rotation-alignment': 'map',
        'icon-allow-overlap': true,
      },
    });
  });
  const { longitude, latitude, angle = 0 } = location;
  const state = shownState(vehicle);
  useEffect(() => {
    const properties = { state, angle: state === 'moving' ? angle : 0 };
    const geometry = { type: 'Point' as const, coordinates: [longitude, latitude] };
    void map?.getSource<GeoJSONSource>('vehicle')?.setData({ type: 'Feature', geometry, properties });
  }, [map, longitude, latitude, angle, state]);
  useEffect(() => {
    if (!map) return;
    const route = trip?.route ?? [];
    drawRoute(map, route);
    const bounds = boundsOf([...route, [longitude, latitude]]);
    if (bounds) map.fitBounds(bounds, { padding, maxZoom: 14, animate: false });
    // Does not follow positions: the person may have moved the map.
  }, [map, trip]);
  const note = failure ? text.routeFailed : isLoading ? loading : text.noTrip;
  return (
    <section class="card last-trip" aria-label={text.lastTrip}>
      <h2>{text.lastTrip}</h2>
      <div class="last-trip-map">
        <div class="map" ref={container} />
      </div>
      {address !== undefined && <p>{address}</p>}
      <p class="muted">
        {trip ? (
          <a href={`/vehicles/${vehicle.id}/trips`}>
            {[formatTime(trip.start), formatDistance(trip.km), formatDuration(trip.minutes * 60)].join(' · ')}
          </a>
        ) : (
          note
        )}
      </p>
    </section>
  );
}

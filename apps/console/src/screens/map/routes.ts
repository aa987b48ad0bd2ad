import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { loadLastTrip, type Trip } from '../../parts/map/last-trip.ts';
import type { Route } from '../../parts/map/route-layer.ts';
import { actingFor } from '../../session.ts';

const trailSeconds = 3600;

/** Loads where a vehicle was in the last hour. @throws CallFailure */
async function loadTrail(vehicle: LiveVehicle): Promise<Route> {
  const until = Math.floor(Date.now() / 1000);
  const query = { from: until - trailSeconds, until, limit: 5000 };
  const call = api.GET('/v1/vehicle/{id}/history', {
    params: { path: { id: vehicle.id }, query, header: actingFor(vehicle.appId) },
  });
  const { status } = await answerOf(call);
  return status.flatMap(({ location }) =>
    location?.longitude === undefined || location.latitude === undefined
      ? []
      : [[location.longitude, location.latitude] as const],
  );
}

/** The lines that the map draws besides the vehicle. */
export type RouteKind = 'trail' | 'last trip';

/** A route that is drawn, on its way, or why there is none. */
export type ShownRoute =
  | { readonly kind: RouteKind; readonly state: 'loading' }
  | { readonly kind: RouteKind; readonly state: 'none' }
  | { readonly kind: RouteKind; readonly state: 'failed' }
  | { readonly kind: RouteKind; readonly state: 'drawn'; readonly trip: Trip | undefined };

const none: Route = [];

/** The trail or the last trip of the chosen vehicle, one at a time. */
export function useRoute(selected: string | undefined) {
  const shown = useSignal<ShownRoute | undefined>(undefined);
  const line = useSignal<Route>(none);
  const clear = () => {
    shown.value = undefined;
    line.value = none;
  };
  useEffect(clear, [selected]);

  const load = async (kind: RouteKind, vehicle: LiveVehicle): Promise<void> => {
    const asked: ShownRoute = { kind, state: 'loading' };
    shown.value = asked;
    line.value = none;
    const trip = kind === 'last trip' ? await loadLastTrip(vehicle) : undefined;
    const route = kind === 'trail' ? await loadTrail(vehicle) : (trip?.route ?? none);
    // Another vehicle or route may have been chosen meanwhile.
    if (shown.value !== asked) return;
    shown.value = route.length > 1 ? { kind, state: 'drawn', trip } : { kind, state: 'none' };
    line.value = route;
  };

  return {
    shown: shown.value,
    line: line.value,
    toggle(kind: RouteKind, vehicle: LiveVehicle): void {
      if (shown.value?.kind === kind) {
        clear();
        return;
      }
      load(kind, vehicle).catch(() => {
        if (shown.value?.kind === kind) shown.value = { kind, state: 'failed' };
      });
    },
  };
}

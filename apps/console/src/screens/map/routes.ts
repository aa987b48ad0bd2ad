import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { loadLastTrip, type Trip } from '../../parts/map/last-trip.ts';
import type { Route } from '../../parts/map/route-layer.ts';
import { loadTrail } from '../../parts/time/trail.ts';

const trailSeconds = 3600;
const trailPoints = 2000;

/** Loads where a vehicle was in the last hour. @throws CallFailure */
async function loadLastHour({ id }: LiveVehicle): Promise<Route> {
  const until = Math.ceil(Date.now() / 1000);
  // Thinned by the platform: the history would have only the oldest readings of a device that reports often.
  const { points } = await loadTrail(id, until - trailSeconds, until, trailPoints);
  return points.map(({ longitude, latitude }) => [longitude, latitude] as const);
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
    // Another vehicle or route may be chosen meanwhile.
    const isCurrent = () => shown.value === asked;
    try {
      const trip = kind === 'last trip' ? await loadLastTrip(vehicle) : undefined;
      const route = kind === 'trail' ? await loadLastHour(vehicle) : (trip?.route ?? none);
      if (!isCurrent()) return;
      shown.value = route.length > 1 ? { kind, state: 'drawn', trip } : { kind, state: 'none' };
      line.value = route;
    } catch {
      if (isCurrent()) shown.value = { kind, state: 'failed' };
    }
  };

  return {
    shown: shown.value,
    line: line.value,
    toggle(kind: RouteKind, vehicle: LiveVehicle): void {
      if (shown.value?.kind === kind) {
        clear();
        return;
      }
      void load(kind, vehicle);
    },
  };
}

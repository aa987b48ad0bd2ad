import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveVehicle } from '../../live/live-stream.ts';
import type { Route } from '../../parts/map/route-layer.ts';
import { loadLastTrip, loadTrail } from './routes.ts';
import type { RouteKind, ShownRoute } from './vehicle-card.tsx';

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

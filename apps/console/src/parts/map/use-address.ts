import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { actingFor } from '../../session.ts';

/** The first request only queues the lookup; a later one returns the address. */
const retryMs = 2000;
const maxAttempts = 4;
/** How often the address of a moving vehicle is loaded. */
const movingMs = 30_000;

/** Loads the address of the latest position of a vehicle; undefined if unknown. */
export function useAddress({ id, appId, state, location }: LiveVehicle): string | undefined {
  const found = useSignal<{ readonly id: string; readonly address: string | undefined } | undefined>(undefined);
  const { latitude, longitude, time } = location ?? { latitude: 0, longitude: 0, time: '' };
  const moment = Math.floor(Date.parse(time) / movingMs);
  const place = state === 'moving' ? moment : `${latitude.toFixed(4)},${longitude.toFixed(4)}`;
  useEffect(() => {
    if (!location) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isCurrent = true;
    const query = { view: 'dynamic', address: true } as const;
    const load = async (attempt: number): Promise<void> => {
      const call = api.GET('/v1/vehicle/{id}/status', { params: { path: { id }, query, header: actingFor(appId) } });
      const { data } = await call.catch(() => ({ data: undefined }));
      if (!isCurrent) return;
      const address = data && 'location' in data ? data.location?.address : undefined;
      found.value = { id, address };
      if (address !== undefined || attempt === maxAttempts) return;
      timer = setTimeout(() => void load(attempt + 1), retryMs);
    };
    void load(1);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [id, place, location === undefined]);
  return found.value?.id === id && location ? found.value.address : undefined;
}

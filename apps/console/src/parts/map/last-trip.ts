import type { LineString } from 'geojson';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { actingFor } from '../../session.ts';
import type { Route } from './route-layer.ts';

const daySeconds = 86_400;
/** How far back to look for the last trip, in days, the shortest first. */
const tripDays = [1, 7, 31];

/** A completed trip. */
export interface Trip {
  readonly start: string;
  readonly minutes: number;
  readonly km: number;
  readonly route: Route;
}

/** Loads the last completed trip of a vehicle. @returns undefined without one in the last month @throws CallFailure */
export async function loadLastTrip(vehicle: LiveVehicle): Promise<Trip | undefined> {
  const header = actingFor(vehicle.appId);
  const { id } = vehicle;
  for (const days of tripDays) {
    const from = Math.floor(Date.now() / 1000) - days * daySeconds;
    const call = api.GET('/v1/vehicle/{id}/trips', { params: { path: { id }, query: { from }, header } });
    const last = await answerOf(call).then(
      ({ trips }) => trips?.at(-1),
      (error: unknown) => {
        if (error instanceof CallFailure && error.code === 'NO_DATA') return undefined;
        throw error;
      },
    );
    if (!last) continue;
    const path = { id, tripId: last.trip_id };
    const track = await answerOf(api.GET('/v1/x/vehicle/{id}/trips/{tripId}/track', { params: { path, header } }));
    // A text is GPX, which is not requested.
    const line: LineString | null = typeof track === 'string' ? null : (track.geometry as LineString | null);
    const route = line?.coordinates.map(([longitude = 0, latitude = 0]) => [longitude, latitude] as const) ?? [];
    return { start: last.timestamp, minutes: last.duration, km: last.distance, route };
  }
  return undefined;
}

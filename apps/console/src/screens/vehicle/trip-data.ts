import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { actingFor } from '../../session.ts';

export type Trip = Schema<'Trip'>;

/** Loads the completed trips that started in an interval, the newest first. @throws CallFailure */
export async function loadTrips({ id, appId }: LiveVehicle, fromMs: number, untilMs: number): Promise<readonly Trip[]> {
  const query = { from: Math.floor(fromMs / 1000), until: Math.floor(untilMs / 1000) };
  try {
    const call = api.GET('/v1/vehicle/{id}/trips', { params: { path: { id }, query, header: actingFor(appId) } });
    return [...((await answerOf(call)).trips ?? [])].reverse();
  } catch (error) {
    if (error instanceof CallFailure && error.code === 'NO_DATA') return [];
    throw error;
  }
}

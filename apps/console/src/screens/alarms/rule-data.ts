import { answerOf, api, type Schema } from '../../api/client.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';

export type Rule = Schema<'AlarmRule'>;
export type Geofence = Schema<'Geofence'>;

/** An application has at most 100 rules and 1,000 geofences. */
const limit = 1000;

/** Loads the rules of an application, of all if it is empty. @throws CallFailure */
export async function loadRules(appId: string): Promise<readonly Rule[]> {
  const params = { query: { limit }, header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/alarm-rules', { params }))).rules;
}

/** Loads the geofences of an application, of all if it is empty. @throws CallFailure */
export async function loadGeofences(appId: string): Promise<readonly Geofence[]> {
  const params = { query: { limit }, header: headerFor(appId) };
  return (await answerOf(api.GET('/v1/x/geofences', { params }))).geofences;
}

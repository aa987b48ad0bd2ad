import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { actingFor } from '../../session.ts';

export type Trip = Schema<'Trip'>;

const pageSize = 5000;
const mostPages = 6;
/** A halt of at least this time within a trip is a stop. */
const stopSeconds = 120;
/** Readings slower than this, km/h, are of a vehicle that stands. */
const standingKmh = 2;

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

/** Where a vehicle was and how fast it was at one moment. */
export interface Moment {
  /** UNIX seconds. */
  readonly time: number;
  readonly longitude: number;
  readonly latitude: number;
  readonly angle: number;
  /** km/h */
  readonly speed: number | null;
}

/** A halt within a trip. */
export interface Stop {
  readonly longitude: number;
  readonly latitude: number;
  readonly seconds: number;
}

/** Loads the readings of a trip that have a position. @throws CallFailure */
export async function loadMoments(
  { id, appId }: LiveVehicle,
  { timestamp, duration }: Trip,
): Promise<readonly Moment[]> {
  const from = Math.floor(Date.parse(timestamp) / 1000);
  const until = Math.ceil(from + duration * 60);
  const moments: Moment[] = [];
  for (let page = 0; page < mostPages; page += 1) {
    const query = { from, until, limit: pageSize, offset: page * pageSize };
    const call = api.GET('/v1/vehicle/{id}/history', { params: { path: { id }, query, header: actingFor(appId) } });
    const { status } = await answerOf(call);
    for (const reading of status) {
      if (!reading.location) continue;
      const { latitude, longitude, angle } = reading.location;
      moments.push({ time: reading.timestamp, longitude, latitude, angle, speed: null });
    }
    if (status.length < pageSize) break;
  }
  return withSpeeds(moments);
}

const earthRadiusKm = 6371;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;

function distanceKm(one: Moment, other: Moment): number {
  const north = radians(other.latitude - one.latitude);
  const east = radians(other.longitude - one.longitude);
  const across = Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude)) * Math.sin(east / 2) ** 2;
  return 2 * earthRadiusKm * Math.asin(Math.sqrt(Math.sin(north / 2) ** 2 + across));
}

/** Takes the speeds from the positions: the history of a vehicle has none. */
function withSpeeds(moments: readonly Moment[]): Moment[] {
  const speeds = moments.map((moment, index) => {
    const before = moments[index - 1];
    return before && moment.time > before.time
      ? distanceKm(before, moment) / ((moment.time - before.time) / 3600)
      : null;
  });
  return moments.map((moment, index) => ({ ...moment, speed: speeds[index] ?? speeds[index + 1] ?? null }));
}

/** Finds the halts of at least two minutes. */
export function findStops(moments: readonly Moment[]): readonly Stop[] {
  const stops: Stop[] = [];
  let start: Moment | undefined;
  for (const moment of moments) {
    if ((moment.speed ?? 0) < standingKmh) {
      start ??= moment;
      continue;
    }
    const seconds = start ? moment.time - start.time : 0;
    if (start && seconds >= stopSeconds) stops.push({ longitude: start.longitude, latitude: start.latitude, seconds });
    start = undefined;
  }
  return stops;
}

/** Where the vehicle was at a time, between the readings around it; undefined without readings. */
export function momentAt(moments: readonly Moment[], time: number): Moment | undefined {
  const after = moments.findIndex((moment) => moment.time >= time);
  const [before, next] = [moments[after <= 0 ? 0 : after - 1], moments[after < 0 ? moments.length - 1 : after]];
  if (!before || !next) return undefined;
  const share =
    next.time === before.time ? 1 : Math.min(1, Math.max(0, (time - before.time) / (next.time - before.time)));
  const between = (one: number, other: number) => one + (other - one) * share;
  return {
    ...next,
    time,
    longitude: between(before.longitude, next.longitude),
    latitude: between(before.latitude, next.latitude),
  };
}

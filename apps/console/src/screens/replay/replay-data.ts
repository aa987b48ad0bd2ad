import { answerOf, api } from '../../api/client.ts';
import { loadTrail, type Trail } from '../../parts/time/trail.ts';
import { address, navigate } from '../../router.ts';

/** More would neither be told apart on the map nor fit under it. */
export const mostVehicles = 10;
const pointsPerVehicle = 2000;
const daySeconds = 86_400;

/** What a replay shows, as in its address. */
export interface ReplayRequest {
  readonly ids: readonly string[];
  /** UNIX seconds. */
  readonly from: number;
  readonly until: number;
}

/** A vehicle of a replay with where it was. */
export interface ReplayedVehicle {
  readonly id: string;
  readonly plate: string;
  readonly name: string;
  readonly trail: Trail;
}

/** Reads the request of the address: the last day without an interval. */
export function readRequest(nowSeconds: number): ReplayRequest {
  const { query } = address.value;
  const ids = [...new Set((query.get('vehicles') ?? '').split(',').filter((id) => /^\d{1,10}$/.test(id)))];
  const read = (name: string, usual: number) => {
    const seconds = Number(query.get(name) ?? Number.NaN);
    return Number.isFinite(seconds) ? Math.floor(seconds) : usual;
  };
  const until = read('until', nowSeconds);
  const from = read('from', until - daySeconds);
  return { ids: ids.slice(0, mostVehicles), from: from < until ? from : until - daySeconds, until };
}

/** The address of a replay. */
const addressOf = ({ ids, from, until }: ReplayRequest): string =>
  `/replay?vehicles=${ids.join(',')}&from=${from}&until=${until}`;

export const open = (request: ReplayRequest): void => navigate(addressOf(request), { replace: true });

/** Loads the name and the trail of a vehicle. @throws CallFailure */
async function loadVehicle(id: string, { from, until }: ReplayRequest): Promise<ReplayedVehicle> {
  const [answer, trail] = await Promise.all([
    answerOf(api.GET('/v1/x/vehicles', { params: { query: { q: id, limit: 1 } } })),
    loadTrail(id, from, until, pointsPerVehicle),
  ]);
  // The same address also answers CSV.
  const [found] = typeof answer === 'string' ? [] : answer.vehicles;
  return { id, plate: found?.plate ?? id, name: found ? `${found.brand} ${found.model}`.trim() : '', trail };
}

/** Loads the vehicles of a replay. @throws CallFailure */
export const loadReplay = (request: ReplayRequest): Promise<readonly ReplayedVehicle[]> =>
  Promise.all(request.ids.map((id) => loadVehicle(id, request)));

const light = [
  '#3350c8',
  '#c02a37',
  '#17794a',
  '#985400',
  '#7a2fa8',
  '#0f7285',
  '#a8327a',
  '#5c6b00',
  '#4f5b70',
  '#7b3f1d',
];
const dark = [
  '#91a7ff',
  '#ff8087',
  '#4ccb8c',
  '#e6a74f',
  '#cf9bff',
  '#5fd0e0',
  '#ff8fd0',
  '#c3d155',
  '#b3bdcc',
  '#d8a07a',
];

/** The colour of the vehicle at a place of the list. */
export const colourOf = (index: number, isDark: boolean): string =>
  (isDark ? dark : light)[index % light.length] ?? '#888';

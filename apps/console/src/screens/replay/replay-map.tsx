import type { Feature, FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect } from 'preact/hooks';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useMap } from '../../parts/map/base-map.ts';
import type { MapPalette } from '../../parts/map/palette.ts';
import { boundsOf } from '../../parts/map/route-layer.ts';
import { linesOf, loadTrail, type Moment, type Trail } from '../../parts/time/trail.ts';
import { isDark } from '../../preferences.ts';
import { address, navigate } from '../../router.ts';
import { texts } from '../../texts/texts.ts';

/** More would neither be told apart on the map nor fit under it. */
export const maxVehicles = 10;
const pointsPerVehicle = 2000;
/** Search results to request for an identifier: VINs and device ids of other vehicles may contain it. */
const maxMatches = 100;
const daySeconds = 86_400;

/** A replay, as in its address. */
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

/** Bounds times in the URL; a Date holds up to 8.64e12 s. */
const maxSeconds = 1e12;

/** Reads the request of the address: the last day without an interval. */
export function readRequest(nowSeconds: number): ReplayRequest {
  const { query } = address.value;
  const ids = [...new Set((query.get('vehicles') ?? '').split(',').filter((id) => /^\d{1,10}$/.test(id)))];
  const read = (name: string, usual: number) => {
    const seconds = Number(query.get(name) ?? Number.NaN);
    return Math.abs(seconds) <= maxSeconds ? Math.floor(seconds) : usual;
  };
  const until = read('until', nowSeconds);
  const from = read('from', until - daySeconds);
  return { ids: ids.slice(0, maxVehicles), from: from < until ? from : until - daySeconds, until };
}

/** The address of a replay. */
const addressOf = ({ ids, from, until }: ReplayRequest): string =>
  `/replay?vehicles=${ids.join(',')}&from=${from}&until=${until}`;

export const open = (request: ReplayRequest): void => navigate(addressOf(request), { replace: true });

/** Loads the name and the trail of a vehicle. @throws CallFailure */
async function loadVehicle(id: string, { from, until }: ReplayRequest): Promise<ReplayedVehicle> {
  const [answer, trail] = await Promise.all([
    answerOf(api.GET('/v1/x/vehicles', { params: { query: { q: id, limit: maxMatches } } })),
    loadTrail(id, from, until, pointsPerVehicle),
  ]);
  // The same address also answers CSV.
  const found = typeof answer === 'string' ? undefined : answer.vehicles.find((vehicle) => vehicle.id === id);
  return { id, plate: found?.plate ?? id, name: found ? `${found.brand} ${found.model}`.trim() : '', trail };
}

/** A replay, and the vehicles that are missing from it. */
export interface Replay {
  readonly vehicles: readonly ReplayedVehicle[];
  /** Ids of vehicles that are deleted or not visible to this person. */
  readonly unknown: readonly string[];
}

/** Loads the visible vehicles of a replay. @throws CallFailure */
export async function loadReplay(request: ReplayRequest): Promise<Replay> {
  const load = async (id: string) =>
    loadVehicle(id, request).catch((error: unknown) => {
      if (error instanceof CallFailure && error.code === 'UNKNOWN_VEHICLE') return id;
      throw error;
    });
  const loaded = await Promise.all(request.ids.map(load));
  return {
    vehicles: loaded.filter((vehicle) => typeof vehicle !== 'string'),
    unknown: loaded.filter((id) => typeof id === 'string'),
  };
}

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

interface ReplayMapOptions {
  readonly vehicles: readonly ReplayedVehicle[];
  /** Where each vehicle is, in the same order. */
  readonly moments: readonly (Moment | undefined)[];
}

const collection = (features: Feature[]): FeatureCollection => ({ type: 'FeatureCollection', features });

function addLayers(map: MapLibreMap, { surface, label, halo }: MapPalette): void {
  for (const name of ['trails', 'stops', 'moments']) map.addSource(name, { type: 'geojson', data: collection([]) });
  const layout = { 'line-cap': 'round', 'line-join': 'round' } as const;
  const colour = ['get', 'colour'] as const;
  map.addLayer({
    ...{ id: 'trails', type: 'line', source: 'trails', layout },
    paint: { 'line-color': [...colour], 'line-width': 3, 'line-opacity': 0.75 },
  });
  map.addLayer({
    ...{ id: 'stops', type: 'circle', source: 'stops' },
    paint: {
      'circle-radius': 4,
      'circle-color': surface,
      'circle-stroke-color': [...colour],
      'circle-stroke-width': 2,
    },
  });
  map.addLayer({
    ...{ id: 'moments', type: 'circle', source: 'moments' },
    paint: {
      'circle-radius': 9,
      'circle-color': [...colour],
      'circle-opacity': ['get', 'opacity'],
      'circle-stroke-color': surface,
      'circle-stroke-width': 2.5,
    },
  });
  map.addLayer({
    ...{ id: 'plates', type: 'symbol', source: 'moments' },
    layout: {
      'text-field': ['get', 'plate'],
      'text-font': ['system-ui'],
      'text-size': 12,
      'text-offset': [0, 1.5],
      'text-allow-overlap': true,
    },
    paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.6 },
  });
}

function drawTrails(map: MapLibreMap, vehicles: readonly ReplayedVehicle[], dark: boolean): void {
  const trails = vehicles.flatMap(({ trail }, index) =>
    linesOf(trail).map(
      (coordinates): Feature => ({
        type: 'Feature',
        properties: { colour: colourOf(index, dark) },
        geometry: { type: 'LineString', coordinates },
      }),
    ),
  );
  const stops = vehicles.flatMap(({ trail }, index) =>
    trail.stops.map(
      ({ longitude, latitude }): Feature => ({
        type: 'Feature',
        properties: { colour: colourOf(index, dark) },
        geometry: { type: 'Point', coordinates: [longitude, latitude] },
      }),
    ),
  );
  void map.getSource<GeoJSONSource>('trails')?.setData(collection(trails));
  void map.getSource<GeoJSONSource>('stops')?.setData(collection(stops));
  const bounds = boundsOf(vehicles.flatMap(({ trail }) => linesOf(trail).flat()));
  if (bounds) map.fitBounds(bounds, { padding: 50, maxZoom: 15, animate: false });
}

function drawMoments(map: MapLibreMap, { vehicles, moments }: ReplayMapOptions, dark: boolean): void {
  const features = moments.flatMap((moment, index): Feature[] => {
    if (!moment) return [];
    const opacity = moment.state === 'unknown' ? 0.35 : 1;
    const properties = { colour: colourOf(index, dark), plate: vehicles[index]?.plate ?? '', opacity };
    const geometry = { type: 'Point' as const, coordinates: [moment.longitude, moment.latitude] };
    return [{ type: 'Feature', properties, geometry }];
  });
  void map.getSource<GeoJSONSource>('moments')?.setData(collection(features));
}

/** The trails of several vehicles, and where each is at one moment; pale where that is not known. */
export function ReplayMap(options: ReplayMapOptions) {
  const { vehicles, moments } = options;
  const { container, map } = useMap(addLayers);
  const dark = isDark();
  useEffect(() => {
    if (map) drawTrails(map, vehicles, dark);
  }, [map, vehicles]);
  useEffect(() => {
    if (map) drawMoments(map, options, dark);
  }, [map, moments]);
  return <section class="map" ref={container} aria-label={texts.value.replay.map} />;
}

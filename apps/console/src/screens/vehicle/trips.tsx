import { type Signal, useSignal } from '@preact/signals';
import type { FeatureCollection } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useMemo } from 'preact/hooks';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { useMap } from '../../parts/map/base-map.ts';
import { addMarkerImages } from '../../parts/map/marker-images.ts';
import type { MapPalette } from '../../parts/map/palette.ts';
import { addRouteLayer, addSnappedLayer, boundsOf, drawLines, type Route } from '../../parts/map/route-layer.ts';
import { type Band, Chart } from '../../parts/time/chart.tsx';
import { PlayBar } from '../../parts/time/play-bar.tsx';
import { linesOf, loadTrail, type Moment, momentAt, type Trail } from '../../parts/time/trail.ts';
import { MileageEntry } from '../../parts/trips/mileage-entry.tsx';
import { preferences } from '../../preferences.ts';
import { address, changeQuery, readSeconds } from '../../router.ts';
import { actingFor, mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import {
  formatClock,
  formatDay,
  formatDistance,
  formatDuration,
  formatNumber,
  formatShown,
  formatSpeed,
  formatTime,
} from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { decimalsOfStep, shownUnit, toShown } from '../../texts/units.ts';
import { loadBreaks, writeEnd } from './series-figures.tsx';

export type Trip = Schema<'Trip'>;

/** Loads the completed trips that started in a week, the newest first. @param until UNIX seconds. @throws CallFailure */
async function loadTrips({ id, appId }: LiveVehicle, until: number): Promise<readonly Trip[]> {
  const query = { from: until - weekSeconds, until, address: true };
  try {
    const call = api.GET('/v1/vehicle/{id}/trips', { params: { path: { id }, query, header: actingFor(appId) } });
    return [...((await answerOf(call)).trips ?? [])].reverse();
  } catch (error) {
    if (error instanceof CallFailure && error.code === 'NO_DATA') return [];
    throw error;
  }
}

const paces = [1, 10, 30, 100] as const;
const maxPoints = 5000;

const intervalOf = ({ timestamp, duration }: Trip) => {
  const from = Math.floor(Date.parse(timestamp) / 1000);
  return { from, until: Math.ceil(from + duration * 60) + 1 };
};

function describeTrip({ distance, duration, average_speed }: Trip, { stops }: Trail): string {
  const { trips: text } = texts.value;
  const stopped = stops.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    formatDistance(distance),
    formatDuration(duration * 60),
    `${text.average} ${formatSpeed(average_speed)}`,
    text.stops(stops.length, formatDuration(stopped)),
  ].join(' · ');
}

/** The speeds over the trip in the chosen unit, with a break at each gap. */
function speedsOf({ points }: Trail): { times: number[]; speeds: (number | null)[] } {
  const line = points.flatMap(({ time, speed, isAfterGap }): [number, number | null][] =>
    isAfterGap
      ? [
          [time - 0.001, null],
          [time, speed],
        ]
      : [[time, speed]],
  );
  const { units } = preferences.value;
  const speeds = line.map(([, speed]) => (speed === null ? null : toShown(speed, 'km/h', units)));
  return { times: line.map(([time]) => time), speeds };
}

/** Loads the lines of a trip that a router has snapped to roads. @throws CallFailure */
async function loadSnapped(id: string, tripId: string): Promise<readonly Route[]> {
  const path = { id, tripId };
  const { geometry } = await answerOf(api.GET('/v1/x/vehicle/{id}/trips/{tripId}/snapped', { params: { path } }));
  return geometry.coordinates.map((line) =>
    line.map(([longitude = 0, latitude = 0]) => [longitude, latitude] as const),
  );
}

const noLines: readonly Route[] = [];

/** Shows the trip snapped to roads, where the platform has a router. */
function SnappedChoice({
  vehicle,
  trip,
  lines,
}: {
  vehicle: LiveVehicle;
  trip: Trip;
  lines: Signal<readonly Route[]>;
}) {
  const { trips: text } = texts.value;
  const { data: map } = useLoad(() => answerOf(api.GET('/v1/x/map')), []);
  const action = useAction();
  useEffect(() => assign(lines, noLines), [trip.trip_id]);
  if (!map?.hasRouter) return null;
  const isOn = lines.value.length > 0;
  const toggle = async () => {
    if (isOn) assign(lines, noLines);
    else await action.run(async () => assign(lines, await loadSnapped(vehicle.id, trip.trip_id)));
  };
  return (
    <div class="snap-choice">
      <Button aria-pressed={isOn} disabled={action.isRunning} onClick={() => void toggle()}>
        {text.snapped}
      </Button>
      <span class="muted" role="status">
        {action.failure ?? (isOn ? text.snappedNote : '')}
      </span>
    </div>
  );
}

/** Opens the entry of a trip in the mileage log, for people who may make one. */
function MileageButton({ vehicle: { id: vehicleId, appId, plate }, trip }: { vehicle: LiveVehicle; trip: Trip }) {
  const isOpen = useSignal(false);
  if (!mayChange()) return null;
  const entered = { appId, vehicleId, plate, tripId: trip.trip_id, time: formatTime(trip.timestamp) };
  const close = () => assign(isOpen, false);
  return (
    <div>
      <Button onClick={() => assign(isOpen, true)}>{texts.value.mileage.open}</Button>
      {isOpen.value && <MileageEntry trip={entered} onEntered={() => undefined} onClose={close} />}
    </div>
  );
}

interface PlayerOptions {
  readonly vehicle: LiveVehicle;
  readonly trip: Trip;
  readonly trail: Trail;
  readonly bands: readonly Band[];
}

function Player({ vehicle, trip, trail, bands }: PlayerOptions) {
  const { trips: text, replay } = texts.value;
  const [first, last] = [trail.points[0]?.time ?? 0, trail.points.at(-1)?.time ?? 0];
  const time = useSignal(first);
  const snapped = useSignal(noLines);
  useEffect(() => assign(time, first), [first]);
  const { units } = preferences.value;
  const { times, speeds } = useMemo(() => speedsOf(trail), [trail, units]);
  const moment = momentAt(trail, time.value);
  const { from, until } = intervalOf(trip);
  return (
    <>
      <div class="trips-map">
        <TripMap trail={trail} moment={moment} snapped={snapped.value} />
      </div>
      <section class="replay" aria-label={text.replay}>
        <PlayBar
          from={first}
          until={last}
          time={time}
          label={text.time}
          note={moment?.speed == null ? '–' : formatSpeed(moment.speed)}
          paces={paces}
        />
        <Chart
          label={text.chart}
          from={first}
          until={last}
          times={times}
          values={speeds}
          format={(speed, step = 1) => formatShown(speed, shownUnit('km/h', units), decimalsOfStep(step))}
          height={130}
          bands={bands}
          isFromZero
          time={time.value}
          onPoint={(at) => assign(time, at)}
        />
        <SnappedChoice vehicle={vehicle} trip={trip} lines={snapped} />
        <p class="muted">
          {`${describeTrip(trip, trail)} · `}
          <a href={`/replay?vehicles=${vehicle.id}&from=${from}&until=${until}`}>{replay.withOthers}</a>
        </p>
        <MileageButton vehicle={vehicle} trip={trip} />
      </section>
    </>
  );
}

/** A trip on the map and as a chart of speed that point at the same moment. */
function Replay({ vehicle, trip }: { vehicle: LiveVehicle; trip: Trip }) {
  const { data, failure, reload } = useLoad(async () => {
    const { from, until } = intervalOf(trip);
    const [trail, { bands }] = await Promise.all([
      loadTrail(vehicle.id, from, until, maxPoints),
      loadBreaks(vehicle.id, from, until),
    ]);
    return { trail, bands };
  }, [vehicle.id, trip.trip_id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.trail.points.length === 0) {
    return (
      <>
        <Empty title={texts.value.trips.noPositions} />
        <section class="replay">
          <MileageButton vehicle={vehicle} trip={trip} />
        </section>
      </>
    );
  }
  return <Player vehicle={vehicle} trip={trip} {...data} />;
}

interface TripMapOptions {
  readonly trail: Trail;
  readonly moment: Moment | undefined;
  /** Lines that a router has computed. */
  readonly snapped: readonly Route[];
}

const points = (features: FeatureCollection['features']): FeatureCollection => ({
  type: 'FeatureCollection',
  features,
});

function pointOf({ longitude, latitude }: { longitude: number; latitude: number }, properties: object) {
  const geometry = { type: 'Point' as const, coordinates: [longitude, latitude] };
  return { type: 'Feature' as const, geometry, properties };
}

function addMarkers(map: MapLibreMap, palette: MapPalette): void {
  addMarkerImages(map, palette);
  for (const name of ['stops', 'vehicle']) map.addSource(name, { type: 'geojson', data: points([]) });
  map.addLayer({
    id: 'stops',
    type: 'symbol',
    source: 'stops',
    layout: { 'icon-image': 'parked', 'icon-allow-overlap': true },
  });
  map.addLayer({
    id: 'vehicle',
    type: 'symbol',
    source: 'vehicle',
    layout: {
      'icon-image': 'moving',
      'icon-size': 1.25,
      'icon-rotate': ['get', 'angle'],
      'icon-rotation-alignment': 'map',
      'icon-allow-overlap': true,
      'icon-ignore-placement': true,
    },
  });
}

/** A trip on the map, with its stops and the vehicle at one moment. */
function TripMap({ trail, moment, snapped }: TripMapOptions) {
  const { container, map } = useMap((created, palette) => {
    addRouteLayer(created, palette);
    addSnappedLayer(created, palette);
    addMarkers(created, palette);
  });
  useEffect(() => {
    if (map) drawLines(map, snapped, 'snapped');
  }, [map, snapped]);
  useEffect(() => {
    if (!map) return;
    const lines = linesOf(trail);
    drawLines(map, lines);
    void map.getSource<GeoJSONSource>('stops')?.setData(points(trail.stops.map((stop) => pointOf(stop, {}))));
    const bounds = boundsOf(lines.flat());
    if (bounds) map.fitBounds(bounds, { padding: 50, maxZoom: 15, animate: false });
  }, [map, trail]);
  useEffect(() => {
    const features = moment ? [pointOf(moment, { angle: moment.angle })] : [];
    void map?.getSource<GeoJSONSource>('vehicle')?.setData(points(features));
  }, [map, moment]);
  return <section class="map" ref={container} aria-label={texts.value.trips.map} />;
}

const weekSeconds = 7 * 86_400;
/** The end of the latest week is at most this old. */
const recentSeconds = 3600;

function Totals({ trips }: { trips: readonly Trip[] }) {
  const { trips: text } = texts.value;
  const sum = (of: (trip: Trip) => number) => trips.reduce((total, trip) => total + of(trip), 0);
  const energy = sum(({ electric_consumption }) => electric_consumption);
  const fuel = sum(({ fuel_consumption }) => fuel_consumption);
  const used = energy > 0 ? `${formatNumber(energy, 1)} kWh` : `${formatNumber(fuel, 1)} l`;
  return (
    <dl class="trips-totals">
      <div>
        <dt>{text.distance}</dt>
        <dd>{formatDistance(sum(({ distance }) => distance))}</dd>
      </div>
      <div>
        <dt>{text.driving}</dt>
        <dd>{formatDuration(sum(({ duration }) => duration) * 60)}</dd>
      </div>
      <div>
        <dt>{text.used}</dt>
        <dd>{energy > 0 || fuel > 0 ? used : '–'}</dd>
      </div>
    </dl>
  );
}

interface TripListOptions {
  readonly trips: readonly Trip[];
  readonly selected: Trip | undefined;
  readonly onSelect: (trip: Trip) => void;
}

function TripRow({ trip, isSelected, onSelect }: { trip: Trip; isSelected: boolean; onSelect: () => void }) {
  const { timestamp, distance, duration, average_speed, first_position: first, last_position: last } = trip;
  const places = [first?.address, last?.address].filter((place) => place !== undefined);
  const end = Date.parse(timestamp) + duration * 60_000;
  return (
    <li>
      <button type="button" class="trip-row" aria-current={isSelected} onClick={onSelect}>
        <strong>{`${formatClock(timestamp)} – ${formatClock(end)}`}</strong>
        <span class="number">{formatDistance(distance)}</span>
        <small>{formatDuration(duration * 60)}</small>
        <small class="number">{formatSpeed(average_speed)}</small>
        {places.length > 0 && <small class="trip-places">{[...new Set(places)].join(' – ')}</small>}
      </button>
    </li>
  );
}

/** The trips by the day on which they started, newest first. */
function TripList({ trips, selected, onSelect }: TripListOptions) {
  const days = [...new Set(trips.map(({ timestamp }) => formatDay(timestamp)))];
  const { today } = texts.value.trips;
  const thisDay = formatDay(Date.now());
  return (
    <div class="trips-list">
      {days.map((day) => (
        <section key={day}>
          <h2>{day === thisDay ? today : day}</h2>
          <ul aria-label={day}>
            {trips
              .filter(({ timestamp }) => formatDay(timestamp) === day)
              .map((trip) => (
                <TripRow
                  key={trip.trip_id}
                  trip={trip}
                  isSelected={trip === selected}
                  onSelect={() => onSelect(trip)}
                />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** The trips of a vehicle, a week at a time, with their replay. */
export function Trips({ vehicle }: { vehicle: LiveVehicle }) {
  const { trips: text } = texts.value;
  const selected = address.value.query.get('trip');
  const end = readSeconds('until');
  const latest = useMemo(() => Math.floor(Date.now() / 1000), [end === undefined]);
  const until = end ?? latest;
  const { data, failure, reload } = useLoad(() => loadTrips(vehicle, until), [vehicle.id, until]);
  const trip = selected === null ? data?.[0] : data?.find(({ trip_id }) => trip_id === selected);
  const move = (seconds: number) => {
    changeQuery({ until: writeEnd(until + seconds, weekSeconds), trip: undefined });
  };
  const list = () => {
    if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
    if (data.length === 0) return <Empty title={text.none} />;
    // The address includes the week, so that it still finds the trip later.
    const select = ({ trip_id }: Trip) => changeQuery({ until: String(until), trip: trip_id });
    return <TripList trips={data} selected={trip} onSelect={select} />;
  };
  return (
    <div class="trips">
      <div class="trips-side">
        <div class="trips-period">
          <Button onClick={() => move(-weekSeconds)}>{text.earlier}</Button>
          <span>{`${formatDay((until - weekSeconds) * 1000)} – ${formatDay(until * 1000)}`}</span>
          <Button
            disabled={end === undefined || Date.now() / 1000 - until < recentSeconds}
            onClick={() => move(weekSeconds)}
          >
            {text.later}
          </Button>
        </div>
        {data && <Totals trips={data} />}
        {list()}
      </div>
      <div class="trips-main">{trip ? <Replay vehicle={vehicle} trip={trip} /> : <Empty title={text.choose} />}</div>
    </div>
  );
}

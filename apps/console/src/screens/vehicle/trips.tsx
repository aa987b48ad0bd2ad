import './trips.css';
import { useSignal } from '@preact/signals';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import {
  formatDay,
  formatDistance,
  formatDuration,
  formatNumber,
  formatSpeed,
  formatTime,
} from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Replay } from './replay.tsx';
import { loadTrips, type Trip } from './trip-data.ts';

const weekMs = 7 * 86_400_000;

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

function TripRow({ trip, isSelected, onSelect }: { trip: Trip; isSelected: boolean; onSelect: () => void }) {
  const { timestamp, distance, duration, average_speed } = trip;
  return (
    <li>
      <button type="button" class="trip-row" aria-current={isSelected} onClick={onSelect}>
        <strong>{formatTime(timestamp)}</strong>
        <span class="number">{formatDistance(distance)}</span>
        <small>{formatDuration(duration * 60)}</small>
        <small class="number">{formatSpeed(average_speed)}</small>
      </button>
    </li>
  );
}

/** The trips of a vehicle, a week at a time, with their replay. */
export function Trips({ vehicle }: { vehicle: LiveVehicle }) {
  const { trips: text } = texts.value;
  const weeksAgo = useSignal(0);
  const selected = useSignal<string | undefined>(undefined);
  const untilMs = Date.now() - weeksAgo.value * weekMs;
  const { data, failure, reload } = useLoad(
    () => loadTrips(vehicle, untilMs - weekMs, untilMs),
    [vehicle.id, weeksAgo.value],
  );
  const trip = data?.find(({ trip_id }) => trip_id === selected.value) ?? data?.[0];
  const move = (weeks: number) => {
    weeksAgo.value = Math.max(0, weeksAgo.value + weeks);
    selected.value = undefined;
  };
  const list = () => {
    if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
    if (data.length === 0) return <Empty title={text.none} />;
    return (
      <ul aria-label={text.list}>
        {data.map((one) => (
          <TripRow
            key={one.trip_id}
            trip={one}
            isSelected={one === trip}
            onSelect={() => {
              selected.value = one.trip_id;
            }}
          />
        ))}
      </ul>
    );
  };
  return (
    <div class="trips">
      <div class="trips-side">
        <div class="trips-period">
          <button type="button" class="button" onClick={() => move(1)}>
            {text.earlier}
          </button>
          <span>{`${formatDay(untilMs - weekMs)} – ${formatDay(untilMs)}`}</span>
          <button type="button" class="button" disabled={weeksAgo.value === 0} onClick={() => move(-1)}>
            {text.later}
          </button>
        </div>
        {data && <Totals trips={data} />}
        <div class="trips-list">{list()}</div>
      </div>
      <div class="trips-main">{trip ? <Replay vehicle={vehicle} trip={trip} /> : <Empty title={text.choose} />}</div>
    </div>
  );
}

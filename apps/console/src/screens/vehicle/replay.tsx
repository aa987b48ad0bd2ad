import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Chart } from '../../parts/chart.tsx';
import { formatDistance, formatDuration, formatSpeed, formatTime } from '../../parts/format.ts';
import { Empty, LoadFailure, Loading } from '../../parts/placeholders.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { texts } from '../../texts/texts.ts';
import { findStops, loadMoments, type Moment, momentAt, type Stop, type Trip } from './trip-data.ts';
import { TripMap } from './trip-map.tsx';

/** Seconds of the trip in one second of the replay. */
const paces = [1, 10, 30, 100] as const;
const usualPace = 30;

/** Moves the time on while it plays; stops at the end. */
function usePlay(untilSeconds: number, time: { value: number }) {
  const isPlaying = useSignal(false);
  const pace = useSignal<number>(usualPace);
  useEffect(() => {
    if (!isPlaying.value) return undefined;
    let before = performance.now();
    let frame = 0;
    const step = (at: number) => {
      time.value = Math.min(untilSeconds, time.value + ((at - before) / 1000) * pace.value);
      before = at;
      if (time.value >= untilSeconds) isPlaying.value = false;
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying.value, untilSeconds]);
  return { isPlaying, pace };
}

interface ReplayBarOptions {
  readonly moments: readonly Moment[];
  readonly time: Signal<number>;
}

/** Plays the trip, and moves to any moment of it. */
function ReplayBar({ moments, time }: ReplayBarOptions) {
  const { trips: text } = texts.value;
  const [first, last] = [moments[0]?.time ?? 0, moments.at(-1)?.time ?? 0];
  const { isPlaying, pace } = usePlay(last, time);
  const speed = momentAt(moments, time.value)?.speed;
  const toggle = () => {
    if (time.value >= last) time.value = first;
    isPlaying.value = !isPlaying.value;
  };
  return (
    <div class="replay-bar">
      <button type="button" class="button" aria-pressed={isPlaying.value} onClick={toggle}>
        {isPlaying.value ? text.pause : text.play}
      </button>
      <input
        type="range"
        aria-label={text.time}
        aria-valuetext={formatTime(time.value * 1000)}
        min={first}
        max={last}
        step={1}
        value={time.value}
        onInput={({ currentTarget }) => {
          time.value = Number(currentTarget.value);
        }}
      />
      <output>{`${formatTime(time.value * 1000)} · ${speed == null ? '–' : formatSpeed(speed)}`}</output>
      <select
        class="input"
        aria-label={text.pace}
        value={pace.value}
        onChange={({ currentTarget }) => {
          pace.value = Number(currentTarget.value);
        }}
      >
        {paces.map((one) => (
          <option key={one} value={one}>
            {`${one} ×`}
          </option>
        ))}
      </select>
    </div>
  );
}

function describeTrip({ distance, duration, average_speed }: Trip, stops: readonly Stop[]): string {
  const { trips: text } = texts.value;
  const stopped = stops.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    formatDistance(distance),
    formatDuration(duration * 60),
    `${text.average} ${formatSpeed(average_speed)}`,
    text.stops(stops.length, formatDuration(stopped)),
  ].join(' · ');
}

function Player({ moments, trip }: { moments: readonly Moment[]; trip: Trip }) {
  const { trips: text } = texts.value;
  const first = moments[0]?.time ?? 0;
  const time = useSignal(first);
  useEffect(() => {
    time.value = first;
  }, [first]);
  const route = useMemo(() => moments.map(({ longitude, latitude }) => [longitude, latitude] as const), [moments]);
  const stops = useMemo(() => findStops(moments), [moments]);
  const times = useMemo(() => moments.map((moment) => moment.time), [moments]);
  const speeds = useMemo(() => moments.map(({ speed }) => speed), [moments]);
  return (
    <>
      <div class="trips-map">
        <TripMap route={route} stops={stops} moment={momentAt(moments, time.value)} />
      </div>
      <section class="replay" aria-label={text.replay}>
        <ReplayBar moments={moments} time={time} />
        <Chart
          label={text.chart}
          times={times}
          values={speeds}
          format={formatSpeed}
          height={130}
          isFromZero
          time={time.value}
          onPoint={(at) => {
            time.value = at;
          }}
        />
        <p class="muted">{describeTrip(trip, stops)}</p>
      </section>
    </>
  );
}

/** A trip on the map and as a chart of speed that point at the same moment. */
export function Replay({ vehicle, trip }: { vehicle: LiveVehicle; trip: Trip }) {
  const { data, failure, reload } = useLoad(() => loadMoments(vehicle, trip), [vehicle.id, trip.trip_id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={texts.value.trips.noPositions} />;
  return <Player moments={data} trip={trip} />;
}

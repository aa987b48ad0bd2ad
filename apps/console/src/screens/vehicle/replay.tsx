import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { type Band, Chart } from '../../parts/time/chart.tsx';
import { PlayBar } from '../../parts/time/play-bar.tsx';
import { loadTrail, momentAt, type Trail } from '../../parts/time/trail.ts';
import { formatDistance, formatDuration, formatSpeed } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { loadBreaks } from './series-data.ts';
import type { Trip } from './trip-data.ts';
import { TripMap } from './trip-map.tsx';

const paces = [1, 10, 30, 100] as const;
const mostPoints = 5000;

const boundsOf = ({ timestamp, duration }: Trip) => {
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

/** The speeds over the trip, with a break at each gap. */
function speedsOf({ points }: Trail): { times: number[]; speeds: (number | null)[] } {
  const line = points.flatMap(({ time, speed, isAfterGap }): [number, number | null][] =>
    isAfterGap
      ? [
          [time - 0.001, null],
          [time, speed],
        ]
      : [[time, speed]],
  );
  return { times: line.map(([time]) => time), speeds: line.map(([, speed]) => speed) };
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
  useEffect(() => {
    time.value = first;
  }, [first]);
  const { times, speeds } = useMemo(() => speedsOf(trail), [trail]);
  const moment = momentAt(trail, time.value);
  const { from, until } = boundsOf(trip);
  return (
    <>
      <div class="trips-map">
        <TripMap trail={trail} moment={moment} />
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
          times={times}
          values={speeds}
          format={formatSpeed}
          height={130}
          bands={bands}
          isFromZero
          time={time.value}
          onPoint={(at) => {
            time.value = at;
          }}
        />
        <p class="muted">
          {`${describeTrip(trip, trail)} · `}
          <a href={`/replay?vehicles=${vehicle.id}&from=${from}&until=${until}`}>{replay.withOthers}</a>
        </p>
      </section>
    </>
  );
}

/** A trip on the map and as a chart of speed that point at the same moment. */
export function Replay({ vehicle, trip }: { vehicle: LiveVehicle; trip: Trip }) {
  const { data, failure, reload } = useLoad(async () => {
    const { from, until } = boundsOf(trip);
    const [trail, { bands }] = await Promise.all([
      loadTrail(vehicle.id, from, until, mostPoints),
      loadBreaks(vehicle.id, from, until),
    ]);
    return { trail, bands };
  }, [vehicle.id, trip.trip_id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.trail.points.length === 0) return <Empty title={texts.value.trips.noPositions} />;
  return <Player vehicle={vehicle} trip={trip} {...data} />;
}

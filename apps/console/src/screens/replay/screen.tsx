import './replay.css';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useLoad } from '../../api/use-load.ts';
import { VehiclePicker } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { PlayBar } from '../../parts/time/play-bar.tsx';
import { type Moment, momentAt } from '../../parts/time/trail.ts';
import { isDark, preferences } from '../../preferences.ts';
import { address } from '../../router.ts';
import { assign } from '../../signals.ts';
import { formatDistance, formatDuration, formatSpeed } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import {
  colourOf,
  loadReplay,
  maxVehicles,
  open,
  type ReplayedVehicle,
  ReplayMap,
  type ReplayRequest,
  readRequest,
} from './replay-map.tsx';

const paces = [1, 10, 30, 100, 300, 1000] as const;

/** Writes a time for an input of the type datetime-local, in the zone of the page. */
function toInput(seconds: number): string {
  const offsetMinutes = preferences.value.zone === 'utc' ? 0 : new Date(seconds * 1000).getTimezoneOffset();
  return new Date((seconds - offsetMinutes * 60) * 1000).toISOString().slice(0, 16);
}

const fromInput = (text: string): number =>
  Math.floor(Date.parse(preferences.value.zone === 'utc' ? `${text}Z` : text) / 1000);

function Interval({ request }: { request: ReplayRequest }) {
  const { replay: text } = texts.value;
  const change = (bound: 'from' | 'until', value: string) => {
    const seconds = fromInput(value);
    if (Number.isFinite(seconds)) open({ ...request, [bound]: seconds });
  };
  return (
    <>
      {(['from', 'until'] as const).map((bound) => (
        <label key={bound} class="field">
          <span>{text[bound]}</span>
          <input
            class="input"
            type="datetime-local"
            value={toInput(request[bound])}
            onChange={({ currentTarget }) => change(bound, currentTarget.value)}
          />
        </label>
      ))}
    </>
  );
}

interface RowOptions {
  readonly vehicle: ReplayedVehicle;
  readonly moment: Moment | undefined;
  readonly colour: string;
  readonly onRemove: () => void;
}

function VehicleRow({ vehicle, moment, colour, onRemove }: RowOptions) {
  const { replay: text, states } = texts.value;
  const { id, plate, name, trail } = vehicle;
  const { distance, movingSeconds, maximumSpeed } = trail.totals;
  const stopped = trail.stops.reduce((sum, { seconds }) => sum + seconds, 0);
  const state = moment?.state ?? 'unknown';
  return (
    <tr>
      <th scope="row">
        <span class="replay-colour" style={{ background: colour }} aria-hidden="true" />
        <a href={`/vehicles/${id}/trips`}>{plate}</a>
        <span class="muted">{` ${name}`}</span>
      </th>
      <td>{state === 'unknown' ? text.noData : states[state]}</td>
      <td class="number">{moment?.speed == null ? '–' : formatSpeed(moment.speed)}</td>
      <td class="number">{formatDistance(distance)}</td>
      <td class="number">{formatDuration(movingSeconds)}</td>
      <td class="number">{formatSpeed(maximumSpeed)}</td>
      <td>{texts.value.trips.stops(trail.stops.length, formatDuration(stopped))}</td>
      <td>
        <Button kind="plain" onClick={onRemove}>
          {text.remove}
        </Button>
      </td>
    </tr>
  );
}

function Table({
  vehicles,
  moments,
  request,
}: {
  vehicles: readonly ReplayedVehicle[];
  moments: readonly (Moment | undefined)[];
  request: ReplayRequest;
}) {
  const { replay: text } = texts.value;
  const dark = isDark();
  const heads = [text.state, text.speed, text.distance, text.driving, text.fastest, text.stops];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <section class="table-frame" tabIndex={0} aria-label={text.vehicles}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{text.vehicle}</th>
            {heads.map((head, index) => (
              <th key={head} scope="col" class={index > 0 && index < 5 ? 'number' : ''}>
                {head}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {vehicles.map((vehicle, index) => (
            <VehicleRow
              key={vehicle.id}
              vehicle={vehicle}
              moment={moments[index]}
              colour={colourOf(index, dark)}
              onRemove={() => open({ ...request, ids: request.ids.filter((id) => id !== vehicle.id) })}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Player({ vehicles, request }: { vehicles: readonly ReplayedVehicle[]; request: ReplayRequest }) {
  const { replay: text } = texts.value;
  const times = vehicles.flatMap(({ trail: { points } }) => [points[0]?.time ?? [], points.at(-1)?.time ?? []].flat());
  const from = times.length === 0 ? request.from : Math.floor(Math.min(...times));
  const until = times.length === 0 ? request.until : Math.ceil(Math.max(...times));
  // Of an alarm, for example.
  const at = Number(address.value.query.get('at'));
  const start = at >= from && at <= until ? at : from;
  const time = useSignal(start);
  useEffect(() => assign(time, start), [start, until]);
  const moments = useMemo(() => vehicles.map(({ trail }) => momentAt(trail, time.value)), [vehicles, time.value]);
  return (
    <>
      <div class="replay-map">
        <ReplayMap vehicles={vehicles} moments={moments} />
        {times.length === 0 && <p class="notice late">{text.noPositions}</p>}
      </div>
      <div class="replay-controls">
        <PlayBar from={from} until={until} time={time} label={text.time} paces={paces} />
        <Table vehicles={vehicles} moments={moments} request={request} />
      </div>
    </>
  );
}

/** Several vehicles replayed at once: one time, one map, a trail of its own colour for each. */
export function ReplayScreen() {
  const { replay: text } = texts.value;
  const opened = useMemo(() => Math.floor(Date.now() / 1000), []);
  const request = readRequest(opened);
  const { ids, from, until } = request;
  const { data, failure, reload } = useLoad(() => loadReplay(request), [from, until], [ids.join()]);
  const content = () => {
    if (ids.length === 0) return <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>;
    if (failure) return <LoadFailure message={failure} retry={reload} />;
    return data ? <Player vehicles={data.vehicles} request={request} /> : <Loading />;
  };
  return (
    <div class="replay-screen">
      <header class="replay-bar">
        <Heading text={text.title} />
        <Interval request={request} />
        {ids.length < maxVehicles ? (
          <VehiclePicker label={text.add} onPick={({ id }) => open({ ...request, ids: [...new Set([...ids, id])] })} />
        ) : (
          <p class="muted">{text.full(maxVehicles)}</p>
        )}
        {data && data.unknown.length > 0 && (
          <p class="notice late" role="status">
            {text.unknown(data.unknown.join(', '))}
          </p>
        )}
      </header>
      {content()}
    </div>
  );
}

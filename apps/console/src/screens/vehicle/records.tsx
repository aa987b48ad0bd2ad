import { useSignal } from '@preact/signals';
import { answerOf, api, messageOf, type Schema } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { formatFull, formatNumber, formatTime } from '../../parts/format.ts';
import { LoadFailure, Loading } from '../../parts/placeholders.tsx';
import { QuarantineList } from '../../parts/quarantine/quarantine-list.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { actingFor, isOperator } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { TableSection } from './access.tsx';

type Reading = Schema<'RecordedReading'>;

const readingsPerPage = 50;
const gapDays = 30;

async function load({ id, appId }: LiveVehicle) {
  const path = { id };
  const [{ gaps }, { links }, { readings }] = await Promise.all([
    answerOf(
      api.GET('/v1/x/vehicle/{id}/gaps', {
        params: { path, query: { days: gapDays }, header: actingFor(appId) },
      }),
    ),
    answerOf(api.GET('/v1/x/vehicle/{id}/links', { params: { path } })),
    loadReadings(id, undefined),
  ]);
  return { gaps, links, readings };
}

async function loadReadings(id: string, before: string | undefined): Promise<{ readings: readonly Reading[] }> {
  const query = { limit: readingsPerPage, ...(before !== undefined && { before }) };
  return answerOf(api.GET('/v1/x/vehicle/{id}/readings', { params: { path: { id }, query } }));
}

function Gaps({ gaps }: { gaps: readonly Schema<'Gap'>[] }) {
  const { records: text } = texts.value;
  return (
    <TableSection
      title={text.gaps}
      none={text.noGaps}
      heads={[text.noticed, text.missing, text.numbers, text.state, text.device]}
      rows={gaps.map(({ deviceId, fromSequence, untilSequence, missing, state, since, closedAt }) => (
        <tr key={`${deviceId} ${fromSequence} ${since}`}>
          <td title={formatFull(since)}>{formatTime(since)}</td>
          <td class="number">{formatNumber(missing)}</td>
          <td>{fromSequence === untilSequence ? fromSequence : `${fromSequence} – ${untilSequence}`}</td>
          <td>
            <span class={`outcome ${state === 'ARRIVED' ? 'acknowledged' : 'unknown'}`}>{text.gapStates[state]}</span>
            {closedAt && <span class="muted">{` ${formatTime(closedAt)}`}</span>}
          </td>
          <td>{deviceId}</td>
        </tr>
      ))}
    />
  );
}

function Links({ links }: { links: readonly Schema<'VehicleLink'>[] }) {
  const { records: text } = texts.value;
  return (
    <TableSection
      title={text.links}
      none={text.noLinks}
      heads={[text.device, text.from, text.until]}
      rows={links.map(({ deviceId, from, until }) => (
        <tr key={`${deviceId} ${from ?? ''}`}>
          <th scope="row">{deviceId}</th>
          <td>{from === undefined ? text.always : formatTime(from)}</td>
          <td>{until === undefined ? text.now : formatTime(until)}</td>
        </tr>
      ))}
    />
  );
}

function ReadingRow({ reading }: { reading: Reading }) {
  const { records: text } = texts.value;
  const { time, receivedAt, deviceId, sequence, ...groups } = reading;
  const about = [deviceId, ...(sequence === undefined ? [] : [`${text.number} ${sequence}`])].join(' · ');
  return (
    <li>
      <details class="reading">
        <summary>
          <strong title={formatFull(time)}>{formatTime(time)}</strong>
          <span class="muted">{`${text.received} ${formatTime(receivedAt)}`}</span>
          <span class="muted">{about}</span>
          <span>{Object.keys(groups).join(', ')}</span>
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
        <pre class="code" tabIndex={0}>
          {JSON.stringify(reading, null, 2)}
        </pre>
      </details>
    </li>
  );
}

function Readings({ vehicleId, first }: { vehicleId: string; first: readonly Reading[] }) {
  const { records: text } = texts.value;
  const older = useSignal<readonly Reading[]>([]);
  const isComplete = useSignal(first.length < readingsPerPage);
  const failure = useSignal<string | undefined>(undefined);
  const readings = [...first, ...older.value];
  const loadOlder = async () => {
    try {
      const page = (await loadReadings(vehicleId, readings.at(-1)?.time)).readings;
      older.value = [...older.value, ...page];
      isComplete.value = page.length < readingsPerPage;
      failure.value = undefined;
    } catch (error) {
      failure.value = messageOf(error);
    }
  };
  return (
    <section class="stack" aria-label={text.readings}>
      <h2>{text.readings}</h2>
      <p class="muted">{text.readingsText(readingsPerPage)}</p>
      {readings.length === 0 ? (
        <p class="muted">{text.noReadings}</p>
      ) : (
        <ol class="card">
          {readings.map((reading) => (
            <ReadingRow key={reading.time} reading={reading} />
          ))}
        </ol>
      )}
      {failure.value && <p class="notice wrong">{failure.value}</p>}
      {!isComplete.value && (
        <button type="button" class="button" onClick={() => void loadOlder()}>
          {text.older}
        </button>
      )}
    </section>
  );
}

/** What the platform received for a vehicle and from which device: gaps, links in time, readings as stored, quarantine. */
export function Records({ vehicle }: { vehicle: LiveVehicle }) {
  const { pipeline } = texts.value;
  const { data, failure, reload } = useLoad(() => load(vehicle), [vehicle.id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <div class="page">
      <Gaps gaps={data.gaps} />
      <Links links={data.links} />
      {isOperator() && (
        <section class="stack" aria-label={pipeline.quarantine}>
          <h2>{pipeline.quarantine}</h2>
          <QuarantineList search={{ vehicleId: vehicle.id }} />
        </section>
      )}
      <Readings vehicleId={vehicle.id} first={data.readings} />
    </div>
  );
}

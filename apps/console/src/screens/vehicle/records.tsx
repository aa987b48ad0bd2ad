import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { type Page, usePages } from '../../api/use-pages.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Button } from '../../parts/layout/button.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { QuarantineList } from '../../parts/quarantine/quarantine-list.tsx';
import { actingFor, isOperator } from '../../session.ts';
import { formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { TableSection } from './table-section.tsx';
import { groupName } from './values.tsx';

type Reading = Schema<'RecordedReading'>;

const readingsPerPage = 50;
const gapDays = 30;

async function load({ id, appId }: LiveVehicle) {
  const path = { id };
  const params = { path, query: { days: gapDays }, header: actingFor(appId) };
  const [{ gaps }, { links }] = await Promise.all([
    answerOf(api.GET('/v1/x/vehicle/{id}/gaps', { params })),
    answerOf(api.GET('/v1/x/vehicle/{id}/links', { params: { path } })),
  ]);
  return { gaps, links };
}

async function loadReadings(id: string, before: string | undefined): Promise<Page<Reading>> {
  const query = { limit: readingsPerPage, ...(before !== undefined && { before }) };
  const call = api.GET('/v1/x/vehicle/{id}/readings', { params: { path: { id }, query } });
  const { readings } = await answerOf(call);
  return {
    rows: readings,
    total: undefined,
    after: readings.length < readingsPerPage ? undefined : readings.at(-1)?.time,
  };
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
          <span>{Object.keys(groups).map(groupName).join(', ')}</span>
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
        <pre class="code" tabIndex={0}>
          {JSON.stringify(reading, null, 2)}
        </pre>
      </details>
    </li>
  );
}

function Readings({ vehicleId }: { vehicleId: string }) {
  const { records: text } = texts.value;
  const { rows, failure, loadNext, reload } = usePages((before) => loadReadings(vehicleId, before), [vehicleId]);
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <section class="stack" aria-label={text.readings}>
      <h2>{text.readings}</h2>
      <p class="muted">{text.readingsText(readingsPerPage)}</p>
      {rows.rows.length === 0 ? (
        <p class="muted">{text.noReadings}</p>
      ) : (
        <ol class="card">
          {rows.rows.map((reading) => (
            <ReadingRow key={reading.time} reading={reading} />
          ))}
        </ol>
      )}
      {failure && <p class="notice wrong">{failure}</p>}
      {rows.after !== undefined && <Button onClick={loadNext}>{text.older}</Button>}
    </section>
  );
}

/** The uploads of a vehicle and their devices: gaps, links in time, readings as stored, quarantine. */
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
      <Readings vehicleId={vehicle.id} />
    </div>
  );
}

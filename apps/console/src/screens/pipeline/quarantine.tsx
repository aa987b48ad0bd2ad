import { useSignal } from '@preact/signals';
import { answerOf, api, messageOf, type Schema } from '../../api/client.ts';
import { formatBytes, formatFull, formatTime } from '../../parts/format.ts';
import { Empty, LoadFailure, Loading } from '../../parts/placeholders.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { mayChange } from '../../session.ts';
import { texts } from '../../texts/texts.ts';

type Upload = Schema<'QuarantinedUpload'>;

const mostRows = 200;

function faultText({ reason, field, message }: Upload['faults'][number]): string {
  return [reason, field, message].filter((part) => part !== undefined).join(' · ');
}

function Row({ upload, onReplay }: { upload: Upload; onReplay: () => void }) {
  const { pipeline: text } = texts.value;
  const [first, ...others] = upload.faults;
  return (
    <tr>
      <td title={formatFull(upload.receivedAt)}>{formatTime(upload.receivedAt)}</td>
      <td>{upload.deviceId}</td>
      <td>
        {first ? faultText(first) : ''}
        {others.length > 0 && <span class="muted">{` +${others.length}`}</span>}
      </td>
      <td class="number">{formatBytes(upload.bytes)}</td>
      <td class="number">{upload.timesSeen}</td>
      <td>
        <button type="button" class="button" disabled={!mayChange()} onClick={onReplay}>
          {text.replay}
        </button>
      </td>
    </tr>
  );
}

async function load(): Promise<readonly Upload[]> {
  const { quarantine } = await answerOf(api.GET('/v1/x/admin/quarantine', { params: { query: { limit: 10_000 } } }));
  return quarantine
    .filter(({ resolvedAt }) => resolvedAt === null)
    .slice(-mostRows)
    .reverse();
}

/** Uploads that could not be stored, with their faults; a replay stores what can be stored by now. */
export function Quarantine() {
  const { pipeline: text } = texts.value;
  const { data, failure, reload } = useLoad(load, []);
  const outcome = useSignal<string | undefined>(undefined);
  const replay = async (id: string) => {
    try {
      await answerOf(api.POST('/v1/x/admin/quarantine/replay', { body: { ids: [id] } }));
      outcome.value = text.replayed;
    } catch (error) {
      outcome.value = messageOf(error);
    }
    reload();
  };
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      <div role="status">{outcome.value && <p class="notice">{outcome.value}</p>}</div>
      {data.length === 0 ? (
        <Empty title={text.noQuarantine} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section class="card table-frame" tabIndex={0} aria-label={text.quarantine}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.received}</th>
                <th scope="col">{text.device}</th>
                <th scope="col">{text.fault}</th>
                <th scope="col" class="number">
                  {text.size}
                </th>
                <th scope="col" class="number">
                  {text.seen}
                </th>
                <td />
              </tr>
            </thead>
            <tbody>
              {data.map((upload) => (
                <Row key={upload.id} upload={upload} onReplay={() => void replay(upload.id)} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

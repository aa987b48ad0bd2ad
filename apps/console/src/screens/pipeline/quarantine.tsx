import { useSignal } from '@preact/signals';
import { answerOf, api, messageOf } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { QuarantineList } from '../../parts/quarantine/quarantine-list.tsx';
import { address, navigate } from '../../router.ts';
import { mayChange } from '../../session.ts';
import { formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

const mostReplayed = 1000;

async function load() {
  return (await answerOf(api.GET('/v1/x/admin/quarantine/reasons'))).reasons;
}

/** Replays the newest open uploads with a reason. @returns their number */
async function replayReason(reason: string): Promise<number> {
  const query = { reason, open: true, order: 'newest' as const, limit: mostReplayed };
  const { quarantine } = await answerOf(api.GET('/v1/x/admin/quarantine', { params: { query } }));
  const ids = quarantine.map(({ id }) => id);
  if (ids.length === 0) return 0;
  return (await answerOf(api.POST('/v1/x/admin/quarantine/replay', { body: { ids } }))).replayed;
}

/** Uploads that could not be stored, by the reason; each is mended and replayed in its place. */
export function Quarantine() {
  const { pipeline: text, quarantine } = texts.value;
  const { data, failure, reload } = useLoad(load, []);
  const outcome = useSignal<string | undefined>(undefined);
  const reason = address.value.query.get('reason') ?? undefined;
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const choose = (chosen: string | undefined) =>
    navigate(chosen === undefined ? '/pipeline' : `/pipeline?${new URLSearchParams({ reason: chosen })}`, {
      replace: true,
    });
  const replayAll = async (chosen: string) => {
    try {
      outcome.value = quarantine.replayed(await replayReason(chosen));
    } catch (error) {
      outcome.value = messageOf(error);
    }
    reload();
  };
  return (
    <>
      {data.length > 0 && (
        <fieldset class="reasons plain">
          <legend class="visually-hidden">{quarantine.byReason}</legend>
          {data.map((one) => (
            <button
              key={one.reason}
              type="button"
              class="button"
              aria-pressed={reason === one.reason}
              onClick={() => choose(reason === one.reason ? undefined : one.reason)}
            >
              {quarantine.reasons[one.reason] ?? one.reason}
              <span class="muted">{formatNumber(one.uploads)}</span>
            </button>
          ))}
          {reason !== undefined && mayChange() && (
            <button type="button" class="button plain" onClick={() => void replayAll(reason)}>
              {quarantine.replayAll}
            </button>
          )}
        </fieldset>
      )}
      <div role="status">{outcome.value && <p class="notice">{outcome.value || text.replayed}</p>}</div>
      <QuarantineList search={reason === undefined ? {} : { reason }} onChange={reload} />
    </>
  );
}

import { answerOf, api } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { Button } from '../../parts/layout/button.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { formatAgo, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

/** Lists the browser sessions of the signed-in user, and ends them. */
export function Sessions() {
  const { profile: text, accounts } = texts.value;
  const { data, failure, reload } = useLoad(() => answerOf(api.GET('/v1/x/sessions')), []);
  const action = useAction();
  const end = async (id: string) => {
    await action.run(() => answerOf(api.DELETE('/v1/x/sessions/{id}', { params: { path: { id } } })));
    reload();
  };
  return (
    <section class="card">
      <h2>{text.sessions}</h2>
      {!data && (failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />)}
      {action.failure && <p class="notice wrong">{action.failure}</p>}
      <ul class="sessions" aria-label={text.sessions}>
        {data?.sessions.map(({ id, address, browser, createdAt, usedAt, method, isCurrent }) => (
          <li key={id}>
            <div>
              <strong>{address}</strong> <span class="muted">{browser}</span>
              <div class="muted">
                {[
                  text.methods[method],
                  text.sessionBegan(formatFull(createdAt)),
                  isCurrent ? text.thisSession : accounts.lastUse(formatAgo(usedAt)),
                ].join(' · ')}
              </div>
            </div>
            {!isCurrent && (
              <Button aria-label={`${text.endSession}: ${address} ${browser}`} onClick={() => void end(id)}>
                {text.endSession}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

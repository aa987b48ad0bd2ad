import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { readFields, TextField } from '../../parts/forms/fields.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole, operatorApplications, readSession } from '../../session.ts';
import { formatDay, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { ShownOnce } from './shown-once.tsx';

function NewApplication({ onCreated }: { onCreated: (created: Schema<'ApplicationKey'>) => void }) {
  const { accounts: text } = texts.value;
  const action = useAction();
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    void action.run(async () => {
      const { name = '' } = readFields(form);
      onCreated(await answerOf(api.POST('/v1/x/admin/applications', { body: { name } })));
      form.reset();
    });
  };
  return (
    <form class="card form inline-form" onSubmit={submit}>
      <TextField label={text.newApplication} name="name" required maxLength={256} />
      <button type="submit" class="button primary" disabled={action.isRunning}>
        {text.create}
      </button>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </form>
  );
}

/** The applications that the operator sees. */
export function Applications() {
  const { accounts: text } = texts.value;
  const { isLimited } = operatorApplications();
  const created = useSignal<Schema<'ApplicationKey'> | undefined>(undefined);
  const { data, failure, reload } = useLoad(() => answerOf(api.GET('/v1/x/admin/applications')), []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {hasRole('administrator') && !isLimited && (
        <NewApplication
          onCreated={(application) => {
            created.value = application;
            reload();
            // Its name is offered wherever an application is chosen.
            void readSession();
          }}
        />
      )}
      {created.value && (
        <ShownOnce
          entries={[
            [text.appId, created.value.appId],
            [text.appKey, created.value.appKey],
          ]}
        />
      )}
      {data.applications.length === 0 ? (
        <Empty title={text.noApplications} />
      ) : (
        <div class="card table-frame">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.name}</th>
                <th scope="col">{text.appId}</th>
                <th scope="col">{text.createdAt}</th>
              </tr>
            </thead>
            <tbody>
              {data.applications.map(({ appId, name, createdAt }) => (
                <tr key={appId}>
                  <td>
                    <a href={`/accounts/applications/${encodeURIComponent(appId)}`}>{name}</a>
                  </td>
                  <td>{appId}</td>
                  <td title={formatFull(createdAt)}>{formatDay(createdAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

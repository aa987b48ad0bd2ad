import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Field, Form, NumberInput, readFields, SelectField, TextField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { navigate } from '../../router.ts';
import { hasRole, operatorApplications, readSession } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatDay, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { ApiKeys } from './api-keys.tsx';

type Settings = Schema<'ApplicationSettings'>;
type Values = Omit<Settings, 'version'>;

const numbers = ['tariffPerKm', 'tariffPerMinute', 'deviceUploadsPerSecond', 'deviceBytesPerSecond'] as const;
const names = ['view', 'timeZone', ...numbers] as const;
const views = ['combined', 'dynamic', 'fleet'] as const;
const viewOf = (text: string | undefined) => views.find((one) => one === text) ?? 'combined';

type Numbers = Pick<Settings, (typeof numbers)[number]>;
/** The numbers of the form; undefined while an input holds none. */
type NumbersDraft = { readonly [Name in keyof Numbers]: Numbers[Name] | undefined };

/** Reads what the form has. */
function valuesOf(form: HTMLFormElement, draft: NumbersDraft): Values {
  const fields = readFields(form);
  // The browser submits no form with an empty or faulty number.
  const number = (name: keyof Numbers) => draft[name] ?? Number.NaN;
  return {
    ...{ view: viewOf(fields['view']), timeZone: (fields['timeZone'] ?? '').trim() },
    ...{ tariffPerKm: number('tariffPerKm'), tariffPerMinute: number('tariffPerMinute') },
    deviceUploadsPerSecond: number('deviceUploadsPerSecond'),
    deviceBytesPerSecond: number('deviceBytesPerSecond'),
  };
}

/** Names what another person has changed since the form was loaded. */
function differences(before: Settings, now: Settings): string {
  const { settings } = texts.value.accounts;
  return names
    .filter((name) => before[name] !== now[name])
    .map((name) => texts.value.labelled(settings[name], `${before[name]} → ${now[name]}`))
    .join(', ');
}

function SettingsFields({ loaded, draft }: { loaded: Settings; draft: Signal<NumbersDraft> }) {
  const { accounts: text } = texts.value;
  const view = useSignal<string>(loaded.view);
  return (
    <fieldset class="plain form" disabled={!hasRole('administrator')}>
      <SelectField
        label={text.settings.view}
        name="view"
        value={view.value}
        options={views.map((one) => [one, text.views[one]])}
        onChange={(one) => assign(view, one)}
      />
      <TextField label={text.settings.timeZone} name="timeZone" required defaultValue={loaded.timeZone} />
      {numbers.map((name) => (
        <Field key={name} label={text.settings[name]}>
          {(input) => (
            <NumberInput
              {...input}
              minimum={0}
              isRequired
              value={draft.value[name]}
              onValue={(value) => assign(draft, { ...draft.value, [name]: value })}
            />
          )}
        </Field>
      ))}
      <small class="muted">{text.ratesText}</small>
    </fieldset>
  );
}

interface FormOptions {
  readonly appId: string;
  readonly loaded: Settings;
}

/** The form of the settings. A change of another person is shown, and what was typed stays. */
function SettingsForm({ appId, loaded }: FormOptions) {
  const { accounts: text } = texts.value;
  /** The stored state that the next change is based on. */
  const base = useSignal(loaded);
  const draft = useSignal<NumbersDraft>(loaded);
  const outcome = useSignal<{ readonly isGood: boolean; readonly text: string } | undefined>(undefined);
  const action = useAction();
  const params = { path: { appId } };
  const save = async (form: HTMLFormElement) => {
    const body = { ...valuesOf(form, draft.value), version: base.value.version };
    outcome.value = undefined;
    try {
      base.value = await answerOf(api.PUT('/v1/x/admin/applications/{appId}', { params, body }));
      outcome.value = { isGood: true, text: text.saved };
    } catch (error) {
      if (!(error instanceof CallFailure) || error.code !== 'CHANGED_MEANWHILE') throw error;
      const now = await answerOf(api.GET('/v1/x/admin/applications/{appId}', { params }));
      outcome.value = { isGood: false, text: text.changedMeanwhile(differences(base.value, now)) };
      base.value = now;
    }
  };
  return (
    <Form class="card form" onSubmit={(form) => void action.run(() => save(form))}>
      <h2>{text.settingsTitle}</h2>
      <SettingsFields loaded={loaded} draft={draft} />
      <div role="status">{outcome.value?.isGood && <p class="notice good">{outcome.value.text}</p>}</div>
      <div role="alert">
        {outcome.value && !outcome.value.isGood && <p class="notice late">{outcome.value.text}</p>}
        {action.failure && <p class="notice wrong">{action.failure}</p>}
      </div>
      {hasRole('administrator') && (
        <div class="row">
          <Button type="submit" kind="primary" disabled={action.isRunning}>
            {text.save}
          </Button>
        </div>
      )}
    </Form>
  );
}

function Key({ appId }: { appId: string }) {
  const { accounts: text } = texts.value;
  const overlap = useSignal('24');
  const appKey = useSignal<string | undefined>(undefined);
  const ended = useSignal<number | undefined>(undefined);
  const params = { path: { appId } };
  const rotate = async () => {
    const body = { overlapHours: Number(overlap.value) };
    appKey.value = (await answerOf(api.POST('/v1/x/admin/applications/{appId}/key', { params, body }))).appKey;
  };
  const endSessions = async () =>
    assign(ended, (await answerOf(api.DELETE('/v1/x/admin/applications/{appId}/sessions', { params }))).ended);
  return (
    <section class="card form">
      <h2>{text.tokens}</h2>
      {appKey.value && <ShownOnce entries={[[text.appKey, appKey.value]]} />}
      <div role="status">
        {ended.value !== undefined && <p class="notice good">{text.sessionsEnded(ended.value)}</p>}
      </div>
      <div class="row start">
        <ActionButton action={text.newKey} title={text.newKeyTitle(appId)} onConfirm={rotate}>
          <SelectField
            label={text.keyOverlap}
            value={overlap.value}
            options={Object.entries(text.keyOverlaps)}
            onChange={(hours) => assign(overlap, hours)}
          />
        </ActionButton>
        <ActionButton action={text.endSessions} title={text.endAllTitle(appId)} onConfirm={endSessions}>
          {text.endAllText}
        </ActionButton>
      </div>
    </section>
  );
}

/** One application: settings, appKey and sessions, deletion. */
export function ApplicationPage({ appId }: { appId: string }) {
  const { accounts: text } = texts.value;
  const params = { path: { appId } };
  const { data, failure, reload } = useLoad(
    () => answerOf(api.GET('/v1/x/admin/applications/{appId}', { params })),
    [appId],
  );
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const name = operatorApplications().applications.find((one) => one.appId === appId)?.name ?? appId;
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/admin/applications/{appId}', { params }));
    void readSession();
    navigate('/accounts');
  };
  return (
    <>
      <header class="application-title">
        <h2>{name}</h2>
        <span class="muted">{appId}</span>
        <a href={`/accounts/users?app=${encodeURIComponent(appId)}`}>{text.tabs.users}</a>
      </header>
      <SettingsForm appId={appId} loaded={data} />
      {hasRole('administrator') && (
        <>
          <Key appId={appId} />
          <ApiKeys appId={appId} />
          <section class="card form">
            <h2>{text.deletion}</h2>
            <p class="muted">{text.deleteApplicationText}</p>
            <div class="row start">
              <ActionButton
                action={text.deleteApplication}
                title={text.deleteTitle(name)}
                isDangerous
                typed={appId}
                onConfirm={remove}
              >
                {text.deleteApplicationText}
              </ActionButton>
            </div>
          </section>
        </>
      )}
    </>
  );
}

function NewApplication({ onCreated }: { onCreated: (created: Schema<'ApplicationKey'>) => void }) {
  const { accounts: text } = texts.value;
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      const { name = '' } = readFields(form);
      onCreated(await answerOf(api.POST('/v1/x/admin/applications', { body: { name } })));
      form.reset();
    });
  };
  return (
    <Form class="card form inline-form" onSubmit={submit}>
      <TextField label={text.newApplication} name="name" required maxLength={256} />
      <Button type="submit" kind="primary" disabled={action.isRunning}>
        {text.create}
      </Button>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </Form>
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

import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Form, Labelled, readFields, TextField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { formatAgo, formatFull, fromLocalInput } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type ApiKey = Schema<'ApiKey'>;
const scopes = ['read', 'write', 'commands', 'admin'] as const;

function NewKey({ appId, onCreated }: { appId: string; onCreated: (key: string) => void }) {
  const { accounts: text } = texts.value;
  const action = useAction();
  const submit = (form: HTMLFormElement) => {
    void action.run(async () => {
      const { name = '', networks = '', expiresOn = '', ...given } = readFields(form);
      const expiresAt = fromLocalInput(expiresOn && `${expiresOn}T00:00`);
      const body = {
        ...{ appId, name, scopes: scopes.filter((scope) => scope in given) },
        networks: networks.split(/[\s,]+/).filter((one) => one !== ''),
        ...(expiresAt !== undefined && { expiresAt }),
      };
      onCreated((await answerOf(api.POST('/v1/x/admin/api-keys', { body }))).key);
      form.reset();
    });
  };
  return (
    <Form class="form" aria-label={text.newApiKey} onSubmit={submit}>
      <TextField label={text.apiKeyName} name="name" required maxLength={64} />
      <fieldset class="plain applications-choice">
        <legend>{text.scopes}</legend>
        {scopes.map((scope) => (
          <label key={scope}>
            <input type="checkbox" name={scope} defaultChecked={scope === 'read'} />
            {text.scopeTexts[scope]}
          </label>
        ))}
      </fieldset>
      <TextField label={text.networks} name="networks" hint={text.networksHint} maxLength={500} />
      <Labelled label={text.expires} hint={text.expiresHint}>
        <input class="input" type="date" name="expiresOn" />
      </Labelled>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row start">
        <Button type="submit" disabled={action.isRunning}>
          {text.newApiKey}
        </Button>
      </div>
    </Form>
  );
}

function KeyLine({ apiKey, onDeleted }: { apiKey: ApiKey; onDeleted: () => void }) {
  const { accounts: text } = texts.value;
  const { id, name, networks, usedAt, expiresAt } = apiKey;
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/admin/api-keys/{id}', { params: { path: { id } } }));
    onDeleted();
  };
  const facts = [
    apiKey.scopes.map((scope) => text.scopeTexts[scope]).join(', '),
    ...(networks.length > 0 ? [networks.join(', ')] : []),
    usedAt === null ? text.notUsed : text.lastUse(formatAgo(usedAt)),
    ...(expiresAt === null ? [] : [text.expiresAt(formatFull(expiresAt))]),
  ];
  return (
    <li class="row start">
      <strong>{name}</strong>
      <span class="muted">{facts.join(' · ')}</span>
      <ActionButton action={texts.value.remove} title={text.deleteApiKeyTitle(name)} isDangerous onConfirm={remove}>
        {text.deleteApiKeyText}
      </ActionButton>
    </li>
  );
}

/** Manages the API keys of an application. */
export function ApiKeys({ appId }: { appId: string }) {
  const { accounts: text } = texts.value;
  const created = useSignal<string | undefined>(undefined);
  const query = { appId };
  const load = () => answerOf(api.GET('/v1/x/admin/api-keys', { params: { query } }));
  const { data, failure, reload } = useLoad(load, [appId]);
  const show = (key: string) => {
    created.value = key;
    reload();
  };
  return (
    <section class="card form">
      <h2>{text.apiKeys}</h2>
      <p class="muted">{text.apiKeysText}</p>
      {created.value && <ShownOnce entries={[[text.apiKey, created.value]]} />}
      {!data && (failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />)}
      {data?.apiKeys.length === 0 && <p>{text.noApiKeys}</p>}
      <ul class="key-list" aria-label={text.apiKeys}>
        {data?.apiKeys.map((one) => (
          <KeyLine key={one.id} apiKey={one} onDeleted={reload} />
        ))}
      </ul>
      <NewKey appId={appId} onCreated={show} />
    </section>
  );
}

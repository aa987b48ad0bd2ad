import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { usePages } from '../../api/use-pages.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Form, Labelled, SelectField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull, formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type ShownSource, type SourceFormat, SourceSetup } from './source-setup.tsx';

type Source = Schema<'ListedSource'>;

const formats = ['traccar', 'flespi', 'tesla', 'owntracks', 'osmand'] as const satisfies readonly SourceFormat[];

interface FormOptions {
  readonly appId: string;
  readonly onCreated: (source: ShownSource) => void;
  readonly onClose: () => void;
}

function NewSource({ appId, onCreated, onClose }: FormOptions) {
  const { sources: text, cancel } = texts.value;
  const format = useSignal<SourceFormat>('traccar');
  const createDevices = useSignal(false);
  const action = useAction();
  const submit = () =>
    action.run(async () => {
      const body = { appId, format: format.value, createDevices: createDevices.value };
      onCreated({ ...body, ...(await answerOf(api.POST('/v1/x/admin/sources', { body }))) });
    });
  return (
    <Form class="card form integration-form" aria-label={text.create} onSubmit={() => void submit()}>
      <h2>{text.create}</h2>
      <SelectField
        label={text.format}
        value={format.value}
        options={formats.map((one) => [one, text.formats[one]])}
        onChange={(chosen) => assign(format, formats.find((one) => one === chosen) ?? 'traccar')}
      />
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={createDevices.value}
            onChange={({ currentTarget }) => assign(createDevices, currentTarget.checked)}
          />
          {text.createDevices}
        </label>
        <small class="muted">{text.createDevicesText}</small>
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row">
        <Button onClick={onClose}>{cancel}</Button>
        <Button type="submit" kind="primary" disabled={action.isRunning}>
          {text.create}
        </Button>
      </div>
    </Form>
  );
}

interface SourceOptions {
  readonly source: Source;
  readonly onChanged: () => void;
  readonly onShow: (source: ShownSource) => void;
}

/** Sets or removes the token for commands through flespi. */
function CommandToken({ source: { sourceId, takesCommands }, onChanged }: Omit<SourceOptions, 'onShow'>) {
  const { sources: text } = texts.value;
  const token = useSignal('');
  const params = { path: { id: sourceId } };
  const set = async () => {
    const body = { token: token.value.trim() };
    await answerOf(api.PUT('/v1/x/admin/sources/{id}/command-token', { params, body }));
    token.value = '';
    onChanged();
  };
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/admin/sources/{id}/command-token', { params }));
    onChanged();
  };
  return (
    <>
      <ActionButton action={text.token} title={text.tokenTitle} onConfirm={set}>
        <Labelled label={text.token} hint={text.tokenText}>
          <input
            class="input"
            type="password"
            autocomplete="off"
            required
            minLength={16}
            maxLength={256}
            value={token.value}
            onInput={({ currentTarget }) => assign(token, currentTarget.value)}
          />
        </Labelled>
      </ActionButton>
      {takesCommands && (
        <ActionButton action={text.removeToken} title={`${text.removeToken}?`} isDangerous onConfirm={remove}>
          {text.removeTokenText}
        </ActionButton>
      )}
    </>
  );
}

/** The actions of an administrator on a source. */
function SourceActions({ source, onChanged, onShow }: SourceOptions) {
  const { sources: text, integrations, accounts, remove } = texts.value;
  const { sourceId, format, createDevices } = source;
  const overlap = useSignal('24');
  const params = { path: { id: sourceId } };
  const name = text.formats[format];
  const rotate = async () => {
    const body = { overlapHours: Number(overlap.value) };
    const { secret } = await answerOf(api.POST('/v1/x/admin/sources/{id}/secret', { params, body }));
    onShow({ sourceId, format, createDevices, secret });
  };
  const deleteSource = async () => {
    await answerOf(api.DELETE('/v1/x/admin/sources/{id}', { params }));
    onChanged();
  };
  return (
    <>
      <ActionButton action={integrations.newSecret} title={text.rotateTitle(name)} onConfirm={rotate}>
        <SelectField
          label={integrations.overlap}
          value={overlap.value}
          options={Object.entries(accounts.keyOverlaps)}
          onChange={(hours) => assign(overlap, hours)}
        />
      </ActionButton>
      {format === 'flespi' && <CommandToken source={source} onChanged={onChanged} />}
      <ActionButton action={remove} title={text.deleteTitle(name)} isDangerous onConfirm={deleteSource}>
        {text.deleteText}
      </ActionButton>
    </>
  );
}

function SourceRow(options: SourceOptions) {
  const { sources: text } = texts.value;
  const { source, onShow } = options;
  const { sourceId, format, createDevices, takesCommands, lastSeenAt } = source;
  const counts = [source.messages, source.devices, source.unknownMessages, source.refusedRequests].map((count) =>
    formatNumber(count),
  );
  const [messages = '', devices = '', unknown = '', refused = ''] = counts;
  const traits = [...(createDevices ? [text.creates] : []), ...(takesCommands ? [text.takesCommands] : [])];
  return (
    <li class="source-row">
      <strong>{text.formats[format]}</strong>
      <code class="muted">{sourceId}</code>
      <span class="muted" title={lastSeenAt ? formatFull(lastSeenAt) : undefined}>
        {[lastSeenAt ? text.lastSeen(formatAgo(lastSeenAt)) : text.neverSeen, ...traits].join(', ')}
      </span>
      <span class="muted">{text.counts(messages, devices, unknown, refused)}</span>
      <span class="row start">
        <Button onClick={() => onShow({ sourceId, format, createDevices })}>{text.open}</Button>
        {hasRole('administrator') && <SourceActions {...options} />}
      </span>
    </li>
  );
}

/** The sources of an application, with the settings of the open one. */
export function Sources({ appId }: { appId: string }) {
  const { sources: text, integrations } = texts.value;
  const isCreating = useSignal(false);
  const shown = useSignal<ShownSource | undefined>(undefined);
  const { rows, failure, reload } = usePages<Source>(async () => {
    const { sources } = await answerOf(api.GET('/v1/x/admin/sources', { params: { query: { appId } } }));
    return { rows: sources, total: undefined, after: undefined };
  }, [appId]);
  const show = (source: ShownSource) => {
    shown.value = source;
    isCreating.value = false;
    reload();
  };
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {shown.value && (
        <SourceSetup
          key={`${shown.value.sourceId}${shown.value.secret}`}
          appId={appId}
          source={shown.value}
          onClose={() => assign(shown, undefined)}
        />
      )}
      {isCreating.value && <NewSource appId={appId} onCreated={show} onClose={() => assign(isCreating, false)} />}
      {hasRole('administrator') && !isCreating.value && (
        <div>
          <Button kind="primary" onClick={() => assign(isCreating, true)}>
            {text.create}
          </Button>
        </div>
      )}
      {rows.rows.length === 0 ? (
        <Empty title={text.none}>
          <p>{text.noneText}</p>
        </Empty>
      ) : (
        <ul class="card" aria-label={integrations.tabs.sources}>
          {rows.rows.map((source) => (
            <SourceRow key={source.sourceId} source={source} onChanged={reload} onShow={show} />
          ))}
        </ul>
      )}
    </>
  );
}

import { answerOf, api, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { errorBeyond, errorOf, Field, Form } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { type ScopeValue, useVehicleDraft, VehicleScope } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { assign } from '../../signals.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import {
  type EventPattern,
  eventPatterns,
  groupOf,
  loadWebhooks,
  nameEvents,
  paramsOf,
  type Webhook,
} from './webhook-data.ts';

interface Draft extends ScopeValue {
  readonly url: string;
  readonly types: readonly EventPattern[];
  /** Empty for all vehicles. */
  readonly groupId: string;
}

function toDraft(webhook: Webhook | undefined): Draft {
  const { url = '', types = [], vehicleIds, groupId = '' } = webhook ?? {};
  const vehicles = (vehicleIds ?? []).map((id) => ({ id, plate: id }));
  return { url, types, groupId, isForAll: vehicleIds === undefined, vehicles };
}

function toBody({ url, types, groupId, isForAll, vehicles }: Draft) {
  const scope = { ...(groupId && { groupId }), ...(!isForAll && { vehicleIds: vehicles.map(({ id }) => id) }) };
  return { url: url.trim(), types: [...types], ...scope };
}

/** Whether a pattern includes a type, which then need not be listed. */
const contains = (pattern: EventPattern, type: EventPattern): boolean =>
  pattern !== type && (pattern === '*' || pattern === groupOf(type));

interface TypesOptions {
  /** All by default. */
  readonly patterns?: readonly EventPattern[];
  readonly chosen: readonly EventPattern[];
  readonly error: string | undefined;
  readonly onChange: (chosen: readonly EventPattern[]) => void;
}

/** Chooses types of events: all, all of a group, or single ones. */
export function EventTypes({ patterns = eventPatterns, chosen, error, onChange }: TypesOptions) {
  const { webhooks: text } = texts.value;
  const box = (pattern: EventPattern, name: string) => {
    const isIncluded = chosen.some((one) => contains(one, pattern));
    return (
      <label key={pattern} title={pattern}>
        <input
          type="checkbox"
          checked={isIncluded || chosen.includes(pattern)}
          disabled={isIncluded}
          onChange={({ currentTarget }) =>
            onChange(
              currentTarget.checked
                ? [...chosen.filter((one) => !contains(pattern, one)), pattern]
                : chosen.filter((one) => one !== pattern),
            )
          }
        />
        {name}
      </label>
    );
  };
  const groups = patterns.filter((pattern) => pattern.endsWith('.*'));
  return (
    <fieldset class="plain event-types">
      <legend>{text.types}</legend>
      {box('*', text.allTypes)}
      {groups.map((group) => (
        <div key={group} class="event-group">
          {box(group, nameEvents(group))}
          {patterns.filter((type) => contains(group, type)).map((type) => box(type, lookUp(text.events, type) ?? type))}
        </div>
      ))}
      {error && (
        <small class="field-error" role="alert">
          {error}
        </small>
      )}
    </fieldset>
  );
}

/** Serializes the members that a person sets, without those that every delivery changes. */
const serializeChosen = ({ url, types, vehicleIds, groupId, disabledReason }: Webhook): string =>
  JSON.stringify({ url, types, vehicleIds, groupId, disabledReason });

/** Names what a person sees of a webhook. */
function describe({ url, types, vehicleIds, groupId, state }: Webhook) {
  const { webhooks: text, groups } = texts.value;
  return {
    [text.url]: url,
    [text.types]: types.map(nameEvents).join(', '),
    [text.appliesTo]: vehicleIds?.join(', ') ?? text.allVehicles,
    [groups.label]: groupId ?? groups.all,
    [text.id]: text.states[state],
  };
}

interface WebhookFormOptions {
  readonly appId: string;
  /** Undefined for a new one. */
  readonly webhook?: Webhook;
  readonly onCreated?: (created: Schema<'WebhookSecret'>) => void;
  readonly onClose: () => void;
}

/** Creates or changes a webhook. */
export function WebhookForm({ appId, webhook, onCreated, onClose }: WebhookFormOptions) {
  const { webhooks: text } = texts.value;
  const { draft, show } = useVehicleDraft(appId, toDraft(webhook));
  const saving = useSave(webhook, serializeChosen);
  const { failure } = saving;
  const change = (changed: Partial<Draft>) => assign(draft, { ...draft.value, ...changed });
  const submit = () => {
    const body = toBody(draft.value);
    if (!webhook) {
      const create = async () =>
        onCreated?.(await answerOf(api.POST('/v1/x/webhooks', { params: { header: headerFor(appId) }, body })));
      saving.run(create, onClose);
      return;
    }
    const params = paramsOf(appId, webhook.id);
    saving.runUnlessChanged(
      async () => (await loadWebhooks(appId)).find(({ id }) => id === webhook.id),
      ({ state }) =>
        answerOf(api.PUT('/v1/x/webhooks/{id}', { params, body: { ...body, enabled: state !== 'disabled' } })),
      onClose,
    );
  };
  const title = webhook ? text.changeTitle : text.create;
  const { types, url, groupId } = draft.value;
  return (
    <Form class="card form integration-form" aria-label={title} onSubmit={submit}>
      <h2>{title}</h2>
      <Field label={text.url} hint={text.urlHint} error={errorOf(failure, 'url')}>
        {(input) => (
          <input
            {...input}
            class="input"
            type="url"
            required
            maxLength={limits['/v1/x/webhooks'].url.maxLength}
            placeholder="https://example.com/odograph"
            value={url}
            onInput={({ currentTarget }) => change({ url: currentTarget.value })}
          />
        )}
      </Field>
      <EventTypes chosen={types} error={errorOf(failure, 'types')} onChange={(chosen) => change({ types: chosen })} />
      <GroupField
        appId={appId}
        value={groupId}
        none={texts.value.groups.all}
        onChange={(id) => change({ groupId: id })}
      />
      <VehicleScope appId={appId} scope={draft.value} mayBeAll failure={failure} onChange={change} />
      <FormEnd
        saving={saving}
        describe={describe}
        failure={failure?.code === 'UNKNOWN_VEHICLE' ? undefined : errorBeyond(failure, ['url', 'types', 'vehicleIds'])}
        onTheirs={(theirs) => show(toDraft(theirs))}
        onClose={onClose}
      />
    </Form>
  );
}

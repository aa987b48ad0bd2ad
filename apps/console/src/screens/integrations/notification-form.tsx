import { answerOf, api, type CallFailure } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { errorBeyond, errorOf, Field, Form, NumberInput, SelectField, TextInput } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { TimeWindows, weekdays } from '../../parts/forms/time-windows.tsx';
import { TimeZoneField } from '../../parts/forms/time-zone-field.tsx';
import { FormEnd, type Saving, useSave } from '../../parts/forms/use-save.tsx';
import { useVehicleDraft, VehicleScope } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { assign } from '../../signals.ts';
import { languages } from '../../texts/languages.ts';
import { texts } from '../../texts/texts.ts';
import { pushSupport, removeNotification, storeNotification, subscribeBrowser } from './browser-push.ts';
import {
  channelFields,
  labelOf,
  languageOf,
  loadNotifications,
  messageLanguages,
  type Notification,
  type NotificationDraft,
  titleOf,
  toBody,
  toDraft,
  toldPatterns,
} from './notification-data.ts';
import { nameEvents, paramsOf } from './webhook-data.ts';
import { EventTypes } from './webhook-form.tsx';

const facts = limits['/v1/x/notifications'];
const lengths: Readonly<Record<string, { maxLength?: number; minimum?: number; enum?: readonly string[] }>> = facts;
/** Of the fields that the interface limits by a pattern. */
const maxPatternLength = 200;
const workdays = { weekdays: weekdays.slice(0, 5), from: '08:00', until: '18:00' };

interface PartOptions {
  readonly draft: NotificationDraft;
  readonly failure: CallFailure | undefined;
  readonly change: (changed: Partial<NotificationDraft>) => void;
}

/** Chooses where messages go. @param target of the present channel */
function Channel({ draft, failure, change, target }: PartOptions & { target: string | undefined }) {
  const { notifications: text } = texts.value;
  const { channel, values } = draft;
  const set = (path: string, value: string) => change({ values: { ...values, [path]: value } });
  const channels = Object.keys(channelFields) as (keyof typeof channelFields)[];
  const isOffered = (one: string) => (one === 'push' ? pushSupport() === 'supported' : one !== 'unchanged' || target);
  const offered = channels.filter((one) => one === channel || isOffered(one));
  const names = { ...text.channels, push: text.browser.name, unchanged: text.unchanged(target ?? '') };
  return (
    <>
      <SelectField
        label={text.channel}
        value={channel}
        options={offered.map((one) => [one, names[one]])}
        onChange={(one) => change({ channel: one as NotificationDraft['channel'] })}
      />
      {channelFields[channel].map((path) =>
        path === 'sms.contentType' ? (
          <SelectField
            key={path}
            label={labelOf(path)}
            value={values[path] ?? ''}
            options={facts[path].enum.map((type) => [type, type])}
            onChange={(type) => set(path, type)}
          />
        ) : (
          <TextInput
            key={path}
            label={labelOf(path)}
            value={values[path] ?? ''}
            error={errorOf(failure, path)}
            maxLength={lengths[path]?.maxLength ?? maxPatternLength}
            isOptional={path === 'sms.body' || path === 'sms.authorization'}
            onValue={(value) => set(path, value)}
          />
        ),
      )}
    </>
  );
}

/** When and how messages are written. */
function Writing({ draft, failure, change }: PartOptions) {
  const { notifications: text } = texts.value;
  const names: Readonly<Record<string, { readonly name: string }>> = languages;
  return (
    <>
      <div class="field-grid">
        <SelectField
          label={text.language}
          value={draft.language}
          options={messageLanguages.map((code) => [code, names[code]?.name ?? code])}
          onChange={(code) => change({ language: languageOf(code) })}
        />
        <TimeZoneField value={draft.timeZone} failure={failure} onValue={(timeZone) => change({ timeZone })} />
        <Field label={text.maxPerHour} hint={text.maxPerHourHint} error={errorOf(failure, 'maxPerHour')}>
          {(input) => (
            <NumberInput
              {...input}
              {...facts.maxPerHour}
              isRequired
              value={draft.maxPerHour}
              onValue={(maxPerHour) => change({ maxPerHour })}
            />
          )}
        </Field>
      </div>
      <TimeWindows
        hint={draft.duty.length > 0 ? text.dutyHint : text.always}
        windows={draft.duty}
        proposed={workdays}
        onChange={(duty) => change({ duty })}
      >
        {errorOf(failure, 'duty') && (
          <small class="field-error" role="alert">
            {errorOf(failure, 'duty')}
          </small>
        )}
      </TimeWindows>
    </>
  );
}

/** Chooses the notification that tells alarms which nobody acknowledges. */
function Escalation({ draft, failure, change, others }: PartOptions & { others: readonly Notification[] }) {
  const { notifications: text } = texts.value;
  return (
    <div class="field-grid">
      <SelectField
        label={text.escalation}
        value={draft.escalatesTo}
        options={[['', text.nobody], ...others.map((one) => [one.id, titleOf(one)] as const)]}
        onChange={(escalatesTo) => change({ escalatesTo })}
      />
      {draft.escalatesTo !== '' && (
        <Field label={text.afterMinutes} error={errorOf(failure, 'escalation')}>
          {(input) => (
            <NumberInput
              {...input}
              {...facts['escalation.afterMinutes']}
              isRequired
              value={draft.afterMinutes}
              onValue={(afterMinutes) => change({ afterMinutes })}
            />
          )}
        </Field>
      )}
    </div>
  );
}

/** Serializes the settings, without the state that every delivery changes. */
const serializeChosen = (one: Notification): string => JSON.stringify([toBody(toDraft(one), one), one.target]);

interface FormOptions {
  readonly appId: string;
  /** Undefined for a new one. */
  readonly notification?: Notification;
  /** Whether a new notification is sent to this browser by default. */
  readonly isPush?: boolean;
  /** All of the application. */
  readonly known: readonly Notification[];
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** Names what a person sees of a notification. */
function describe(one: Notification) {
  const { notifications: text, webhooks, geofences } = texts.value;
  return {
    [text.name]: one.name ?? '',
    [text.channel]: one.target,
    [webhooks.types]: one.events.map(nameEvents).join(', '),
    [webhooks.appliesTo]: [...(one.groupIds ?? []), ...(one.vehicleIds ?? [])].join(', ') || webhooks.allVehicles,
    [text.language]: one.language,
    [text.timeZone]: one.timeZone ?? '',
    [geofences.windows]: JSON.stringify(one.duty ?? []),
    [text.maxPerHour]: String(one.maxPerHour),
    [text.escalation]: JSON.stringify(one.escalation ?? {}),
  };
}

/** Creates or replaces a notification. */
function save(
  { appId, notification, onSaved }: FormOptions,
  draft: NotificationDraft,
  saving: Saving<Notification>,
): void {
  const { channel } = draft;
  const write = async (current?: Notification) => {
    const push = channel === 'push' ? await subscribeBrowser(appId) : undefined;
    const body = { ...toBody(draft, current), ...(push && { push }) };
    const { id } = await (current
      ? answerOf(
          api.PUT('/v1/x/notifications/{id}', {
            params: paramsOf(appId, current.id),
            body: { ...body, enabled: current.state !== 'disabled' },
          }),
        )
      : answerOf(api.POST('/v1/x/notifications', { params: { header: headerFor(appId) }, body })));
    if (push) await storeNotification({ id, appId, endpoint: push.endpoint });
    else if (channel !== 'unchanged') await removeNotification(id);
  };
  const load = async () => (await loadNotifications(appId)).find(({ id }) => id === notification?.id);
  if (notification) saving.runUnlessChanged(load, write, onSaved);
  else saving.run(write, onSaved);
}

/** Creates or changes a notification. */
export function NotificationForm(options: FormOptions) {
  const { appId, notification, isPush = false, known, onClose } = options;
  const { notifications: text } = texts.value;
  const initial: NotificationDraft = { ...toDraft(notification), ...(isPush && { channel: 'push' }) };
  const { draft, show } = useVehicleDraft(appId, initial);
  const saving = useSave(notification, serializeChosen);
  const { failure } = saving;
  const change = (changed: Partial<NotificationDraft>) => assign(draft, { ...draft.value, ...changed });
  const part = { draft: draft.value, failure, change };
  const { channel, name, events, groupIds } = draft.value;
  const ownFields = ['name', 'events', 'vehicleIds', 'timeZone', 'maxPerHour', 'duty', ...channelFields[channel]];
  const shownFields = draft.value.escalatesTo === '' ? ownFields : [...ownFields, 'escalation'];
  const title = notification ? text.changeTitle : text.create;
  return (
    <Form class="card form integration-form" aria-label={title} onSubmit={() => save(options, draft.value, saving)}>
      <h2>{title}</h2>
      <TextInput
        label={text.name}
        value={name}
        error={errorOf(failure, 'name')}
        maxLength={facts.name.maxLength}
        isOptional
        onValue={(typed) => change({ name: typed })}
      />
      <Channel {...part} target={notification?.target} />
      <EventTypes
        patterns={toldPatterns}
        chosen={events}
        error={errorOf(failure, 'events')}
        onChange={(chosen) => change({ events: chosen })}
      />
      <GroupField
        appId={appId}
        value={groupIds[0] ?? ''}
        none={texts.value.groups.all}
        onChange={(id) => change({ groupIds: id === '' ? [] : [id] })}
      />
      <VehicleScope appId={appId} scope={draft.value} mayBeAll failure={failure} onChange={change} />
      <Writing {...part} />
      <Escalation {...part} others={known.filter(({ id }) => id !== notification?.id)} />
      <FormEnd
        saving={saving}
        describe={describe}
        failure={failure?.code === 'UNKNOWN_VEHICLE' ? undefined : errorBeyond(failure, shownFields)}
        onTheirs={(theirs) => show(toDraft(theirs))}
        onClose={onClose}
      />
    </Form>
  );
}

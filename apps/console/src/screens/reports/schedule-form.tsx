import { useSignal } from '@preact/signals';
import { answerOf, api, type CallFailure, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { errorBeyond, errorOf, Field, Form, LabelledChoice, SelectField } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { TimeZoneField } from '../../parts/forms/time-zone-field.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { assign } from '../../signals.ts';
import { type Language, languages } from '../../texts/languages.ts';
import type { ReportTexts } from '../../texts/report-texts.ts';
import { language, texts } from '../../texts/texts.ts';
import { kinds } from './report-data.ts';

export type Schedule = Schema<'ReportSchedule'>;

const facts = limits['/v1/x/report-schedules'];
const hours = Array.from(
  { length: 24 },
  (_unused, hour) => [String(hour), `${String(hour).padStart(2, '0')}:00`] as const,
);
const codes = Object.keys(languages) as Language[];

/** Loads the schedules of an application. @throws CallFailure */
export async function loadSchedules(appId: string): Promise<readonly Schedule[]> {
  return (await answerOf(api.GET('/v1/x/report-schedules', { params: { header: headerFor(appId) } }))).schedules;
}

/** Names a schedule: "Trips · every month · PDF". */
export function titleOf({ kind, every, format }: Schedule, names: ReportTexts): string {
  return [names.kinds[kind], texts.value.reportScreen.every[every], format.toUpperCase()].join(' · ');
}

/** The values of the form. */
interface Draft extends Pick<Schedule, 'kind' | 'every' | 'format' | 'hour' | 'language' | 'timeZone'> {
  /** Separated by white space, commas or semicolons. */
  readonly recipients: string;
  /** Empty for all vehicles. */
  readonly group: string;
}

function draftOf(schedule: Schedule | undefined): Draft {
  const { kind = 'trips', every = 'month', format = 'pdf', hour = 6, group = '', timeZone = '' } = schedule ?? {};
  const recipients = (schedule?.recipients ?? []).join('\n');
  return { kind, every, format, hour, group, timeZone, recipients, language: schedule?.language ?? language.value };
}

const bodyOf = ({ every, format, hour, recipients, timeZone, ...draft }: Draft) => ({
  ...{ every, format, hour, language: draft.language },
  recipients: recipients.split(/[\s,;]+/).filter((address) => address !== ''),
  ...(timeZone.trim() && { timeZone: timeZone.trim() }),
});

/** Returns the displayed settings of a schedule, by label. */
function describe({ every, hour, format, recipients, timeZone, language: code }: Schedule) {
  const { reportScreen: text, exports, notifications } = texts.value;
  return {
    [text.interval]: text.every[every],
    [text.hour]: hours[hour]?.[1] ?? '',
    [exports.format]: format,
    [text.recipients]: recipients.join(', '),
    [notifications.timeZone]: timeZone,
    [notifications.language]: code,
  };
}

interface FormOptions {
  readonly appId: string;
  readonly names: ReportTexts;
  /** Undefined for a new schedule. */
  readonly schedule?: Schedule;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

interface PartOptions {
  readonly draft: Draft;
  readonly change: (changed: Partial<Draft>) => void;
}

/** Fields for the time and format of reports. */
function Timing({ draft, change }: PartOptions) {
  const { reportScreen: text, exports, notifications } = texts.value;
  const { every, format, hour, language: chosen } = draft;
  return (
    <>
      <LabelledChoice
        label={text.interval}
        name="every"
        chosen={every}
        options={facts.every.enum.map((one) => [one, text.every[one]] as const)}
        onChoose={(one) => change({ every: one })}
      />
      <SelectField
        label={text.hour}
        value={String(hour)}
        options={hours}
        hint={text.hourHint}
        onChange={(one) => change({ hour: Number(one) })}
      />
      <LabelledChoice
        label={exports.format}
        name="format"
        chosen={format}
        options={facts.format.enum.map((one) => [one, one.toUpperCase()] as const)}
        onChoose={(one) => change({ format: one })}
      />
      <SelectField
        label={notifications.language}
        value={chosen}
        options={codes.map((code) => [code, languages[code].name])}
        onChange={(code) => change({ language: code })}
      />
    </>
  );
}

/** Fields for the recipients and the time zone of the days. */
function Delivery({ draft, failure, change }: PartOptions & { failure: CallFailure | undefined }) {
  const { reportScreen: text } = texts.value;
  return (
    <>
      <Field label={text.recipients} hint={text.recipientsHint} error={errorOf(failure, 'recipients')}>
        {(input) => (
          <textarea
            {...input}
            class="input"
            rows={3}
            required
            value={draft.recipients}
            onInput={({ currentTarget }) => change({ recipients: currentTarget.value })}
          />
        )}
      </Field>
      <TimeZoneField value={draft.timeZone} failure={failure} onValue={(timeZone) => change({ timeZone })} />
    </>
  );
}

/** Creates or changes a schedule; report and group of an existing one are fixed. */
export function ScheduleForm({ appId, names, schedule, onSaved, onClose }: FormOptions) {
  const { reportScreen: text, groups } = texts.value;
  const draft = useSignal(draftOf(schedule));
  const saving = useSave(schedule, (one) => JSON.stringify(describe(one)));
  const change = (changed: Partial<Draft>) => assign(draft, { ...draft.value, ...changed });
  const { kind, group } = draft.value;
  const save = () => {
    const body = bodyOf(draft.value);
    const header = headerFor(appId);
    if (!schedule) {
      const created = { ...body, kind, ...(group !== '' && { group }) };
      saving.run(() => answerOf(api.POST('/v1/x/report-schedules', { params: { header }, body: created })), onSaved);
      return;
    }
    const { id } = schedule;
    saving.runUnlessChanged(
      async () => (await loadSchedules(appId)).find((one) => one.id === id),
      () => answerOf(api.PUT('/v1/x/report-schedules/{id}', { params: { path: { id }, header }, body })),
      onSaved,
    );
  };
  const title = schedule ? text.changeSchedule : text.newSchedule;
  return (
    <Form class="card form schedule-form" aria-label={title} onSubmit={save}>
      <h2>{title}</h2>
      <SelectField
        label={text.kind}
        value={kind}
        options={kinds.map((one) => [one, names.kinds[one]])}
        isDisabled={schedule !== undefined}
        hint={schedule && text.kindStays}
        onChange={(one) => change({ kind: kinds.find((known) => known === one) ?? 'trips' })}
      />
      {!schedule && (
        <GroupField appId={appId} value={group} none={groups.all} onChange={(id) => change({ group: id })} />
      )}
      <Timing draft={draft.value} change={change} />
      <Delivery draft={draft.value} failure={saving.failure} change={change} />
      <FormEnd
        saving={saving}
        describe={describe}
        failure={errorBeyond(saving.failure, ['recipients', 'timeZone'])}
        onTheirs={(theirs) => assign(draft, draftOf(theirs))}
        onClose={onClose}
      />
    </Form>
  );
}

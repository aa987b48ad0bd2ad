import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ConnectionLine } from '../../live/connection-line.tsx';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { Field, Form } from '../../parts/forms/fields.tsx';
import { useSave } from '../../parts/forms/use-save.tsx';
import { nameVehicles, VehicleChoice } from '../../parts/forms/vehicle-picker.tsx';
import { changeQuery } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { StateMark } from '../../parts/layout/vehicle-state.tsx';
import { actingFor, mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatDuration, formatFull, formatTime, fromLocalInput, toLocalInput } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type Alarm, type AlarmFilter, type AlarmKind, isFiltered, readFilter, useAlarms } from './alarm-data.ts';
import { loadRules, type Rule, valueText } from './alarm-text.ts';

interface AcknowledgeOptions {
  readonly alarm: Alarm;
  readonly onDone: (alarm: Alarm | undefined) => void;
  readonly onClose: () => void;
}

/** Acknowledges an alarm with a note. Of two people, the second sees who was first. */
function Acknowledge({ alarm, onDone, onClose }: AcknowledgeOptions) {
  const { alarms: text, cancel } = texts.value;
  const note = useSignal('');
  const saving = useSave<Alarm>(undefined);
  const acknowledge = () => {
    let answered: Alarm | undefined;
    const call = async () => {
      const params = { path: { id: alarm.id }, header: actingFor(alarm.appId) };
      answered = await answerOf(
        api.POST('/v1/x/alarms/{id}/acknowledge', { params, body: { note: note.value.trim() } }),
      );
    };
    saving.run(call, () => onDone(answered));
  };
  return (
    <Dialog title={text.acknowledgeTitle(text.kinds[alarm.kind], alarm.plate)} onClose={onClose}>
      <Form class="form" onSubmit={() => acknowledge()}>
        <Field label={text.note} hint={text.noteHint} error={saving.failure?.message}>
          {(input) => (
            <textarea
              {...input}
              class="input"
              rows={3}
              maxLength={2000}
              value={note.value}
              onInput={({ currentTarget }) => assign(note, currentTarget.value)}
            />
          )}
        </Field>
        <div class="row">
          <Button onClick={onClose}>{cancel}</Button>
          <Button type="submit" kind="primary" disabled={saving.isBusy}>
            {text.acknowledge}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

const kindsOf = (): AlarmKind[] => Object.keys(texts.value.alarms.kinds) as AlarmKind[];
const seconds = (from: string, until: string): number => (Date.parse(until) - Date.parse(from)) / 1000;

interface ChoiceOptions {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
}

function Choice({ label, name, value, options }: ChoiceOptions) {
  return (
    <Field label={label}>
      {(input) => (
        <select
          {...input}
          class="input"
          value={value}
          onChange={({ currentTarget }) => changeQuery({ [name]: currentTarget.value })}
        >
          {options.map(([one, written]) => (
            <option key={one} value={one}>
              {written}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function TimeBound({ label, name, value }: { label: string; name: string; value: string }) {
  return (
    <Field label={label}>
      {(input) => (
        <input
          {...input}
          class="input"
          type="datetime-local"
          value={toLocalInput(value)}
          onChange={({ currentTarget }) => changeQuery({ [name]: fromLocalInput(currentTarget.value) ?? '' })}
        />
      )}
    </Field>
  );
}

function Filters({ filter }: { filter: AlarmFilter }) {
  const { alarms: text } = texts.value;
  const { kind, state, acknowledged, vehicleId, from, until, appId } = filter;
  const { data: named } = useLoad(() => nameVehicles(appId || undefined, vehicleId ? [vehicleId] : []), [vehicleId]);
  const kinds = kindsOf().map((one) => [one, text.kinds[one]] as const);
  const { states, acknowledgements: notes } = text;
  return (
    <search class="alarm-filters">
      <Choice label={text.kind} name="kind" value={kind} options={[['', text.anyKind], ...kinds]} />
      <Choice
        label={text.state}
        name="state"
        value={state}
        options={[
          ['', states.any],
          ['open', states.open],
          ['cleared', states.cleared],
        ]}
      />
      <Choice
        label={text.acknowledgement}
        name="acknowledged"
        value={acknowledged}
        options={[
          ['', notes.any],
          ['false', notes.false],
          ['true', notes.true],
        ]}
      />
      <details class="alarm-more" open={from !== '' || until !== '' || vehicleId !== ''}>
        <summary class="button">{text.more}</summary>
        <div class="alarm-filters">
          <TimeBound label={text.from} name="from" value={from} />
          <TimeBound label={text.until} name="until" value={until} />
          <VehicleChoice
            label={text.vehicle}
            appId={appId || undefined}
            chosen={vehicleId ? (named ?? [{ id: vehicleId, plate: vehicleId }]) : []}
            isSingle
            onChange={([vehicle]) => changeQuery({ vehicle: vehicle?.id ?? '' })}
          />
        </div>
      </details>
    </search>
  );
}

/** How long an alarm lasted, how late it arrived, and who acknowledged it. */
function Course({ alarm }: { alarm: Alarm }) {
  const { alarms: text } = texts.value;
  const { raisedAt, noticedAt, clearedAt, late, acknowledgedAt, acknowledgedBy, note } = alarm;
  return (
    <>
      <span class="alarm-course">
        {clearedAt ? (
          <span class="muted" title={formatFull(clearedAt)}>
            {text.lasted(formatDuration(seconds(raisedAt, clearedAt)))}
          </span>
        ) : (
          <strong class="alarm-open">{text.open}</strong>
        )}
        {late && (
          <span class="alarm-late" title={formatFull(noticedAt)}>
            {text.late(formatDuration(seconds(raisedAt, noticedAt)))}
          </span>
        )}
      </span>
      {acknowledgedAt && (
        <p class="alarm-note muted">
          {text.acknowledged(acknowledgedBy ?? '', formatTime(acknowledgedAt))}
          {note && <q>{note}</q>}
        </p>
      )}
    </>
  );
}

/** Half an hour before and after the alarm. */
const replaySeconds = 1800;

function replayOf({ vehicleId, raisedAt }: Alarm): string {
  const at = Math.floor(Date.parse(raisedAt) / 1000);
  return `/replay?vehicles=${vehicleId}&from=${at - replaySeconds}&until=${at + replaySeconds}&at=${at}`;
}

function AlarmRow({ alarm, rule, onAcknowledge }: { alarm: Alarm; rule: Rule | undefined; onAcknowledge: () => void }) {
  const { alarms: text } = texts.value;
  const { raisedAt, plate, kind, ruleName, clearedAt, acknowledgedAt, location } = alarm;
  const value = valueText(alarm, rule);
  return (
    <li class={`alarm-row${clearedAt ? '' : ' open'}`}>
      <span class={`alarm-kind ${clearedAt ? 'muted' : 'state-alarm'}`}>
        <StateMark state="alarm" size={14} />
        <strong>{text.kinds[kind]}</strong>
      </span>
      <a href={replayOf(alarm)} title={text.atThatMoment(plate)}>
        {plate}
      </a>
      <span class="alarm-rule muted">
        {[value, ruleName, location?.address ?? ''].filter((part) => part !== '').join(' · ')}
      </span>
      <time dateTime={raisedAt} title={formatFull(raisedAt)}>
        {formatTime(raisedAt)}
      </time>
      <Course alarm={alarm} />
      {!acknowledgedAt && mayChange() && <Button onClick={onAcknowledge}>{text.acknowledge}</Button>}
    </li>
  );
}

/** Open and past alarms, the newest first, live. */
export function AlarmList({ appId }: { appId: string }) {
  const { alarms: text, older } = texts.value;
  const filter = readFilter(appId, kindsOf());
  const list = useAlarms(filter);
  const { data: rules } = useLoad(() => loadRules(appId), [appId]);
  const chosen = useSignal<Alarm | undefined>(undefined);
  const close = () => assign(chosen, undefined);
  const { alarms, failure, connection } = list;
  const rows = () => {
    if (!alarms) return failure ? <LoadFailure message={failure} retry={list.reload} /> : <Loading />;
    if (alarms.length === 0 && isFiltered(filter)) return <Empty title={text.noMatch} />;
    if (alarms.length === 0) return <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>;
    return (
      <ul class="card" aria-label={text.title}>
        {alarms.map((alarm) => (
          <AlarmRow
            key={alarm.id}
            alarm={alarm}
            rule={rules?.find(({ id }) => id === alarm.ruleId)}
            onAcknowledge={() => assign(chosen, alarm)}
          />
        ))}
      </ul>
    );
  };
  return (
    <>
      <Filters filter={filter} />
      {connection && <ConnectionLine connection={connection.value} />}
      {alarms && failure && <p class="notice late">{failure}</p>}
      {rows()}
      {list.hasMore && (
        <Button kind="alarm-older" onClick={list.loadOlder}>
          {older}
        </Button>
      )}
      {chosen.value && (
        <Acknowledge
          alarm={chosen.value}
          onClose={close}
          onDone={(acknowledged) => {
            if (acknowledged) list.take(acknowledged);
            close();
          }}
        />
      )}
    </>
  );
}

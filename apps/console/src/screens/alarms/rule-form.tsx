import { readingFields } from '@odograph/contracts/fields';
import type { Signal } from '@preact/signals';
import { answerOf, api, type CallFailure } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { Choice, errorBeyond, errorOf, Field, Form, QuantityInput, TextInput } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { FormEnd, useSave } from '../../parts/forms/use-save.tsx';
import { type ScopeValue, useVehicleDraft, VehicleScope } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { preferences } from '../../preferences.ts';
import { isOperator } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { shownUnit } from '../../texts/units.ts';
import type { AlarmKind } from './alarm-data.ts';
import { conditionText, type Geofence, loadRules, type Rule } from './alarm-text.ts';

type Parameters = Rule['parameters'];
export type ParameterName = keyof Parameters;
type Measure = 'percent' | 'volts';

/** The values of the form. */
export interface Draft extends ScopeValue {
  readonly name: string;
  readonly kind: AlarmKind;
  readonly measure: Measure;
  readonly parameters: Parameters;
  /** With groups, the rule applies to their vehicles and the listed ones, not to all. */
  readonly groupIds: readonly string[];
}

/** The parameters of each kind (docs/alarms.md). */
function parametersOf({ kind, measure }: Draft): readonly ParameterName[] {
  if (kind === 'silent') return ['afterMinutes'];
  if (kind === 'low-battery') return measure === 'percent' ? ['belowPercent'] : ['belowVolts', 'canKey'];
  if (kind === 'geofence') return ['geofenceId', 'when'];
  return kind === 'speed' ? ['limitKmh'] : [];
}

/** Creates the draft of a rule. @param watched the geofence of a new rule */
function toDraft(rule: Rule | undefined, watched: Geofence | undefined): Draft {
  if (!rule) {
    const common = { measure: 'percent', isForAll: isOperator(), vehicles: [], groupIds: [] } as const;
    if (!watched) return { ...common, name: '', kind: 'speed', parameters: { when: 'outside' } };
    return { ...common, name: watched.name, kind: 'geofence', parameters: { geofenceId: watched.id, when: 'outside' } };
  }
  const { name, kind, parameters, vehicleIds, groupIds = [] } = rule;
  const measure = parameters.belowVolts === undefined ? 'percent' : 'volts';
  const vehicles = (vehicleIds ?? []).map((id) => ({ id, plate: id }));
  return {
    name,
    kind,
    measure,
    parameters,
    isForAll: vehicleIds === undefined && groupIds.length === 0,
    vehicles,
    groupIds,
  };
}

function toBody(draft: Draft) {
  const { name, kind, parameters, isForAll, vehicles, groupIds } = draft;
  const listed = !isForAll && (groupIds.length === 0 || vehicles.length > 0);
  const own = Object.fromEntries(parametersOf(draft).map((parameter) => [parameter, parameters[parameter]]));
  return {
    ...{ name: name.trim(), kind, parameters: own },
    ...(listed && { vehicleIds: vehicles.map(({ id }) => id) }),
    ...(groupIds.length > 0 && { groupIds: [...groupIds] }),
  };
}

const facts = limits['/v1/x/alarm-rules'];

interface ParameterOptions {
  readonly name: ParameterName;
  readonly draft: Signal<Draft>;
  readonly geofences: readonly Geofence[];
  readonly failure: CallFailure | undefined;
}

/** The limits of a parameter in the interface. */
interface Fact {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
}

/** The metric unit of a parameter; the form converts to the chosen one. */
const unitOf = (name: ParameterName): string => (name === 'limitKmh' ? readingFields.location.speed.unit : '');

function labelOf(name: ParameterName): string {
  const label = texts.value.alarmRules.fields[name];
  return typeof label === 'string' ? label : label(shownUnit(unitOf(name), preferences.value.units));
}

/** The input of a parameter, made from what the interface says of it. */
function Parameter({ name, draft, geofences, failure }: ParameterOptions) {
  const { alarmRules: text } = texts.value;
  const value = draft.value.parameters[name];
  const fact: Fact = facts[`parameters.${name}`];
  const set = (changed: string | number | undefined) =>
    assign(draft, { ...draft.value, parameters: { ...draft.value.parameters, [name]: changed } });
  const choices =
    name === 'geofenceId'
      ? geofences.map((one) => [one.id, one.name] as const)
      : Object.entries(text.sides).filter(([side]) => fact.enum?.includes(side));
  const hint = name === 'geofenceId' && geofences.length === 0 ? text.noGeofence : undefined;
  return (
    <Field label={labelOf(name)} hint={hint} error={errorOf(failure, `parameters.${name}`)}>
      {(input) => {
        if (choices.length > 0 || name === 'geofenceId') {
          return (
            <select
              {...input}
              class="input"
              required
              value={String(value ?? '')}
              onChange={({ currentTarget }) => set(currentTarget.value)}
            >
              {name === 'geofenceId' && <option value="">{text.chooseGeofence}</option>}
              {choices.map(([one, written]) => (
                <option key={one} value={one}>
                  {written}
                </option>
              ))}
            </select>
          );
        }
        if (fact.minimum !== undefined) {
          return (
            <QuantityInput
              {...input}
              unit={unitOf(name)}
              minimum={fact.minimum}
              maximum={fact.maximum}
              isRequired
              value={typeof value === 'number' ? value : undefined}
              onValue={set}
            />
          );
        }
        return (
          <input
            {...input}
            class="input"
            required
            maxLength={fact.maxLength}
            value={String(value ?? '')}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
        );
      }}
    </Field>
  );
}

function KindField({
  draft,
  isNew,
  failure,
}: {
  draft: Signal<Draft>;
  isNew: boolean;
  failure: CallFailure | undefined;
}) {
  const { alarms, alarmRules: text } = texts.value;
  return (
    <Field label={text.kind} error={errorOf(failure, 'kind')}>
      {(input) => (
        <select
          {...input}
          class="input"
          disabled={!isNew}
          value={draft.value.kind}
          onChange={({ currentTarget }) => assign(draft, { ...draft.value, kind: currentTarget.value as AlarmKind })}
        >
          {facts.kind.enum.map((kind) => (
            <option key={kind} value={kind}>
              {alarms.kinds[kind]}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface RuleFormOptions {
  readonly appId: string;
  /** Undefined for a new one. */
  readonly rule: Rule | undefined;
  /** The geofence of a new rule. */
  readonly watched: Geofence | undefined;
  readonly geofences: readonly Geofence[];
  readonly onClose: () => void;
}

function MeasureChoice({ draft }: { draft: Signal<Draft> }) {
  const { alarmRules: text } = texts.value;
  return (
    <Choice
      label={text.measure}
      name="measure"
      chosen={draft.value.measure}
      options={[
        ['percent', text.measures.percent],
        ['volts', text.measures.volts],
      ]}
      onChoose={(measure) => assign(draft, { ...draft.value, measure })}
    />
  );
}

/** Formats which vehicles a rule applies to: all, those of groups, or listed ones. */
function Scope({ appId, draft, failure }: { appId: string; draft: Signal<Draft>; failure: CallFailure | undefined }) {
  const { groupIds } = draft.value;
  const change = (scope: Partial<Draft>) => assign(draft, { ...draft.value, ...scope });
  return (
    <>
      {isOperator() && (
        <GroupField
          appId={appId}
          value={groupIds[0] ?? ''}
          none={texts.value.groups.none}
          onChange={(id) => change({ groupIds: id === '' ? [] : [id], isForAll: id === '' })}
        />
      )}
      {groupIds.length === 0 && (
        <VehicleScope appId={appId} scope={draft.value} mayBeAll={isOperator()} failure={failure} onChange={change} />
      )}
    </>
  );
}

/** Creates or changes a rule. */
export function RuleForm({ appId, rule, watched, geofences, onClose }: RuleFormOptions) {
  const { alarmRules: text } = texts.value;
  const { draft, show } = useVehicleDraft(appId || undefined, toDraft(rule, watched));
  // A change of its geofence sets activeFrom.
  const saving = useSave(rule, (one) => JSON.stringify({ ...one, activeFrom: '' }));
  const { failure } = saving;
  const submit = () => {
    const [header, body] = [headerFor(appId), toBody(draft.value)];
    if (!rule) {
      saving.run(() => answerOf(api.POST('/v1/x/alarm-rules', { params: { header }, body })), onClose);
      return;
    }
    const params = { path: { id: rule.id }, header };
    saving.runUnlessChanged(
      async () => (await loadRules(appId)).find(({ id }) => id === rule.id),
      () => answerOf(api.PUT('/v1/x/alarm-rules/{id}', { params, body })),
      onClose,
    );
  };
  const describe = (shown: Rule) => ({
    [text.name]: shown.name,
    [text.condition]: conditionText(shown, geofences),
    [text.appliesTo]: [...(shown.groupIds ?? []), ...(shown.vehicleIds ?? [])].join(', ') || text.allVehicles,
  });
  const fields = ['name', 'kind', 'vehicleIds', ...parametersOf(draft.value).map((one) => `parameters.${one}`)];
  const title = rule ? text.change(rule.name) : text.create;
  return (
    <Form class="card form rule-form" aria-label={title} onSubmit={submit}>
      <h2>{title}</h2>
      <TextInput
        label={text.name}
        value={draft.value.name}
        error={errorOf(failure, 'name')}
        maxLength={facts.name.maxLength}
        onValue={(name) => assign(draft, { ...draft.value, name })}
      />
      <KindField draft={draft} isNew={!rule} failure={failure} />
      {draft.value.kind === 'low-battery' && <MeasureChoice draft={draft} />}
      {parametersOf(draft.value).map((parameter) => (
        <Parameter key={parameter} name={parameter} draft={draft} geofences={geofences} failure={failure} />
      ))}
      <Scope appId={appId} draft={draft} failure={failure} />
      {rule && <p class="muted">{text.restarts}</p>}
      <FormEnd
        saving={saving}
        describe={describe}
        failure={failure?.code === 'UNKNOWN_VEHICLE' ? undefined : errorBeyond(failure, fields)}
        onTheirs={(theirs) => show(toDraft(theirs, undefined))}
        onClose={onClose}
      />
    </Form>
  );
}

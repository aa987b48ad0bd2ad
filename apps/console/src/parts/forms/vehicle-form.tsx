import './vehicle-form.css';
import { type Signal, useSignal } from '@preact/signals';
import { answerOf, api, type CallFailure, type Schema } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { ApplicationField } from '../layout/application-choice.tsx';
import { errorBeyond, errorOf, Field, Form, NumberInput, SelectField, TextInput } from './fields.tsx';
import { FormEnd, useSave } from './use-save.tsx';
import type { NamedVehicle } from './vehicle-picker.tsx';

/** A vehicle as operators see it. */
export type OperatedVehicle = Schema<'OperatedVehicle'>;
type Description = Omit<OperatedVehicle, 'id' | 'archived' | 'deviceId'>;

const facts = limits['/v1/x/admin/vehicles'];
const gearboxes = ['', 'AUTOMATIC', 'MANUAL'] as const;
const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
const fields = [
  ...(['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories', 'tankLitres'] as const),
] as const;

/** Loads a vehicle, even an archived one. @throws CallFailure */
export function loadVehicle(id: string): Promise<OperatedVehicle> {
  return answerOf(api.GET('/v1/x/admin/vehicles/{id}', { params: { path: { id } } }));
}

const described = (vehicle: OperatedVehicle | undefined): Description => ({
  ...{ plate: vehicle?.plate ?? '', vin: vehicle?.vin ?? '', brand: vehicle?.brand ?? '', model: vehicle?.model ?? '' },
  ...{ energy: vehicle?.energy ?? '', seats: vehicle?.seats ?? 0, gearbox: vehicle?.gearbox ?? '' },
  ...{ kind: vehicle?.kind ?? '', accessories: vehicle?.accessories ?? [], tankLitres: vehicle?.tankLitres ?? 0 },
});

/** Labels and formats the known properties of a vehicle, in the order of the form. */
export function describe(vehicle: OperatedVehicle): Readonly<Record<string, string>> {
  const { vehicles, vehicleForm: text } = texts.value;
  const known = (number: number) => (number === 0 ? '' : String(number));
  return {
    [vehicles.columns.plate]: vehicle.plate,
    [vehicles.columns.vin]: vehicle.vin,
    [vehicles.columns.brand]: vehicle.brand,
    [vehicles.columns.model]: vehicle.model,
    [vehicles.columns.energy]: vehicle.energy,
    [text.kind]: vehicle.kind,
    [text.seats]: known(vehicle.seats),
    [text.gearbox]: vehicle.gearbox === '' ? '' : text.gearboxes[vehicle.gearbox],
    [text.tankLitres]: known(vehicle.tankLitres),
    [text.accessories]: vehicle.accessories.map((one) => text.accessoryNames[one]).join(', '),
  };
}

interface DraftOptions {
  readonly draft: Signal<Description>;
  readonly failure: CallFailure | undefined;
}

type TextName = 'plate' | 'vin' | 'brand' | 'model' | 'energy' | 'kind';

function VehicleTextField({ name, label, draft, failure }: DraftOptions & { name: TextName; label: string }) {
  return (
    <TextInput
      label={label}
      value={draft.value[name]}
      error={errorOf(failure, name)}
      maxLength={facts[name].maxLength}
      isOptional={name !== 'plate'}
      onValue={(value) => assign(draft, { ...draft.value, [name]: value })}
    />
  );
}

interface NumberOptions extends DraftOptions {
  readonly name: 'seats' | 'tankLitres';
  readonly label: string;
  readonly hint?: string;
}

/** A field for a number; empty stands for 0, which means unknown. */
function VehicleNumberField({ name, label, hint, draft, failure }: NumberOptions) {
  return (
    <Field label={label} hint={hint} error={errorOf(failure, name)}>
      {(input) => (
        <NumberInput
          {...input}
          value={draft.value[name] || undefined}
          minimum={facts[name].minimum}
          maximum={facts[name].maximum}
          onValue={(value = 0) => assign(draft, { ...draft.value, [name]: value })}
        />
      )}
    </Field>
  );
}

function Accessories({ draft }: { draft: Signal<Description> }) {
  const { vehicleForm: text } = texts.value;
  const chosen = draft.value.accessories;
  return (
    <fieldset class="plain accessories">
      <legend>{text.accessories}</legend>
      {accessories.map((one) => (
        <label key={one}>
          <input
            type="checkbox"
            checked={chosen.includes(one)}
            onChange={({ currentTarget: { checked } }) => {
              const others = chosen.filter((other) => other !== one);
              draft.value = { ...draft.value, accessories: checked ? [...others, one] : others };
            }}
          />
          {text.accessoryNames[one]}
        </label>
      ))}
    </fieldset>
  );
}

function MoreFields({ draft, failure }: DraftOptions) {
  const { vehicles, vehicleForm: text } = texts.value;
  return (
    <div class="vehicle-fields">
      <VehicleTextField name="energy" label={vehicles.columns.energy} draft={draft} failure={failure} />
      <VehicleTextField name="kind" label={text.kind} draft={draft} failure={failure} />
      <VehicleNumberField name="seats" label={text.seats} draft={draft} failure={failure} />
      <VehicleNumberField
        name="tankLitres"
        label={text.tankLitres}
        hint={text.tankHint}
        draft={draft}
        failure={failure}
      />
      <SelectField
        label={text.gearbox}
        value={draft.value.gearbox}
        options={gearboxes.map((one) => [one, text.gearboxes[one || 'unknown']])}
        onChange={(value) => {
          const gearbox = gearboxes.find((one) => one === value) ?? '';
          draft.value = { ...draft.value, gearbox };
        }}
      />
      <Accessories draft={draft} />
    </div>
  );
}

interface VehicleFormOptions {
  /** Undefined for a new one. */
  readonly vehicle?: OperatedVehicle;
  /** The application of a new vehicle; without it, the form asks if there are several. */
  readonly appId?: string | undefined;
  /** The label of the button. */
  readonly action?: string;
  readonly onDone: (vehicle: NamedVehicle) => void;
  readonly onClose: () => void;
}

/** Creates or changes a vehicle. */
export function VehicleForm({ vehicle, appId, action, onDone, onClose }: VehicleFormOptions) {
  const { vehicles, vehicleForm: text, application } = texts.value;
  const { applications } = operatorApplications();
  const draft = useSignal(described(vehicle));
  const owner = useSignal(appId ?? applications[0]?.appId ?? '');
  const saving = useSave(vehicle, (one) => JSON.stringify(described(one)));
  const { failure } = saving;
  const submit = () => {
    const { plate } = draft.value;
    let id = vehicle?.id ?? '';
    const done = () => onDone({ id, plate });
    if (!vehicle) {
      const create = async () => {
        const body = { appId: owner.value, ...draft.value };
        ({ id } = await answerOf(api.POST('/v1/x/admin/vehicles', { body })));
      };
      saving.run(create, done);
      return;
    }
    const change = () =>
      answerOf(api.PUT('/v1/x/admin/vehicles/{id}', { params: { path: { id } }, body: draft.value }));
    saving.runUnlessChanged(() => loadVehicle(id), change, done);
  };
  return (
    <Form class="card form" aria-label={vehicle ? text.change(vehicle.plate) : text.new} onSubmit={submit}>
      {!vehicle && appId === undefined && applications.length > 1 && (
        <ApplicationField label={application.label} value={owner.value} onChange={(one) => assign(owner, one)} />
      )}
      <div class="vehicle-fields">
        <VehicleTextField name="plate" label={vehicles.columns.plate} draft={draft} failure={failure} />
        <VehicleTextField name="vin" label={vehicles.columns.vin} draft={draft} failure={failure} />
        <VehicleTextField name="brand" label={vehicles.columns.brand} draft={draft} failure={failure} />
        <VehicleTextField name="model" label={vehicles.columns.model} draft={draft} failure={failure} />
      </div>
      <details open={vehicle !== undefined}>
        <summary>{text.more}</summary>
        <MoreFields draft={draft} failure={failure} />
      </details>
      <FormEnd
        saving={saving}
        describe={describe}
        failure={errorBeyond(failure, fields)}
        onTheirs={(theirs) => assign(draft, described(theirs))}
        {...(action !== undefined && { action })}
        onClose={onClose}
      />
    </Form>
  );
}

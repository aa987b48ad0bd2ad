import './vehicle-picker.css';
import { plateKey } from '@odograph/contracts/text-patterns';
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { answerOf, api, type CallFailure, onlyJson, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';
import { CloseIcon } from '../layout/icons.tsx';
import { errorOf, Labelled, LabelledChoice, type LabelledOptions } from './fields.tsx';
import { SearchBox, typingMs } from './search-box.tsx';

type TableVehicle = Schema<'TableVehicle'>;

/** A vehicle by its identifier, and its plate where that is known. */
export type NamedVehicle = Pick<TableVehicle, 'id' | 'plate'>;

const maxFound = 8;
const maxSuggestions = 20;
const directorySize = 1000;

async function listVehicles(
  appId: string | undefined,
  query: { q?: string; limit: number },
): Promise<readonly TableVehicle[]> {
  const params = { query: { ...query, ...(appId !== undefined && { appId }) } };
  return onlyJson(await answerOf(api.GET('/v1/x/vehicles', { params }))).vehicles;
}

/** Finds the plates of vehicles; one beyond the first 1,000 of the application keeps its identifier. @throws CallFailure */
export async function nameVehicles(appId: string | undefined, ids: readonly string[]): Promise<NamedVehicle[]> {
  if (ids.length === 0) return [];
  const vehicles = await listVehicles(appId, { limit: directorySize });
  const plates = new Map(vehicles.map(({ id, plate }) => [id, plate]));
  return ids.map((id) => ({ id, plate: plates.get(id) ?? id }));
}

/**
 * Keeps the values of a form, and shows the plates of its vehicles once they are loaded; until then, and if that fails,
 * the identifiers.
 * @returns the values, and a function that replaces them
 */
export function useVehicleDraft<Draft extends { readonly vehicles: readonly NamedVehicle[] }>(
  appId: string | undefined,
  initial: Draft,
): { draft: Signal<Draft>; show: (values: Draft) => void } {
  const draft = useSignal(initial);
  const namePlates = async () => {
    const ids = draft.value.vehicles.map(({ id }) => id);
    const named = new Map((await nameVehicles(appId, ids).catch(() => [])).map((vehicle) => [vehicle.id, vehicle]));
    // The form may have changed meanwhile.
    const vehicles = draft.value.vehicles.map((vehicle) => named.get(vehicle.id) ?? vehicle);
    assign(draft, { ...draft.value, vehicles });
  };
  useEffect(() => void namePlates(), []);
  const show = (values: Draft) => {
    assign(draft, values);
    void namePlates();
  };
  return { draft, show };
}

/**
 * Reads the text of a `VehicleField`: a suggestion, an identifier, or a plate that only one vehicle has.
 * @returns its id; undefined for an empty field, and for text that names no vehicle or several
 */
export async function readVehicle(text: string, appId: string | undefined): Promise<string | undefined> {
  const written = text.trim();
  const id = /(?:^| · )(\d{10})$/.exec(written)?.[1];
  if (id !== undefined || written === '') return id;
  const found = await listVehicles(appId, { q: written, limit: maxSuggestions });
  const matches = found.filter(({ plate }) => plateKey(plate) === plateKey(written));
  return matches.length === 1 ? matches[0]?.id : undefined;
}

interface VehicleFieldOptions extends Omit<LabelledOptions, 'children'> {
  readonly name: string;
  /** Only vehicles of this application. */
  readonly appId?: string | undefined;
  readonly required?: boolean;
  readonly initial?: string;
}

/** A form field for one vehicle, with suggestions by plate, VIN and make while a person types. */
export function VehicleField({ label, name, appId, hint, required = false, initial = '' }: VehicleFieldOptions) {
  const found = useSignal<readonly NamedVehicle[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const list = useId();
  const suggest = (q: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      // Without suggestions the field still takes a plate.
      listVehicles(appId, { q, limit: maxSuggestions }).then(
        (vehicles) => assign(found, vehicles),
        () => undefined,
      );
    }, typingMs);
  };
  return (
    <Labelled label={label} hint={hint}>
      <input
        class="input"
        name={name}
        list={list}
        autocomplete="off"
        required={required}
        defaultValue={initial}
        placeholder={texts.value.vehicleHint}
        onInput={({ currentTarget }) => suggest(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {found.value.map(({ id, plate }) => (
          <option key={id} value={`${plate} · ${id}`} />
        ))}
      </datalist>
    </Labelled>
  );
}

interface VehicleSearchOptions {
  readonly label: string;
  readonly placeholder: string;
  readonly appId?: string | undefined;
  /** Attributes of the list of results. */
  readonly list: { readonly class: string; readonly 'aria-label': string };
  readonly describe: (vehicle: TableVehicle) => ComponentChildren;
  readonly onPick: (vehicle: TableVehicle) => void;
}

/** A search for vehicles by plate, VIN, device or make whose results are buttons. */
function VehicleSearch({ label, placeholder, appId, list, describe, onPick }: VehicleSearchOptions) {
  const search = useSignal('');
  const q = search.value;
  const find = async () => (q === '' ? [] : listVehicles(appId, { q, limit: maxFound }));
  const { data, failure } = useLoad(find, [], [q]);
  return (
    <>
      <SearchBox label={label} placeholder={placeholder} initial="" onSearch={(typed) => assign(search, typed)} />
      {failure && <p class="notice wrong">{failure}</p>}
      {q !== '' && data && (
        <ul {...list}>
          {data.length === 0 && <li class="muted">{texts.value.map.noMatch}</li>}
          {data.map((vehicle) => (
            <li key={vehicle.id}>
              <Button kind="plain" onClick={() => onPick(vehicle)}>
                {describe(vehicle)}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Starts something with a vehicle that a person searches for. */
export function VehiclePicker({ label, onPick }: { label: string; onPick: (vehicle: TableVehicle) => void }) {
  return (
    <div class="vehicle-picker">
      <VehicleSearch
        label={label}
        placeholder={label}
        list={{ class: 'card', 'aria-label': label }}
        describe={({ plate, brand, model, deviceId }) => (
          <>
            <strong>{plate}</strong>
            <span class="muted">{`${brand} ${model} ${deviceId}`.trim()}</span>
          </>
        )}
        onPick={onPick}
      />
    </div>
  );
}

interface VehicleChoiceOptions {
  readonly label: string;
  /** Undefined for vehicles of all applications. */
  readonly appId: string | undefined;
  readonly chosen: readonly NamedVehicle[];
  /** Whether another choice replaces the first. */
  readonly isSingle?: boolean;
  readonly error?: string | undefined;
  readonly onChange: (chosen: readonly NamedVehicle[]) => void;
}

/** Chooses vehicles, and lists those that are chosen. */
export function VehicleChoice({ label, appId, chosen, isSingle = false, error, onChange }: VehicleChoiceOptions) {
  const { vehicleChoice: text, map } = texts.value;
  const id = useId();
  const without = (vehicle: NamedVehicle) => chosen.filter((one) => one.id !== vehicle.id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has borders of its own
    <div class="field vehicle-choice" role="group" aria-labelledby={id}>
      <span id={id}>{label}</span>
      {chosen.length > 0 && (
        <ul class="chips">
          {chosen.map((vehicle) => (
            <li key={vehicle.id}>
              {vehicle.plate}
              <button type="button" aria-label={text.remove(vehicle.plate)} onClick={() => onChange(without(vehicle))}>
                <CloseIcon size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {(!isSingle || chosen.length === 0) && (
        <VehicleSearch
          key={chosen.length}
          label={text.search}
          placeholder={map.search}
          appId={appId}
          list={{ class: 'vehicle-choice-found', 'aria-label': text.found }}
          describe={({ plate }) => plate}
          onPick={(vehicle) => onChange(isSingle ? [vehicle] : [...without(vehicle), vehicle])}
        />
      )}
      {error && (
        <small class="field-error" role="alert">
          {error}
        </small>
      )}
    </div>
  );
}

/** The vehicles that a rule or a webhook applies to. */
export interface ScopeValue {
  /** Whether it applies to all vehicles of the application, including future ones. */
  readonly isForAll: boolean;
  readonly vehicles: readonly NamedVehicle[];
}

interface ScopeOptions {
  readonly appId: string;
  readonly scope: ScopeValue;
  /** Whether the person may choose all vehicles. */
  readonly mayBeAll: boolean;
  readonly failure: CallFailure | undefined;
  readonly onChange: (scope: Partial<ScopeValue>) => void;
}

/** A choice between all vehicles of an application and some of them. */
export function VehicleScope({ appId, scope: { isForAll, vehicles }, mayBeAll, failure, onChange }: ScopeOptions) {
  const { vehicleChoice: text } = texts.value;
  const unknown = failure?.code === 'UNKNOWN_VEHICLE' ? failure.message : undefined;
  return (
    <>
      {mayBeAll && (
        <LabelledChoice
          label={text.appliesTo}
          name="scope"
          chosen={isForAll ? 'all' : 'listed'}
          options={[
            ['all', text.all],
            ['listed', text.listed],
          ]}
          onChoose={(scope) => onChange({ isForAll: scope === 'all' })}
        />
      )}
      {!isForAll && (
        <VehicleChoice
          label={text.vehicles}
          appId={appId || undefined}
          chosen={vehicles}
          error={errorOf(failure, 'vehicleIds') ?? unknown}
          onChange={(chosen) => onChange({ vehicles: chosen })}
        />
      )}
    </>
  );
}

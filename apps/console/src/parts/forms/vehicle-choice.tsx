import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { answerOf, api, onlyJson } from '../../api/client.ts';
import { texts } from '../../texts/texts.ts';
import { CloseIcon } from '../layout/icons.tsx';
import { SearchBox } from './search-box.tsx';

/** A vehicle by its identifier, and its plate where that is known. */
export interface NamedVehicle {
  readonly id: string;
  readonly plate: string;
}

const mostFound = 8;
const directorySize = 1000;

/** Finds the plates of vehicles; one beyond the first 1,000 of the application keeps its identifier. @throws CallFailure */
export async function nameVehicles(appId: string | undefined, ids: readonly string[]): Promise<NamedVehicle[]> {
  if (ids.length === 0) return [];
  const query = { limit: directorySize, ...(appId !== undefined && { appId }) };
  const { vehicles } = onlyJson(await answerOf(api.GET('/v1/x/vehicles', { params: { query } })));
  const plates = new Map(vehicles.map(({ id, plate }) => [id, plate]));
  return ids.map((id) => ({ id, plate: plates.get(id) ?? id }));
}

async function find(appId: string | undefined, q: string): Promise<readonly NamedVehicle[]> {
  if (q === '') return [];
  const query = { q, limit: mostFound, ...(appId !== undefined && { appId }) };
  return onlyJson(await answerOf(api.GET('/v1/x/vehicles', { params: { query } }))).vehicles;
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

function Chips({ chosen, onChange }: Pick<VehicleChoiceOptions, 'chosen' | 'onChange'>) {
  if (chosen.length === 0) return null;
  return (
    <ul class="chips">
      {chosen.map((vehicle) => (
        <li key={vehicle.id}>
          {vehicle.plate}
          <button
            type="button"
            aria-label={texts.value.vehicleChoice.remove(vehicle.plate)}
            onClick={() => onChange(chosen.filter((one) => one.id !== vehicle.id))}
          >
            <CloseIcon size={14} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Chooses vehicles by a search for plate, VIN, device or make. */
export function VehicleChoice({ label, appId, chosen, isSingle = false, error, onChange }: VehicleChoiceOptions) {
  const { vehicleChoice: text, map } = texts.value;
  const id = useId();
  const found = useSignal<readonly NamedVehicle[] | undefined>(undefined);
  const asked = useSignal('');
  const search = async (words: string) => {
    asked.value = words;
    const vehicles = await find(appId, words).catch(() => []);
    if (asked.value === words) found.value = words === '' ? undefined : vehicles;
  };
  const add = (vehicle: NamedVehicle) => {
    found.value = undefined;
    onChange(isSingle ? [vehicle] : [...chosen.filter((one) => one.id !== vehicle.id), vehicle]);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has borders of its own
    <div class="field vehicle-choice" role="group" aria-labelledby={id}>
      <span id={id}>{label}</span>
      <Chips chosen={chosen} onChange={onChange} />
      {(!isSingle || chosen.length === 0) && (
        <SearchBox
          key={chosen.length}
          label={text.search}
          placeholder={map.search}
          initial=""
          onSearch={(words) => void search(words)}
        />
      )}
      {found.value && (
        <ul class="vehicle-choice-found" aria-label={text.found}>
          {found.value.length === 0 && <li class="muted">{map.noMatch}</li>}
          {found.value.map((vehicle) => (
            <li key={vehicle.id}>
              <button type="button" class="button plain" onClick={() => add(vehicle)}>
                {vehicle.plate}
              </button>
            </li>
          ))}
        </ul>
      )}
      {error && (
        <small class="field-error" role="alert">
          {error}
        </small>
      )}
    </div>
  );
}

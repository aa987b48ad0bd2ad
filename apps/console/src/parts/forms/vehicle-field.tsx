import { useSignal } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import { texts } from '../../texts/texts.ts';

const typingMs = 250;
const suggestions = 20;

/** Writes a vehicle as the field suggests it. */
const suggestionOf = ({ plate, id }: { plate: string; id: string }): string => `${plate} · ${id}`;

async function findVehicles(search: string, appId: string | undefined) {
  const params = {
    query: { q: search, limit: suggestions, sort: 'plate' as const },
    ...(appId !== undefined && { header: { 'X-Application': appId } }),
  };
  const answer = await answerOf(api.GET('/v1/x/vehicles', { params }));
  return typeof answer === 'string' ? [] : answer.vehicles;
}

/**
 * Reads the vehicle of the field: a suggestion, an identifier, or a plate that only one vehicle has.
 * @returns its id; undefined for an empty field, and for text that names no vehicle or several
 */
export async function readVehicle(text: string, appId: string | undefined): Promise<string | undefined> {
  const written = text.trim();
  const id = /(?:^| · )(\d{10})$/.exec(written)?.[1];
  if (id !== undefined || written === '') return id;
  const letters = (plate: string) => plate.toUpperCase().replace(/[^A-Z0-9]/g, '');
  const found = (await findVehicles(letters(written), appId)).filter(
    ({ plate }) => letters(plate) === letters(written),
  );
  return found.length === 1 ? found[0]?.id : undefined;
}

interface VehicleFieldOptions {
  readonly label: string;
  readonly name: string;
  /** Only vehicles of this application. */
  readonly appId?: string | undefined;
  readonly hint?: string;
  readonly required?: boolean;
}

/** A field for a vehicle, with suggestions by plate, VIN and make while a person types. */
export function VehicleField({ label, name, appId, hint, required = false }: VehicleFieldOptions) {
  const found = useSignal<readonly string[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const list = useId();
  const suggest = (search: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      // Without suggestions the field still takes a plate.
      findVehicles(search, appId).then(
        (vehicles) => {
          found.value = vehicles.map(suggestionOf);
        },
        () => undefined,
      );
    }, typingMs);
  };
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        name={name}
        list={list}
        autocomplete="off"
        required={required}
        placeholder={texts.value.vehicleHint}
        onInput={({ currentTarget }) => suggest(currentTarget.value.trim())}
      />
      <datalist id={list}>
        {found.value.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      {hint && <small class="muted">{hint}</small>}
    </label>
  );
}

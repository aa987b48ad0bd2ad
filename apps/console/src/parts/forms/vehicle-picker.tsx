import './vehicle-picker.css';
import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { texts } from '../../texts/texts.ts';
import { SearchBox } from './search-box.tsx';

type Found = Schema<'TableVehicle'>;

const mostFound = 8;

async function find(search: string): Promise<readonly Found[]> {
  if (search === '') return [];
  const query = { q: search, limit: mostFound };
  const answer = await answerOf(api.GET('/v1/x/vehicles', { params: { query } }));
  // The same address also answers CSV.
  return typeof answer === 'string' ? [] : answer.vehicles;
}

/** A search for vehicles by plate, VIN or device whose results are buttons. */
export function VehiclePicker({ label, onPick }: { label: string; onPick: (vehicle: Found) => void }) {
  const search = useSignal('');
  const { data, failure } = useLoad(() => find(search.value), [search.value]);
  return (
    <div class="vehicle-picker">
      <SearchBox
        label={label}
        placeholder={label}
        initial=""
        onSearch={(typed) => {
          search.value = typed;
        }}
      />
      {failure && <p class="notice wrong">{failure}</p>}
      {search.value !== '' && data && (
        <ul class="card" aria-label={label}>
          {data.length === 0 && <li class="muted">{texts.value.map.noMatch}</li>}
          {data.map((vehicle) => (
            <li key={vehicle.id}>
              <button type="button" class="button plain" onClick={() => onPick(vehicle)}>
                <strong>{vehicle.plate}</strong>
                <span class="muted">{`${vehicle.brand} ${vehicle.model} ${vehicle.deviceId}`.trim()}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

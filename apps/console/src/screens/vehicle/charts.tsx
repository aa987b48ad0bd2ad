import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { nameOfSeries } from '../../texts/fields.ts';
import { texts } from '../../texts/texts.ts';
import { type Field, Figures, IntervalBar, loadFields, useWindow } from './series-figures.tsx';

/** Shown until a person chooses others, as far as the vehicle has them. */
const usualFields = ['speed', 'soc', 'mileage'];
const maxFields = 8;

/** The fields that the address names, which is how other pages open a chart. */
function readChosen(): readonly string[] | undefined {
  const named = address.value.query.get('fields');
  return named === null ? undefined : named.split(',').filter((field) => field !== '');
}

function Chosen({ vehicle, fields }: { vehicle: LiveVehicle; fields: readonly Field[] }) {
  const { charts: text } = texts.value;
  const known = fields.map(({ field }) => field);
  const chosen = readChosen() ?? usualFields.filter((field) => known.includes(field));
  const window = useWindow('day');
  const choose = (names: readonly string[]) => changeQuery({ fields: names.join(',') });
  return (
    <div class="page charts">
      <div class="charts-bar">
        <IntervalBar window={window} />
        <select
          class="input"
          aria-label={text.add}
          value=""
          disabled={chosen.length >= maxFields}
          onChange={({ currentTarget }) => choose([...chosen, currentTarget.value])}
        >
          <option value="">{text.add}</option>
          {known
            .filter((field) => !chosen.includes(field))
            .map((field) => (
              <option key={field} value={field}>
                {nameOfSeries(field)}
              </option>
            ))}
        </select>
      </div>
      {chosen.length === 0 ? (
        <Empty title={text.choose} />
      ) : (
        <Figures
          vehicleId={vehicle.id}
          fields={fields}
          chosen={chosen}
          window={window}
          onRemove={(field) => choose(chosen.filter((one) => one !== field))}
        />
      )}
    </div>
  );
}

/** Any field of a vehicle over any period up to a year, several with one cursor. */
export function Charts({ vehicle }: { vehicle: LiveVehicle }) {
  const { vehiclePage } = texts.value;
  const { data, failure, reload } = useLoad(() => loadFields(vehicle.id), [vehicle.id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={vehiclePage.noData}>{<p>{vehiclePage.noDataText}</p>}</Empty>;
  return <Chosen vehicle={vehicle} fields={data} />;
}

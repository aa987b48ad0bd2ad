import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { SearchBox } from '../../parts/forms/search-box.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { assign } from '../../signals.ts';
import { factsOfValue, formatValue, inOrder, nameOfValue } from '../../texts/fields.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Value = Schema<'LatestValue'>;

/** The values are read again at most this often, however fast readings arrive. */
const refreshMs = 5000;

/** Returns a number that changes with the last contact of a vehicle, at most every five seconds. */
export const contactStep = ({ lastContact }: LiveVehicle): number =>
  lastContact === undefined ? 0 : Math.floor(Date.parse(lastContact) / refreshMs);

async function load(id: string): Promise<readonly Value[]> {
  return (await answerOf(api.GET('/v1/x/vehicle/{id}/values', { params: { path: { id } } }))).values;
}

/** The name of a value, with a link to its chart if there is one. */
export function ValueName({ vehicleId, value }: { vehicleId: string; value: Value }) {
  const { field } = value;
  const name = nameOfValue(value);
  if (!field) return name;
  return <a href={`/vehicles/${vehicleId}/charts?${new URLSearchParams({ fields: field })}`}>{name}</a>;
}

function Row({ vehicleId, value: shown }: { vehicleId: string; value: Value }) {
  const { value, unit, time } = shown;
  return (
    <tr>
      <td class="muted group-name">{groupName(shown.group)}</td>
      <th scope="row">
        <ValueName vehicleId={vehicleId} value={shown} />
      </th>
      <td class="number">{formatValue(value, factsOfValue(shown), unit)}</td>
      <td title={formatFull(time)}>{formatTime(time)}</td>
    </tr>
  );
}

/** Returns the name of a group of readings in the page's language. */
export function groupName(group: string): string {
  const groups: Readonly<Record<string, string>> = texts.value.vehiclePage.groups;
  return groups[group] ?? group;
}

/** The text to search: the shown name and that of the interface. */
const searchedText = (value: Value): string =>
  `${groupName(value.group)} ${nameOfValue(value)} ${value.name}`.toLowerCase();

/** Every latest value of a vehicle, CAN data and sensors included, to search; each opens its chart. */
export function Values({ vehicle }: { vehicle: LiveVehicle }) {
  const { values: text, vehiclePage, map } = texts.value;
  const search = useSignal('');
  const { data, failure, reload } = useLoad(() => load(vehicle.id), [vehicle.id, contactStep(vehicle)]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={vehiclePage.noData}>{<p>{vehiclePage.noDataText}</p>}</Empty>;
  const words = search.value.toLowerCase().split(/\s+/);
  const shown = inOrder(data).filter((value) => words.every((word) => searchedText(value).includes(word)));
  return (
    <div class="page">
      <SearchBox label={text.search} placeholder={text.search} initial="" onSearch={(typed) => assign(search, typed)} />
      {shown.length === 0 ? (
        <Empty title={map.noMatch} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section class="card table-frame" tabIndex={0} aria-label={vehicle.plate}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col" class="group-name">
                  {text.group}
                </th>
                <th scope="col">{text.name}</th>
                <th scope="col" class="number">
                  {text.value}
                </th>
                <th scope="col">{text.time}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((value) => (
                <Row key={`${value.group} ${value.name}`} vehicleId={vehicle.id} value={value} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

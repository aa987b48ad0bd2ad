import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
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

/** Returns the last contact of a vehicle, which changes at most every five seconds; a later one follows in any case. */
export function useLastContact({ lastContact }: LiveVehicle): string | undefined {
  const returned = useSignal(lastContact);
  const changedMs = useRef(0);
  useEffect(() => {
    if (returned.peek() === lastContact) return undefined;
    const change = () => {
      changedMs.current = Date.now();
      returned.value = lastContact;
    };
    const timer = setTimeout(change, changedMs.current + refreshMs - Date.now());
    return () => clearTimeout(timer);
  }, [lastContact]);
  return returned.value;
}

async function load(id: string): Promise<readonly Value[]> {
  return (await answerOf(api.GET('/v1/x/vehicle/{id}/values', { params: { path: { id } } }))).values;
}

/** The groups of readings, in display order. */
export const groups = ['electric', 'status', 'fleet', 'location', 'alarms', 'sensors', 'can'] as const;

/** Leaves out values that the device does not know, and the older one of two values of the same quantity. */
export function distinct(values: readonly Value[]): Value[] {
  const known = values.filter((value) => !(factsOfValue(value)?.isUnknownAtZero && Number(value.value) === 0));
  const newest = new Map<string, Value>();
  for (const value of known) {
    const facts = factsOfValue(value);
    const quantity = facts?.sameAs ?? value.field ?? `${value.group} ${value.name}`;
    const other = newest.get(quantity);
    if (!other || other.time < value.time) newest.set(quantity, value);
  }
  const kept = new Set(newest.values());
  return known.filter((value) => kept.has(value));
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

function GroupRows({ vehicleId, group, values }: { vehicleId: string; group: string; values: readonly Value[] }) {
  return (
    <tbody>
      <tr class="group-name">
        <th scope="rowgroup" colSpan={3}>
          {groupName(group)}
        </th>
      </tr>
      {values.map((value) => (
        <Row key={value.name} vehicleId={vehicleId} value={value} />
      ))}
    </tbody>
  );
}

/** Every latest value of a vehicle, CAN data and sensors included, to search; each opens its chart. */
export function Values({ vehicle }: { vehicle: LiveVehicle }) {
  const { values: text, vehiclePage, map } = texts.value;
  const search = useSignal('');
  const { data, failure, reload } = useLoad(() => load(vehicle.id), [vehicle.id], [useLastContact(vehicle)]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={vehiclePage.noData}>{<p>{vehiclePage.noDataText}</p>}</Empty>;
  const words = search.value.toLowerCase().split(/\s+/);
  const found = distinct(data).filter((value) => words.every((word) => searchedText(value).includes(word)));
  const shown = groups.map((group) => ({ group, values: inOrder(found.filter((value) => value.group === group)) }));
  return (
    <div class="page">
      {failure && <p class="notice late">{failure}</p>}
      <SearchBox label={text.search} placeholder={text.search} initial="" onSearch={(typed) => assign(search, typed)} />
      {found.length === 0 ? (
        <Empty title={map.noMatch} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <section class="card table-frame" tabIndex={0} aria-label={vehicle.plate}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{text.name}</th>
                <th scope="col" class="number">
                  {text.value}
                </th>
                <th scope="col">{text.time}</th>
              </tr>
            </thead>
            {shown
              .filter(({ values }) => values.length > 0)
              .map(({ group, values }) => (
                <GroupRows key={group} vehicleId={vehicle.id} group={group} values={values} />
              ))}
          </table>
        </section>
      )}
    </div>
  );
}

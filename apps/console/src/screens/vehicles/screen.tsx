import './vehicles.css';
import { usePages } from '../../api/use-pages.ts';
import { SearchBox } from '../../parts/forms/search-box.tsx';
import { StateMark } from '../../parts/layout/vehicle-state.tsx';
import { DataTable } from '../../parts/lists/data-table.tsx';
import { prefer, preferences } from '../../preferences.ts';
import { address, navigate } from '../../router.ts';
import { texts } from '../../texts/texts.ts';
import { type ColumnName, chosenVehicles, columnNames, columnsOf, usualColumns } from './columns.tsx';
import { loadPage, parametersOf, type TableRequest } from './table-data.ts';

const states = ['moving', 'parked', 'silent', 'private'] as const;

function readRequest(): TableRequest {
  const { query } = address.value;
  const chosen = (query.get('state') ?? '').split(',').filter((state) => states.some((one) => one === state));
  return { search: query.get('q') ?? '', states: chosen, sort: query.get('sort') ?? 'plate' };
}

function open(request: TableRequest): void {
  navigate(`/vehicles?${new URLSearchParams(parametersOf(request))}`, { replace: true });
}

function StateChoice({ request }: { request: TableRequest }) {
  const { map, states: names } = texts.value;
  const toggle = (state: string) => {
    const without = request.states.filter((one) => one !== state);
    open({ ...request, states: without.length < request.states.length ? without : [...request.states, state] });
  };
  return (
    <fieldset class="chips">
      <legend class="visually-hidden">{map.filter}</legend>
      {states.map((state) => (
        <label key={state}>
          <input
            class="visually-hidden"
            type="checkbox"
            checked={request.states.includes(state)}
            onChange={() => toggle(state)}
          />
          <StateMark state={state} size={14} />
          {names[state]}
        </label>
      ))}
    </fieldset>
  );
}

function ColumnChoice({ shown }: { shown: readonly ColumnName[] }) {
  const { vehicles: text } = texts.value;
  return (
    <details class="column-choice">
      <summary class="button">{text.chooseColumns}</summary>
      <div class="card">
        {columnNames.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={shown.includes(name)}
              disabled={name === 'plate'}
              onChange={({ currentTarget }) =>
                prefer({ columns: currentTarget.checked ? [...shown, name] : shown.filter((one) => one !== name) })
              }
            />
            {text.columns[name]}
          </label>
        ))}
      </div>
    </details>
  );
}

function Rows({ request, names }: { request: TableRequest; names: readonly ColumnName[] }) {
  const { vehicles: text, map } = texts.value;
  const pages = usePages((after) => loadPage(request, after), [request.search, request.sort, request.states.join(',')]);
  return (
    <DataTable
      label={text.title}
      pages={pages}
      columns={columnsOf(names).map((column) => ({ ...column, title: text.columns[column.name] }))}
      keyOf={({ id }) => id}
      sort={request.sort}
      onSort={(sort) => open({ ...request, sort })}
      count={(total, formatted) => (total === 1 ? map.countOne : text.count(formatted))}
      empty={request.search || request.states.length > 0 ? map.noMatch : map.none}
    />
  );
}

/** All vehicles as a table: searched, filtered and sorted by the platform. */
export function VehiclesScreen() {
  const { vehicles: text, map } = texts.value;
  const request = readRequest();
  const chosen = preferences.value.columns;
  const names = columnNames.filter((name) => (chosen ?? usualColumns).includes(name));
  const csv = new URLSearchParams({ ...parametersOf(request), format: 'csv', columns: names.join(',') });
  return (
    <div class="table-screen">
      <div class="screen-bar">
        <h1>{text.title}</h1>
        <SearchBox
          label={map.searchLabel}
          placeholder={map.search}
          initial={request.search}
          onSearch={(search) => open({ ...readRequest(), search })}
        />
        <StateChoice request={request} />
        <span class="spacer" />
        {chosenVehicles.value.length > 0 && (
          <a class="button primary" href={`/replay?vehicles=${chosenVehicles.value.join(',')}`}>
            {texts.value.replay.open(chosenVehicles.value.length)}
          </a>
        )}
        <ColumnChoice shown={names} />
        <a class="button" href={`/v1/x/vehicles?${csv}`} download="vehicles.csv" data-load>
          {text.download}
        </a>
      </div>
      <Rows request={request} names={names} />
    </div>
  );
}

import './vehicles.css';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formatNumber } from '../../parts/format.ts';
import { Empty, LoadFailure, Loading } from '../../parts/placeholders.tsx';
import { prefer, preferences } from '../../parts/preferences.ts';
import { address, navigate } from '../../parts/router.ts';
import { SearchBox } from '../../parts/search-box.tsx';
import { StateMark } from '../../parts/vehicle-state.tsx';
import { texts } from '../../texts/texts.ts';
import { type ColumnName, columnNames, columnsOf, usualColumns } from './columns.tsx';
import { parametersOf, type TableRequest, type TableVehicle } from './table-data.ts';
import { useTable } from './use-table.ts';

const states = ['moving', 'parked', 'silent', 'private'] as const;
const rowHeight = 35;
const spare = 10;

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
    <fieldset class="state-choice">
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

function Head({ columns, request }: { columns: ReturnType<typeof columnsOf>; request: TableRequest }) {
  const { vehicles: text } = texts.value;
  const [sorted, isDescending] = [request.sort.replace('-', ''), request.sort.startsWith('-')];
  const direction = isDescending ? 'descending' : 'ascending';
  return (
    <thead>
      <tr>
        {columns.map(({ name, isNumber }) => (
          <th
            key={name}
            scope="col"
            class={isNumber ? 'number' : ''}
            aria-sort={name === sorted ? direction : undefined}
          >
            <button
              type="button"
              onClick={() => open({ ...request, sort: name === sorted && !isDescending ? `-${name}` : name })}
            >
              {text.columns[name]}
              {name === sorted && <span aria-hidden="true">{isDescending ? '↓' : '↑'}</span>}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface BodyOptions {
  readonly vehicles: readonly TableVehicle[];
  readonly columns: ReturnType<typeof columnsOf>;
  readonly first: number;
  readonly last: number;
}

/** The visible rows, between rows that are as high as all the others. */
function Body({ vehicles, columns, first, last }: BodyOptions) {
  const gap = (rows: number) => (
    <tr class="spare">
      <td colSpan={columns.length} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
  return (
    <tbody>
      {first > 0 && gap(first)}
      {vehicles.slice(first, last).map((vehicle, index) => (
        <tr key={vehicle.id} aria-rowindex={first + index + 2}>
          {columns.map(({ name, isNumber, cell }) => (
            <td key={name} class={isNumber ? 'number' : ''}>
              {cell(vehicle)}
            </td>
          ))}
        </tr>
      ))}
      {last < vehicles.length && gap(vehicles.length - last)}
    </tbody>
  );
}

function Rows({ request, columns }: { request: TableRequest; columns: ReturnType<typeof columnsOf> }) {
  const { vehicles: text, map } = texts.value;
  const { rows, failure, isLoading, loadNext, reload } = useTable(request);
  const frame = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(800);
  useEffect(() => {
    height.value = frame.current?.clientHeight ?? 800;
  });
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const first = Math.max(0, Math.floor(top.value / rowHeight) - spare);
  const last = Math.min(rows.vehicles.length, Math.ceil((top.value + height.value) / rowHeight) + spare);
  return (
    <section
      class={`vehicles-table${failure ? ' stale' : ''}`}
      ref={frame}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
      tabIndex={0}
      aria-label={text.title}
      aria-busy={isLoading}
      onScroll={({ currentTarget }) => {
        top.value = currentTarget.scrollTop;
        if (currentTarget.scrollTop + currentTarget.clientHeight * 3 > currentTarget.scrollHeight) loadNext();
      }}
    >
      {failure && <p class="notice late">{failure}</p>}
      <p class="vehicles-count muted" role="status">
        {rows.total === 1 ? map.countOne : text.count(formatNumber(rows.total))}
      </p>
      <table class="table" aria-rowcount={rows.total + 1}>
        <caption class="visually-hidden">{text.count(formatNumber(rows.total))}</caption>
        <Head columns={columns} request={request} />
        <Body vehicles={rows.vehicles} columns={columns} first={first} last={last} />
      </table>
      {rows.vehicles.length === 0 && (
        <Empty title={request.search || request.states.length > 0 ? map.noMatch : map.none} />
      )}
    </section>
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
    <div class="vehicles">
      <div class="vehicles-bar">
        <h1>{text.title}</h1>
        <SearchBox
          label={map.searchLabel}
          placeholder={map.search}
          initial={request.search}
          onSearch={(search) => open({ ...readRequest(), search })}
        />
        <StateChoice request={request} />
        <span class="spacer" />
        <ColumnChoice shown={names} />
        <a class="button" href={`/v1/x/vehicles?${csv}`} download="vehicles.csv" data-load>
          {text.download}
        </a>
      </div>
      <Rows request={request} columns={columnsOf(names)} />
    </div>
  );
}

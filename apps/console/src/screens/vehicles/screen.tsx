import './vehicles.css';
import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, onlyJson, type Schema } from '../../api/client.ts';
import { nextPage, type Page, usePages } from '../../api/use-pages.ts';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { ImportPage } from '../../parts/forms/import-page.tsx';
import { SearchBox } from '../../parts/forms/search-box.tsx';
import { ApplicationField } from '../../parts/layout/application-choice.tsx';
import { NoVehicles } from '../../parts/layout/no-vehicles.tsx';
import { Empty, Heading } from '../../parts/layout/placeholders.tsx';
import { StateMark, shownState, stateText } from '../../parts/layout/vehicle-state.tsx';
import { DataTable } from '../../parts/lists/data-table.tsx';
import { prefer, preferences } from '../../preferences.ts';
import { address, navigate } from '../../router.ts';
import { hasRole, operatorApplications } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatDistance, formatFull, formatPercent, formatSpeed, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { GroupsPage } from './groups.tsx';
import { Guide } from './guide.tsx';

export type TableVehicle = Schema<'TableVehicle'>;

/** The filters of the table, as in its address. */
export interface TableRequest {
  readonly search: string;
  /** None: all but archived. */
  readonly states: readonly string[];
  /** The id of a group; empty for all vehicles. */
  readonly group: string;
  /** A column, with a minus sign in descending order. */
  readonly sort: string;
}

const pageSize = 200;

/** The parameters of GET /v1/x/vehicles. */
export function parametersOf({ search, states, group, sort }: TableRequest): Readonly<Record<string, string>> {
  return {
    ...(search !== '' && { q: search }),
    ...(states.length > 0 && { state: states.join(',') }),
    ...(group !== '' && { group }),
    sort,
  };
}

/** Loads a page of the table. @param address adds addresses @throws CallFailure */
export async function loadPage(
  request: TableRequest,
  after: string | undefined,
  address = false,
): Promise<Page<TableVehicle>> {
  const query = { ...parametersOf(request), limit: pageSize, address, ...(after !== undefined && { after }) };
  const call = api.GET('/v1/x/vehicles', { params: { query } });
  const { vehicles, total } = onlyJson(await answerOf(call));
  return { rows: vehicles, total, after: nextPage((await call).response) };
}

const maxReplayed = 10;

interface Column {
  /** As in the parameters `sort` and `columns` of GET /v1/x/vehicles. */
  readonly name: ColumnName;
  readonly isNumber?: true;
  readonly isSortable: boolean;
  readonly cell: (vehicle: TableVehicle) => ComponentChildren;
}

/** All columns in their order. */
export const columnNames = [
  ...(['plate', 'state', 'brand', 'model', 'speed', 'soc', 'range', 'mileage', 'parkedSince', 'lastContact'] as const),
  ...(['deviceId', 'address', 'vin', 'energy', 'appId', 'id'] as const),
] as const;
export type ColumnName = (typeof columnNames)[number];

/** Those that are shown until a person chooses others. */
export const usualColumns: readonly ColumnName[] = columnNames.slice(0, 11);

const whenKnown = <Value,>(value: Value | undefined, write: (value: Value) => string): string =>
  value === undefined ? '' : write(value);

/** The vehicles chosen for a replay, by their ids. */
export const chosenVehicles = signal<readonly string[]>([]);

/** A vehicle's plate, and the box that chooses it. */
function PlateCell({ vehicle: { id, plate } }: { vehicle: TableVehicle }) {
  const isChosen = chosenVehicles.value.includes(id);
  return (
    <span class="plate-cell">
      <input
        type="checkbox"
        aria-label={texts.value.replay.choose(plate)}
        checked={isChosen}
        disabled={!isChosen && chosenVehicles.value.length >= maxReplayed}
        onChange={() => {
          chosenVehicles.value = isChosen
            ? chosenVehicles.value.filter((one) => one !== id)
            : [...chosenVehicles.value, id];
        }}
      />
      <a href={`/vehicles/${id}`}>{plate}</a>
    </span>
  );
}

const cells: Readonly<Record<ColumnName, (vehicle: TableVehicle) => ComponentChildren>> = {
  plate: (vehicle) => <PlateCell vehicle={vehicle} />,
  state: (vehicle) => (
    <span class="state-cell">
      <StateMark state={shownState(vehicle)} size={14} />
      {stateText(vehicle)}
    </span>
  ),
  brand: ({ brand }) => brand,
  model: ({ model }) => model,
  speed: ({ speed, state }) => (state === 'moving' ? whenKnown(speed, formatSpeed) : ''),
  soc: ({ soc }) => whenKnown(soc, formatPercent),
  range: ({ range }) => whenKnown(range, formatDistance),
  mileage: ({ mileage }) => whenKnown(mileage, formatDistance),
  parkedSince: ({ parkedSince }) => (
    <span title={whenKnown(parkedSince, formatFull)}>{whenKnown(parkedSince, formatTime)}</span>
  ),
  lastContact: ({ lastContact }) => (
    <span title={whenKnown(lastContact, formatFull)}>{whenKnown(lastContact, formatAgo)}</span>
  ),
  deviceId: ({ deviceId }) => deviceId,
  address: ({ location }) => location?.address ?? '',
  vin: ({ vin }) => vin,
  energy: ({ energy }) => energy,
  appId: ({ appId }) => appId,
  id: ({ id }) => id,
};
const numbers: ReadonlySet<ColumnName> = new Set(['speed', 'soc', 'range', 'mileage']);

/** The columns with these names, in the order of the table. */
export function columnsOf(names: readonly ColumnName[]): readonly Column[] {
  return columnNames
    .filter((name) => names.includes(name))
    .map((name) => ({
      ...{ name, cell: cells[name], isSortable: name !== 'address' },
      ...(numbers.has(name) && { isNumber: true as const }),
    }));
}

const states = ['moving', 'parked', 'silent', 'private', 'archived'] as const;

function readRequest(): TableRequest {
  const { query } = address.value;
  const chosen = (query.get('state') ?? '').split(',').filter((state) => states.some((one) => one === state));
  return {
    ...{ search: query.get('q') ?? '', states: chosen, group: query.get('group') ?? '' },
    sort: query.get('sort') ?? 'plate',
  };
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
  const hasAddress = names.includes('address');
  const pages = usePages(
    (after) => loadPage(request, after, hasAddress),
    [hasAddress, request.search, request.sort, request.group, request.states.join(',')],
  );
  const isFiltered = request.search !== '' || request.group !== '' || request.states.length > 0;
  if (pages.rows?.total === 0 && !isFiltered) return <NoVehicles />;
  return (
    <DataTable
      label={text.title}
      pages={pages}
      columns={columnsOf(names).map((column) => ({ ...column, title: text.columns[column.name] }))}
      keyOf={({ id }) => id}
      sort={request.sort}
      onSort={(sort) => open({ ...request, sort })}
      count={text.count}
      empty={map.noMatch}
    />
  );
}

/** All vehicles as a table: searched, filtered and sorted by the platform. */
function VehiclesTable() {
  const { vehicles: text, map, guide } = texts.value;
  const request = readRequest();
  const chosen = preferences.value.columns;
  const names = columnNames.filter((name) => (chosen ?? usualColumns).includes(name));
  const csv = new URLSearchParams({ ...parametersOf(request), format: 'csv', columns: names.join(',') });
  return (
    <div class="table-screen">
      <div class="screen-bar">
        <Heading text={text.title} />
        <SearchBox
          label={map.searchLabel}
          placeholder={map.search}
          initial={request.search}
          onSearch={(search) => open({ ...readRequest(), search })}
        />
        <StateChoice request={request} />
        <GroupField
          appId=""
          value={request.group}
          none={texts.value.groups.all}
          onChange={(group) => open({ ...readRequest(), group })}
        />
        <div class="screen-actions">
          {chosenVehicles.value.length > 0 && (
            <a class="button primary" href={`/replay?vehicles=${chosenVehicles.value.join(',')}`}>
              {texts.value.replay.open(chosenVehicles.value.length)}
            </a>
          )}
          <ColumnChoice shown={names} />
          <a class="button" href={`/v1/x/vehicles?${csv}`} download="vehicles.csv" data-load>
            {text.download}
          </a>
          <a class="button" href="/exports">
            {texts.value.exports.title}
          </a>
          {hasRole('administrator') && (
            <a class="button" href="/vehicles?groups">
              {texts.value.groups.title}
            </a>
          )}
          {hasRole('operator') && (
            <>
              <a class="button" href="/vehicles?add=file">
                {guide.addMany}
              </a>
              <a class="button primary" href="/vehicles?add=one">
                {guide.add}
              </a>
            </>
          )}
        </div>
      </div>
      <Rows request={request} names={names} />
    </div>
  );
}

/** The table of vehicles, their groups, and new vehicles: one with its device, or many from a file. */
export function VehiclesScreen() {
  const { query } = address.value;
  if (query.has('groups') && hasRole('administrator')) return <GroupsPage />;
  const add = query.get('add');
  if (add === null) return <VehiclesTable />;
  if (!hasRole('operator')) return <NoVehicles />;
  if (add === 'file') return <VehicleImport />;
  return <Guide key={query.get('vehicle')} vehicleId={query.get('vehicle') ?? undefined} />;
}

const columns = [
  ...['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories', 'tankLitres'],
];

/** Creates many vehicles of an application from a CSV file. */
function VehicleImport() {
  const { guide, vehicleImport: text, application } = texts.value;
  const { applications } = operatorApplications();
  const appId = useSignal(applications[0]?.appId ?? '');
  if (applications.length === 0) return <Empty title={application.none}>{<p>{guide.noApplication}</p>}</Empty>;
  return (
    <ImportPage
      back={{ href: '/vehicles', text: guide.back }}
      title={guide.addMany}
      file="vehicles.csv"
      columns={columns}
      text={text}
      send={(csv, check) =>
        answerOf(api.POST('/v1/x/admin/vehicle-imports', { body: { appId: appId.value, csv, check } }))
      }
      onWritten={async ({ vehicles }) => (
        <>
          <p class="notice good" role="status">
            {text.done(vehicles.length)}
          </p>
          <div class="row">
            <a class="button" href="/vehicles">
              {guide.back}
            </a>
            <a class="button primary" href="/devices?add=file">
              {text.devices}
            </a>
          </div>
        </>
      )}
    >
      {applications.length > 1 && (
        <ApplicationField label={application.label} value={appId.value} onChange={(one) => assign(appId, one)} />
      )}
    </ImportPage>
  );
}

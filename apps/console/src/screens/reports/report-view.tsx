import { type Column, type ReportKind, tablesOf } from '@odograph/reports/columns';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { SelectField } from '../../parts/forms/fields.tsx';
import { GroupField } from '../../parts/forms/group-field.tsx';
import { nameVehicles, VehicleChoice } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { LockIcon } from '../../parts/layout/icons.tsx';
import { LoadFailure, Loading, Tabs } from '../../parts/layout/placeholders.tsx';
import { DataTable } from '../../parts/lists/data-table.tsx';
import { Chart } from '../../parts/time/chart.tsx';
import { addDays, timeOf } from '../../parts/time/days.ts';
import { MileageEntry, type MileageTrip } from '../../parts/trips/mileage-entry.tsx';
import { type Preferences, preferences } from '../../preferences.ts';
import { address, changeQuery } from '../../router.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatDay, formatNumber, fromLocalInput } from '../../texts/format.ts';
import { type ReportTexts, useReportTexts } from '../../texts/report-texts.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import { decimalsOfStep } from '../../texts/units.ts';
import {
  createCellFormat,
  downloadReport,
  kinds,
  loadReport,
  presetNames,
  type Report,
  type Row,
  readSelection,
  type Selection,
  sortRows,
} from './report-data.ts';

interface PartOptions {
  readonly appId: string;
  readonly selection: Selection;
  readonly names: ReportTexts;
}

function DayField({ label, name, value }: { label: string; name: 'from' | 'to'; value: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="date"
        required
        value={value}
        onChange={({ currentTarget }) => changeQuery({ [name]: currentTarget.value || undefined })}
      />
    </label>
  );
}

/** Form that selects the report; its state is in the URL. */
function Filters({ appId, selection, names }: PartOptions) {
  const { reportScreen: text, groups } = texts.value;
  const { kind, preset, firstDay, lastDay, vehicleIds, group } = selection;
  const { data: named } = useLoad(() => nameVehicles(appId || undefined, vehicleIds), [], [vehicleIds.join()]);
  const choosePreset = (interval: string) =>
    changeQuery({
      interval,
      from: interval === 'own' ? firstDay : undefined,
      to: interval === 'own' ? lastDay : undefined,
    });
  return (
    <search class="card form report-filters">
      <SelectField
        label={text.kind}
        value={kind}
        options={kinds.map((one) => [one, names.kinds[one]])}
        onChange={(one) => changeQuery({ kind: one, table: undefined, sort: undefined })}
      />
      <SelectField
        label={text.interval}
        value={preset}
        options={presetNames.map((one) => [one, text.intervals[one]])}
        onChange={choosePreset}
      />
      {preset === 'own' && (
        <>
          <DayField label={text.firstDay} name="from" value={firstDay} />
          <DayField label={text.lastDay} name="to" value={lastDay} />
        </>
      )}
      <GroupField
        appId={appId}
        value={group}
        none={groups.all}
        onChange={(id) => changeQuery({ group: id || undefined })}
      />
      <VehicleChoice
        label={text.vehicles}
        appId={appId || undefined}
        chosen={vehicleIds.map((id) => ({ id, plate: named?.find((one) => one.id === id)?.plate ?? id }))}
        onChange={(chosen) => changeQuery({ vehicles: chosen.map(({ id }) => id).join(',') || undefined })}
      />
    </search>
  );
}

/** The days of the report, and its files. */
function Files({ appId, selection, timeZone }: Omit<PartOptions, 'names'> & { timeZone: string }) {
  const { reportScreen: text } = texts.value;
  const action = useAction();
  const { firstDay, lastDay } = selection;
  const days = [firstDay, lastDay].map((day) => formatDay(fromLocalInput(`${day}T00:00`) ?? ''));
  return (
    <div class="report-head">
      <span class="muted">{text.days(days[0] ?? '', days[1] ?? '', timeZone)}</span>
      {(['xlsx', 'pdf'] as const).map((format) => (
        <Button
          key={format}
          disabled={action.isRunning}
          onClick={() => void action.run(() => downloadReport(appId, selection, format))}
        >
          {text.download(format.toUpperCase())}
        </Button>
      ))}
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </div>
  );
}

/** Columns of the daily table to chart; energy only if vehicles report it. */
const drawn: Partial<Record<ReportKind, readonly string[]>> = {
  trips: ['distanceKm', 'drivingHours'],
  energy: ['fuelLitres', 'electricKwh'],
};
const minDays = 2;
const daySeconds = 86_400;

/** Returns the start of a day in a time zone, UNIX seconds. */
const startOf = (day: string, zone: Preferences['zone']): number => timeOf(day, 0, zone) / 1000;

interface FigureOptions {
  readonly title: string;
  readonly days: readonly Row[];
  readonly column: string;
  readonly time: { value: number | undefined };
}

/** Chart of a column of the daily table over time. */
function Figure({ title, days, column, time }: FigureOptions) {
  const { zone } = preferences.value;
  // Each day is drawn at its midnight in the preferred time zone.
  const [times, values] = useMemo(() => {
    const starts = days.map(({ date }) => startOf(String(date), zone));
    return [starts, days.map((row) => (typeof row[column] === 'number' ? Number(row[column]) : null))];
  }, [days, column, zone]);
  const index = time.value === undefined ? times.length - 1 : times.findLastIndex((one) => one <= (time.value ?? 0));
  const [at, value] = [times[index], values[index]];
  const { date: lastDay } = days.at(-1) ?? {};
  return (
    <figure class="card chart-figure">
      <figcaption>
        <strong>{title}</strong>
        <span class="value">
          {at === undefined ? '–' : `${formatDay(at * 1000)} · ${value == null ? '–' : formatNumber(value, 1)}`}
        </span>
      </figcaption>
      <Chart
        label={title}
        from={times[0] ?? 0}
        until={startOf(addDays(String(lastDay), 1), zone) - 1}
        times={times}
        values={values}
        format={(shown, step = 1) => formatNumber(shown, decimalsOfStep(step))}
        height={150}
        isFromZero
        time={time.value}
        onPoint={(pointed) => assign(time, pointed)}
      />
    </figure>
  );
}

function Figures({ kind, report, names }: { kind: ReportKind; report: Report; names: ReportTexts }) {
  const time = useSignal<number | undefined>(undefined);
  const { days = [] } = report.tables;
  const columns = (drawn[kind] ?? []).filter((column) => days.some((row) => row[column] !== undefined));
  if (days.length < minDays || columns.length === 0) return null;
  return (
    <div class="report-figures">
      {columns.map((column) => (
        <Figure key={column} title={lookUp(names.columns, column) ?? column} days={days} column={column} time={time} />
      ))}
    </div>
  );
}

/** The columns of a table: those of PDF files, in the mileage log with the use first. */
function columnsOf(kind: ReportKind, table: string): readonly Column[] {
  const columns = (tablesOf(kind)[table] ?? []).filter(({ isWide }) => isWide !== true);
  if (kind !== 'mileage' || table !== 'rows') return columns;
  const leading = ['plate', 'startedAt', 'class'];
  const placeOf = ({ key }: Column) => (leading.includes(key) ? leading.indexOf(key) : leading.length);
  return columns.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Returns the trip of a row of the mileage log; undefined if late data has replaced the trip. */
function tripOf({ vehicleId, tripId, plate, distanceKm }: Row, appId: string, time: string): MileageTrip | undefined {
  if (distanceKm === undefined) return undefined;
  return { appId, vehicleId: String(vehicleId), tripId: String(tripId), plate: String(plate), time };
}

interface UseOptions {
  readonly written: string;
  readonly trip: MileageTrip | undefined;
  readonly onEnter: (trip: MileageTrip) => void;
}

/** The use of a trip, with a lock once it is entered, and a button for an entry. */
function Use({ written, trip, onEnter }: UseOptions) {
  const { mileage: text, labelled } = texts.value;
  const shown = written === '' ? text.notEntered : written;
  const mark = written !== '' && (
    <>
      <LockIcon size={14} />
      <span class="visually-hidden">{text.locked}</span>
    </>
  );
  if (trip === undefined || !mayChange()) {
    return (
      <span class="mileage-use">
        {shown}
        {mark}
      </span>
    );
  }
  return (
    <button
      type="button"
      class="button plain mileage-use"
      aria-label={labelled(written === '' ? text.enter : text.replace, shown)}
      onClick={() => onEnter(trip)}
    >
      {shown}
      {mark}
    </button>
  );
}

/** Links a vehicle and a trip to their pages. */
function withLink(key: string, row: Row, written: string): ComponentChildren {
  const { vehicleId, tripId, startedAt } = row;
  if (vehicleId === undefined) return written;
  if (key === 'plate') return <a href={`/vehicles/${vehicleId}`}>{written}</a>;
  if (key !== 'startedAt' || tripId === undefined) return written;
  const until = Math.floor(Date.parse(String(startedAt)) / 1000) + daySeconds;
  return <a href={`/vehicles/${vehicleId}/trips?trip=${tripId}&until=${until}`}>{written}</a>;
}

interface TablesOptions extends PartOptions {
  readonly report: Report;
  readonly onChanged: () => void;
}

/** One of the tables of a report, sorted as in the URL. */
function Tables({ appId, selection: { kind }, names, report, onChanged }: TablesOptions) {
  const { reportScreen: text, exports } = texts.value;
  const { path, query } = address.value;
  const entered = useSignal<MileageTrip | undefined>(undefined);
  const tables = Object.keys(report.tables);
  const table = tables.find((name) => name === query.get('table')) ?? 'rows';
  const sort = query.get('sort') ?? '';
  const { [table]: rows = [] } = report.tables;
  const sorted = useMemo(() => sortRows(rows, sort).map((row, index) => ({ row, key: String(index) })), [rows, sort]);
  const write = createCellFormat(names, report.timeZone);
  const linkTo = (name: string) => {
    const next = new URLSearchParams(query);
    next.set('table', name);
    next.delete('sort');
    return `${path}?${next}`;
  };
  const cell = (column: Column, row: Row): ComponentChildren => {
    const written = write(column, row[column.key]);
    if (kind !== 'mileage' || table !== 'rows' || column.key !== 'class') return withLink(column.key, row, written);
    const time = write({ key: 'startedAt', type: 'moment' }, row['startedAt']);
    return <Use written={written} trip={tripOf(row, appId, time)} onEnter={(trip) => assign(entered, trip)} />;
  };
  const title = lookUp(names.tables, table) ?? table;
  return (
    <>
      {tables.length > 1 && (
        <Tabs
          label={text.tables}
          tabs={tables.map((name) => ({
            ...{ href: linkTo(name), name: lookUp(names.tables, name) ?? name, isCurrent: name === table },
          }))}
        />
      )}
      <div class="card report-table">
        <DataTable
          key={table}
          label={title}
          pages={{
            rows: { rows: sorted, total: sorted.length, after: undefined },
            ...{ failure: undefined, isLoading: false, loadNext: () => undefined, reload: onChanged },
          }}
          columns={columnsOf(kind, table).map((column) => ({
            ...{ name: column.key, title: lookUp(names.columns, column.key) ?? column.key },
            isNumber: column.type === 'number' || column.type === 'whole',
            cell: ({ row }: (typeof sorted)[number]) => cell(column, row),
          }))}
          keyOf={({ key }) => key}
          sort={sort}
          onSort={(chosen) => changeQuery({ sort: chosen })}
          count={exports.rows}
          empty={text.empty}
        />
      </div>
      {entered.value && (
        <MileageEntry trip={entered.value} onEntered={onChanged} onClose={() => assign(entered, undefined)} />
      )}
    </>
  );
}

function Loaded({ appId, selection, names }: PartOptions) {
  const { data, failure, reload } = useLoad(() => loadReport(appId, selection), []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      <Files appId={appId} selection={selection} timeZone={data.timeZone} />
      <Figures kind={selection.kind} report={data} names={names} />
      <Tables appId={appId} selection={selection} names={names} report={data} onChanged={reload} />
    </>
  );
}

/** The report selected in the URL, as tables, charts and files. */
export function ReportView({ appId }: { appId: string }) {
  const { data: names, failure, reload } = useReportTexts();
  if (!names) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const selection = readSelection(appId);
  const part = { appId, selection, names };
  return (
    <>
      <Filters {...part} />
      <Loaded key={JSON.stringify(selection)} {...part} />
    </>
  );
}

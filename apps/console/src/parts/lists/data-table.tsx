import './data-table.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Pages } from '../../api/use-pages.ts';
import { assign } from '../../signals.ts';
import { Empty, LoadFailure, Loading } from '../layout/placeholders.tsx';

const rowHeight = 35;
const spare = 10;

export interface Column<Row> {
  /** As in the parameter `sort` of the platform. */
  readonly name: string;
  readonly title: string;
  readonly isNumber?: boolean;
  /** Whether the platform can sort by it. */
  readonly isSortable?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface DataTableOptions<Row> {
  readonly label: string;
  readonly pages: Pages<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** A column, with a minus sign in descending order. */
  readonly sort: string;
  readonly onSort: (sort: string) => void;
  /** Names so many rows. */
  readonly count: (total: number) => string;
  /** The title of a table without rows. */
  readonly empty: string;
}

function Head<Row>({ columns, sort, onSort }: Pick<DataTableOptions<Row>, 'columns' | 'sort' | 'onSort'>) {
  const [sorted, isDescending] = [sort.replace('-', ''), sort.startsWith('-')];
  const direction = isDescending ? 'descending' : 'ascending';
  return (
    <thead>
      <tr>
        {columns.map(({ name, title, isNumber, isSortable = true }) => (
          <th
            key={name}
            scope="col"
            class={isNumber ? 'number' : ''}
            aria-sort={name === sorted ? direction : undefined}
          >
            {isSortable ? (
              <button type="button" onClick={() => onSort(name === sorted && !isDescending ? `-${name}` : name)}>
                {title}
                {name === sorted && <span aria-hidden="true">{isDescending ? '↓' : '↑'}</span>}
              </button>
            ) : (
              <span>{title}</span>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface BodyOptions<Row> extends Pick<DataTableOptions<Row>, 'columns' | 'keyOf'> {
  readonly rows: readonly Row[];
  readonly first: number;
  readonly last: number;
}

/** The visible rows, between rows that are as high as all the others. */
function Body<Row>({ rows, columns, keyOf, first, last }: BodyOptions<Row>) {
  const gap = (count: number) => (
    <tr class="spare">
      <td colSpan={columns.length} style={{ height: `${count * rowHeight}px` }} />
    </tr>
  );
  return (
    <tbody>
      {first > 0 && gap(first)}
      {rows.slice(first, last).map((row, index) => (
        <tr key={keyOf(row)} aria-rowindex={first + index + 2}>
          {columns.map(({ name, isNumber, cell }) => (
            <td key={name} class={isNumber ? 'number' : ''}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
      {last < rows.length && gap(rows.length - last)}
    </tbody>
  );
}

/** A table of any length, sorted by the platform and loaded as far as a person scrolls, with only visible rows in the page. */
export function DataTable<Row>({ label, pages, columns, keyOf, sort, onSort, count, empty }: DataTableOptions<Row>) {
  const { rows, failure, isLoading, loadNext, reload } = pages;
  const frame = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(800);
  useEffect(() => assign(height, frame.current?.clientHeight ?? 800));
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const first = Math.max(0, Math.floor(top.value / rowHeight) - spare);
  const last = Math.min(rows.rows.length, Math.ceil((top.value + height.value) / rowHeight) + spare);
  const total = count(rows.total);
  return (
    <section
      class={`data-table${failure ? ' stale' : ''}`}
      ref={frame}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
      tabIndex={0}
      aria-label={label}
      aria-busy={isLoading}
      onScroll={({ currentTarget }) => {
        top.value = currentTarget.scrollTop;
        if (currentTarget.scrollTop + currentTarget.clientHeight * 3 > currentTarget.scrollHeight) loadNext();
      }}
    >
      {failure && <p class="notice late">{failure}</p>}
      <p class="data-table-count muted" role="status">
        {total}
      </p>
      <table class="table" aria-rowcount={rows.total + 1}>
        <caption class="visually-hidden">{total}</caption>
        <Head columns={columns} sort={sort} onSort={onSort} />
        <Body rows={rows.rows} columns={columns} keyOf={keyOf} first={first} last={last} />
      </table>
      {rows.rows.length === 0 && <Empty title={empty} />}
    </section>
  );
}

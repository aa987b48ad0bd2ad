import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from './client.ts';

/** The first page is loaded again at this interval, until a person scrolls beyond it. */
const refreshMs = 10_000;

/** A page of a table of the platform. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Rows on all pages; on the first page only. */
  readonly total: number | undefined;
  /** Where the next page begins; undefined on the last one. */
  readonly after: string | undefined;
}

/** The rows of a table as far as they are loaded. */
export interface Pages<Row> {
  readonly rows: (Page<Row> & { readonly total: number }) | undefined;
  /** The message of the failure of the last attempt. */
  readonly failure: string | undefined;
  readonly isLoading: boolean;
  loadNext(): void;
  reload(): void;
}

/** Reads where the next page begins from the header `Link` of an answer; undefined on the last page. */
export function nextPage({ headers }: Response): string | undefined {
  const next = /[?&]after=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
  return next === undefined ? undefined : decodeURIComponent(next.replaceAll('+', ' '));
}

/** Loads a table page by page as far as a person scrolls; from the start when an input changes. */
export function usePages<Row>(
  load: (after: string | undefined) => Promise<Page<Row>>,
  inputs: readonly unknown[],
): Pages<Row> {
  const rows = useSignal<Pages<Row>['rows']>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const isLoading = useSignal(true);
  /** Counts requests, so that an answer that is out of date is dropped. */
  const generation = useRef(0);
  const pageSize = useRef(0);
  /** Whether the rows belong to earlier inputs. */
  const isOutdated = useRef(false);

  const run = async (request: () => Promise<NonNullable<Pages<Row>['rows']>>): Promise<void> => {
    generation.current += 1;
    const mine = generation.current;
    isLoading.value = true;
    const loaded = await request().catch(messageOf);
    if (mine !== generation.current) return;
    if (typeof loaded !== 'string') {
      rows.value = loaded;
      isOutdated.current = false;
    } else if (isOutdated.current) rows.value = undefined;
    failure.value = typeof loaded === 'string' ? loaded : undefined;
    isLoading.value = false;
  };
  const loadFirst = () =>
    run(async () => {
      const page = await load(undefined);
      pageSize.current = page.rows.length;
      return { ...page, total: page.total ?? page.rows.length };
    });
  const loadNext = () => {
    const known = rows.value;
    if (!known?.after || isLoading.value) return;
    void run(async () => {
      const page = await load(known.after);
      return { ...page, rows: [...known.rows, ...page.rows], total: known.total };
    });
  };

  useEffect(() => {
    isOutdated.current = true;
    void loadFirst();
    const timer = setInterval(() => {
      const isFirstPage = (rows.value?.rows.length ?? 0) <= pageSize.current;
      if (isFirstPage && !isLoading.value && document.visibilityState === 'visible') void loadFirst();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [...inputs]);

  const reload = () => void loadFirst();
  return { rows: rows.value, failure: failure.value, isLoading: isLoading.value, loadNext, reload };
}

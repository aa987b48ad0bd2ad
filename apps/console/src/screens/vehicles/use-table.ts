import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { loadPage, type TablePage, type TableRequest, type TableVehicle } from './table-data.ts';

/** The first page is loaded again at this interval, until a person scrolls beyond it. */
const refreshMs = 10_000;

interface Rows {
  readonly vehicles: readonly TableVehicle[];
  readonly total: number;
  readonly after: string | undefined;
}

const append = (rows: Rows, page: TablePage): Rows => ({
  vehicles: [...rows.vehicles, ...page.vehicles],
  total: rows.total,
  after: page.after,
});

/** The rows of the table, loaded page by page as far as a person scrolls. */
export function useTable(request: TableRequest) {
  const rows = useSignal<Rows | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const isLoading = useSignal(true);
  /** Counts requests, so that an answer that is out of date is dropped. */
  const generation = useRef(0);

  const run = async (load: () => Promise<Rows>): Promise<void> => {
    generation.current += 1;
    const mine = generation.current;
    isLoading.value = true;
    try {
      const loaded = await load();
      if (mine !== generation.current) return;
      rows.value = loaded;
      failure.value = undefined;
    } catch (error) {
      if (mine !== generation.current) return;
      failure.value = messageOf(error);
    }
    isLoading.value = false;
  };
  const loadFirst = () =>
    run(async () => {
      const page = await loadPage(request, undefined);
      return { vehicles: page.vehicles, total: page.total ?? page.vehicles.length, after: page.after };
    });
  const loadNext = () => {
    const known = rows.value;
    if (!known?.after || isLoading.value) return;
    void run(async () => append(known, await loadPage(request, known.after)));
  };

  const { search, sort } = request;
  const states = request.states.join(',');
  const pageSize = useRef(0);
  useEffect(() => {
    void loadFirst().then(() => {
      pageSize.current = rows.value?.vehicles.length ?? 0;
    });
    const timer = setInterval(() => {
      const isFirstPage = (rows.value?.vehicles.length ?? 0) <= pageSize.current;
      if (isFirstPage && !isLoading.value && document.visibilityState === 'visible') void loadFirst();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [search, sort, states]);

  return {
    rows: rows.value,
    failure: failure.value,
    isLoading: isLoading.value,
    loadNext,
    reload: () => void loadFirst(),
  };
}

import { signal } from '@preact/signals';
import { assign } from './signals.ts';

interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): Address => ({ path: location.pathname, query: new URLSearchParams(location.search) });

/** The address of the page. */
export const address = signal<Address>(read());

addEventListener('popstate', () => assign(address, read()));

/** Opens an address of the console. `replace` leaves no entry in the history. */
export function navigate(to: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  const isOtherPath = address.value.path !== location.pathname;
  address.value = read();
  if (isOtherPath) scrollTo(0, 0);
}

/** Changes parameters of the address in place; an undefined one is removed. */
export function changeQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = address.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  navigate(next.size === 0 ? path : `${path}?${next}`, { replace: true });
}

/** Reads a time from a parameter of the address. @returns UNIX seconds; undefined without a usable one */
export function readSeconds(name: string): number | undefined {
  const text = address.value.query.get(name) ?? '';
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Opens links to addresses of the console without a load of the page; `data-load` marks those of other pages. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.origin !== location.origin || link.target || link.dataset['load'] !== undefined) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

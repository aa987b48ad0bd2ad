import './virtual-list.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const spare = 6;

interface VirtualListOptions<Item> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  /** Of every row, CSS pixels. */
  readonly rowHeight: number;
  readonly row: (item: Item) => ComponentChildren;
}

/** A list of any length that has only the visible rows in the page. Arrow keys move between rows. */
export function VirtualList<Item>({ label, items, keyOf, rowHeight, row }: VirtualListOptions<Item>) {
  const frame = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top.value / rowHeight) - spare);
  const shown = items.slice(first, Math.ceil((top.value + height.value) / rowHeight) + spare);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const current = document.activeElement?.closest('li');
    if (step === undefined || !current) return;
    event.preventDefault();
    const next = step > 0 ? current.nextElementSibling : current.previousElementSibling;
    next?.querySelector<HTMLElement>('button, a')?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the buttons in it
    <div
      class="virtual-list"
      ref={frame}
      onScroll={({ currentTarget }) => {
        top.value = currentTarget.scrollTop;
      }}
      onKeyDown={move}
    >
      <ul aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
        {shown.map((item, index) => (
          <li
            key={keyOf(item)}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${(first + index) * rowHeight}px)` }}
          >
            {row(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

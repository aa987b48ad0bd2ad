import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../../texts/texts.ts';
import { Button } from './button.tsx';
import { WarningIcon } from './icons.tsx';

/** In place of content that is on its way. */
export function Loading() {
  return (
    <div class="placeholder" role="status">
      <span class="spinner" />
      <span>{texts.value.loading}</span>
    </div>
  );
}

/** In place of content that could not be loaded. */
export function LoadFailure({ message, retry }: { message?: string; retry?: () => void }) {
  const { failed } = texts.value;
  return (
    <div class="placeholder" role="alert">
      <WarningIcon size={28} />
      <strong>{failed.title}</strong>
      {message && <p>{message}</p>}
      {retry && <Button onClick={retry}>{failed.retry}</Button>}
    </div>
  );
}
/** In place of content that there is none of. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="placeholder">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** The heading of a page, which is also its title in the browser. */
export function Heading({ text, isHidden = false }: { text: string; isHidden?: boolean }) {
  const { product } = texts.value;
  useEffect(() => {
    document.title = `${text} · ${product}`;
  }, [text, product]);
  return <h1 {...(isHidden && { class: 'visually-hidden' })}>{text}</h1>;
}

interface TabsOptions {
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly name: string; readonly isCurrent: boolean }[];
}

/** Links between the parts of a screen; on a narrow page, they scroll sideways to the current one. */
export function Tabs({ label, tabs }: TabsOptions) {
  const nav = useRef<HTMLElement>(null);
  const current = tabs.find(({ isCurrent }) => isCurrent);
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current?.href, current?.name]);
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {tabs.map(({ href, name, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

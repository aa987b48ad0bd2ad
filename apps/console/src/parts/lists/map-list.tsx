import './map-list.css';
import type { ComponentChildren } from 'preact';
import { mayChange } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';

interface RowActionsOptions {
  /** Of the thing in the row, for those who hear the buttons without it. */
  readonly name: string;
  readonly onChange: () => void;
  readonly onDelete: () => void;
}

/** The buttons of a row to change and to delete what it shows, for people who may. */
export function RowActions({ name, onChange, onDelete }: RowActionsOptions) {
  const { change, remove } = texts.value;
  if (!mayChange()) return null;
  return (
    <span class="row start">
      <Button aria-label={`${change}: ${name}`} onClick={onChange}>
        {change}
      </Button>
      <Button kind="danger" aria-label={`${remove}: ${name}`} onClick={onDelete}>
        {remove}
      </Button>
    </span>
  );
}

interface MapWithSideOptions {
  readonly label: string;
  readonly map: ComponentChildren;
  /** Why the list could not be read again. */
  readonly failure: string | undefined;
  readonly children: ComponentChildren;
}

/** A map, and at its side the list of what it shows or a form. */
export function MapWithSide({ label, map, failure, children }: MapWithSideOptions) {
  return (
    <div class="map-with-side card">
      <div class="map-with-side-map">{map}</div>
      <aside aria-label={label}>
        {failure && <p class="notice late">{failure}</p>}
        {children}
      </aside>
    </div>
  );
}

interface MapListOptions<Thing> {
  readonly label: string;
  readonly things: readonly Thing[];
  /** The text below the name of a row. */
  readonly detailOf: (thing: Thing) => string;
  /** An additional action of a row, besides changing and deleting. */
  readonly actionOf?: (thing: Thing) => ComponentChildren;
  readonly onChange: (thing: Thing) => void;
  readonly onDelete: (thing: Thing) => void;
}

/** The list of what a map shows, for people to change and to delete. */
export function MapList<Thing extends { readonly id: string; readonly name: string }>({
  label,
  things,
  detailOf,
  actionOf,
  onChange,
  onDelete,
}: MapListOptions<Thing>) {
  return (
    <ul aria-label={label}>
      {things.map((thing) => (
        <li key={thing.id} class="map-list-row">
          <strong>{thing.name}</strong>
          <small class="muted">{detailOf(thing)}</small>
          {actionOf?.(thing)}
          <RowActions name={thing.name} onChange={() => onChange(thing)} onDelete={() => onDelete(thing)} />
        </li>
      ))}
    </ul>
  );
}

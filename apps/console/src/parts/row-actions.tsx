import { mayChange } from '../session.ts';
import { texts } from '../texts/texts.ts';

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
      <button type="button" class="button" aria-label={`${change}: ${name}`} onClick={onChange}>
        {change}
      </button>
      <button type="button" class="button danger" aria-label={`${remove}: ${name}`} onClick={onDelete}>
        {remove}
      </button>
    </span>
  );
}

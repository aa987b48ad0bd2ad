import type { Signal } from '@preact/signals';
import { texts } from '../texts/texts.ts';
import { Confirm } from './confirm.tsx';

interface ConfirmDeletionOptions<Thing> {
  /** The dialog is open while there is one. */
  readonly deleted: Signal<Thing | undefined>;
  readonly titleOf: (thing: Thing) => string;
  /** What the deletion means. */
  readonly text: string;
  /** Waited for; its failure is shown, and the dialog stays. */
  readonly onDelete: (thing: Thing) => Promise<unknown>;
}

/** Asks before a thing of a list is deleted. */
export function ConfirmDeletion<Thing>({ deleted, titleOf, text, onDelete }: ConfirmDeletionOptions<Thing>) {
  const thing = deleted.value;
  if (thing === undefined) return null;
  return (
    <Confirm
      title={titleOf(thing)}
      action={texts.value.remove}
      isDangerous
      onClose={() => {
        deleted.value = undefined;
      }}
      onConfirm={() => onDelete(thing)}
    >
      <p class="muted">{text}</p>
    </Confirm>
  );
}

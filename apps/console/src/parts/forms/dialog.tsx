import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';

/** A dialog over the page; Escape and a click outside close it. */
export function Dialog({
  title,
  children,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same
    <dialog
      class="dialog"
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onClick={({ target }) => {
        if (target === dialog.current) dialog.current?.close();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmOptions {
  readonly title: string;
  /** Explains the consequences. */
  readonly children?: ComponentChildren;
  /** Names the action, on its button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** The text to type before the action is possible. */
  readonly typed?: string;
  /** Waited for; its failure is shown, and the dialog stays. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ title, children, action, isDangerous = false, typed, onConfirm, onClose }: ConfirmOptions) {
  const { cancel, confirmTyping } = texts.value;
  const text = useSignal('');
  const isRunning = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const hint = useId();
  const confirm = async (event: SubmitEvent) => {
    event.preventDefault();
    isRunning.value = true;
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      failure.value = messageOf(error);
      isRunning.value = false;
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => void confirm(event)}>
        {children}
        {typed !== undefined && (
          <label class="field">
            <span id={hint}>
              {confirmTyping} <strong>{typed}</strong>
            </span>
            <input
              class="input"
              autocomplete="off"
              aria-labelledby={hint}
              value={text.value}
              onInput={({ currentTarget }) => assign(text, currentTarget.value)}
            />
          </label>
        )}
        <div role="alert">{failure.value && <p class="notice wrong">{failure.value}</p>}</div>
        <div class="row">
          <Button onClick={onClose}>{cancel}</Button>
          <button
            type="submit"
            class={`button ${isDangerous ? 'danger' : 'primary'}`}
            disabled={isRunning.value || (typed !== undefined && text.value !== typed)}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmDeletionOptions<Thing> {
  /** The dialog is open while there is one. */
  readonly deleted: Signal<Thing | undefined>;
  readonly titleOf: (thing: Thing) => string;
  /** Explains the consequences of the deletion. */
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
      onClose={() => assign(deleted, undefined)}
      onConfirm={() => onDelete(thing)}
    >
      <p class="muted">{text}</p>
    </Confirm>
  );
}

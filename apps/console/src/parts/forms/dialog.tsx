import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';
import { Form } from './fields.tsx';

interface DialogOptions {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly onClose: () => void;
}

/** A dialog over the page; Escape and a click outside close it. */
export function Dialog({ title, children, onClose }: DialogOptions) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedOutside = useRef(false);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same
    <dialog
      class="dialog"
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      onMouseDown={({ clientX, clientY, currentTarget }) => {
        const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
        isPressedOutside.current = clientX < left || clientX > right || clientY < top || clientY > bottom;
      }}
      onClick={({ target }) => {
        // A text selection dragged out of the dialog ends with a click on it, and so does a click on its padding: check where
        // the press began.
        if (isPressedOutside.current && target === dialog.current) dialog.current?.close();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmOptions extends DialogOptions {
  /** Names the action, on its button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** The text to type before the action is possible. */
  readonly typed?: string;
  /** Waited for; its failure is shown, and the dialog stays. */
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something is done that cannot be undone. */
export function Confirm({ title, children, action, isDangerous = false, typed, onConfirm, onClose }: ConfirmOptions) {
  const { cancel, confirmTyping } = texts.value;
  const text = useSignal('');
  const { failure, isRunning, run } = useAction();
  const hint = useId();
  const confirm = async () => {
    if (await run(onConfirm)) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form class="form" onSubmit={() => void confirm()}>
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
        <div role="alert">{failure && <p class="notice wrong">{failure}</p>}</div>
        <div class="row">
          <Button onClick={onClose}>{cancel}</Button>
          <Button
            type="submit"
            kind={isDangerous ? 'danger' : 'primary'}
            disabled={isRunning || (typed !== undefined && text.value !== typed)}
          >
            {action}
          </Button>
        </div>
      </Form>
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

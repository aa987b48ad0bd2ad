import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { messageOf } from '../api/client.ts';
import { texts } from '../texts/texts.ts';
import { Dialog } from './dialog.tsx';

interface ConfirmOptions {
  readonly title: string;
  /** What it means to go on. */
  readonly children?: ComponentChildren;
  /** Names the action, on its button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** What a person must type before the action is possible. */
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
              onInput={({ currentTarget }) => {
                text.value = currentTarget.value;
              }}
            />
          </label>
        )}
        <div role="alert">{failure.value && <p class="notice wrong">{failure.value}</p>}</div>
        <div class="row">
          <button type="button" class="button" onClick={onClose}>
            {cancel}
          </button>
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

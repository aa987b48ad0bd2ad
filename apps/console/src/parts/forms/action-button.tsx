import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { assign } from '../../signals.ts';
import { Confirm } from './dialog.tsx';

interface ActionButtonOptions {
  /** Names the action, on both buttons. */
  readonly action: string;
  readonly title: string;
  readonly children: ComponentChildren;
  readonly isDangerous?: boolean;
  /** The text to type before the action is possible. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
}

/** A button whose action is confirmed in a dialog. */
export function ActionButton({ action, title, children, isDangerous = false, typed, onConfirm }: ActionButtonOptions) {
  const isAsking = useSignal(false);
  const setAsking = (asks: boolean) => assign(isAsking, asks);
  return (
    <>
      <button type="button" class={`button${isDangerous ? ' danger' : ''}`} onClick={() => setAsking(true)}>
        {action}
      </button>
      {isAsking.value && (
        <Confirm
          title={title}
          action={action}
          isDangerous={isDangerous}
          {...(typed !== undefined && { typed })}
          onConfirm={onConfirm}
          onClose={() => setAsking(false)}
        >
          <div class="muted">{children}</div>
        </Confirm>
      )}
    </>
  );
}

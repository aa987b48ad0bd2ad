import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Confirm } from '../../parts/forms/dialog.tsx';
import { CopyButton } from '../../parts/layout/copy.tsx';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

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

/** A secret that was made just now, with what it belongs to; the platform stores a hash of it. */
export function ShownOnce({ entries }: { entries: readonly (readonly [label: string, value: string])[] }) {
  const { accounts: text } = texts.value;
  return (
    <section class="card shown-once" aria-label={text.shownOnceLabel}>
      <p class="notice late">{text.shownOnce}</p>
      <dl>
        {entries.map(([label, value]) => [
          <dt key={label}>{label}</dt>,
          <dd key={`${label} value`}>
            <code>{value}</code>
            <CopyButton text={value} label={label} />
          </dd>,
        ])}
      </dl>
    </section>
  );
}

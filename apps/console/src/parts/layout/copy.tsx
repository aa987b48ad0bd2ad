import './copy.css';
import { useSignal } from '@preact/signals';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from './button.tsx';

const shownMs = 2000;

/** Copies text. Without TLS, a browser offers no clipboard: the text is selected in a field and copied from there. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

/** A button that copies text. @param label what is copied, for a screen reader */
export function CopyButton({ text, label, title }: { text: string; label: string; title?: string }) {
  const { copyText, copied } = texts.value;
  const isCopied = useSignal(false);
  const start = async () => {
    await copy(text);
    isCopied.value = true;
    setTimeout(() => assign(isCopied, false), shownMs);
  };
  const shown = isCopied.value ? copied : (title ?? copyText);
  return (
    <Button aria-label={`${shown}: ${label}`} onClick={() => void start()}>
      {shown}
    </Button>
  );
}

/** Formats rows as CSV. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => row.map(cell).join(',')).join('\r\n');

const cell = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Saves a file in the downloads folder. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.dataset['load'] = '';
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
}

/** A button that saves text as a file. */
export function SaveButton({ name, type, content, title }: Record<'name' | 'type' | 'content' | 'title', string>) {
  return <Button onClick={() => saveFile(name, new Blob([content], { type }))}>{title}</Button>;
}

/** Rows of a name and a value, each with a button that copies the value. */
export function CopyRows({ rows }: { rows: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl class="copy-rows">
      {rows.map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} value`}>
          <code>{value}</code>
          <CopyButton text={value} label={name} />
        </dd>,
      ])}
    </dl>
  );
}

/** Secrets that have just been created, each under a label. */
export function ShownOnce({ entries }: { entries: readonly (readonly [label: string, value: string])[] }) {
  const { shownOnceLabel, shownOnce } = texts.value;
  return (
    <section class="card shown-once" aria-label={shownOnceLabel}>
      <p class="notice late">{shownOnce}</p>
      <CopyRows rows={entries} />
    </section>
  );
}

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Dialog } from '../parts/forms/dialog.tsx';
import { navigate } from '../router.ts';
import { isOperator } from '../session.ts';
import { assign } from '../signals.ts';
import { texts } from '../texts/texts.ts';

/** The letters that open a screen after `g`. */
const letters = {
  m: 'map',
  v: 'vehicles',
  d: 'devices',
  a: 'alarms',
  b: 'bookings',
  r: 'reports',
  e: 'exports',
  p: 'profile',
} as const;
const operatorLetters = { q: 'pipeline', u: 'accounts', i: 'integrations', t: 'audit' } as const;
const allowedLetters = () => Object.entries(isOperator() ? { ...letters, ...operatorLetters } : letters);
const pairTimeoutMs = 1500;

/** Whether a field, a dialog or the browser takes the key. */
function isTaken({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isField = target instanceof HTMLElement && /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  return isField || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') !== null;
}

/** Keys that work on every screen: `/`, `g` with a letter, and `?`, which lists them. */
export function Shortcuts() {
  const isListed = useSignal(false);
  useEffect(() => {
    let prefixMs = Number.NEGATIVE_INFINITY;
    const actions: Readonly<Record<string, () => void>> = {
      '?': () => assign(isListed, true),
      '/': () => document.querySelector<HTMLInputElement>('main input[type=search]')?.focus(),
    };
    const press = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const { key, timeStamp } = event;
      const screen = allowedLetters().find(([letter]) => letter === key)?.[1];
      const open = screen && timeStamp - prefixMs < pairTimeoutMs ? () => navigate(`/${screen}`) : actions[key];
      prefixMs = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY;
      if (!open) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  if (!isListed.value) return null;
  const { shortcuts: text, navigation } = texts.value;
  const rows = [
    ['/', text.search] as const,
    ...allowedLetters().map(([letter, screen]) => [`g ${letter}`, navigation[screen]] as const),
    ['?', text.title] as const,
  ];
  return (
    <Dialog title={text.title} onClose={() => assign(isListed, false)}>
      <dl class="shortcuts">
        {rows.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

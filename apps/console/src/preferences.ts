import { effect, signal } from '@preact/signals';
import { assign } from './signals.ts';
import type { Language } from './texts/languages.ts';

const storageKey = 'odograph-preferences';

/** The preferences of this browser. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly language: 'system' | Language;
  readonly units: 'metric' | 'imperial';
  /** The time zone of every time shown: that of the browser, or UTC. */
  readonly zone: 'local' | 'utc';
  /** The columns of the table of vehicles; undefined for the usual ones. */
  readonly columns?: readonly string[];
}

const standard: Preferences = { theme: 'system', language: 'system', units: 'metric', zone: 'local' };

function readStored(): Preferences {
  try {
    return { ...standard, ...JSON.parse(localStorage.getItem(storageKey) ?? '{}') };
  } catch {
    // Storage that is blocked or damaged: the standard holds.
    return standard;
  }
}

export const preferences = signal<Preferences>(readStored());

/** Keeps a choice in this browser. */
export function prefer(change: Partial<Preferences>): void {
  preferences.value = { ...preferences.value, ...change };
  try {
    localStorage.setItem(storageKey, JSON.stringify(preferences.value));
  } catch {
    // The choice holds for this page.
  }
}

const darkQuery = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(darkQuery.matches);
darkQuery.addEventListener('change', ({ matches }) => assign(systemIsDark, matches));

/** Whether the page is dark now; for what CSS cannot colour, such as the map. */
export const isDark = (): boolean =>
  preferences.value.theme === 'system' ? systemIsDark.value : preferences.value.theme === 'dark';

/** Applies the theme to the page, now and with every change. */
export function applyTheme(): void {
  effect(() => {
    const { theme } = preferences.value;
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  });
}

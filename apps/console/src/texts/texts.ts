import { computed } from '@preact/signals';
import { preferences } from '../preferences.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';

/** The language of the texts: the one chosen, else the first of the browser's that there is, else English. */
export const language = computed<'en' | 'fr'>(() => {
  const chosen = preferences.value.language;
  if (chosen !== 'system') return chosen;
  const known = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code === 'en' || code === 'fr');
  return known === 'fr' ? 'fr' : 'en';
});

/** Every text of the console in the language of the page. */
export const texts = computed(() => (language.value === 'fr' ? fr : en));

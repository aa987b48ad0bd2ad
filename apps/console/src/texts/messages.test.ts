import { expect, it } from 'vitest';
import { chooseLanguage } from './languages.ts';
import { makeTexts } from './messages.ts';

const english = {
  'found(count, place)': '{count, plural, =0 {none} one {# vehicle in {place}} other {# vehicles in {place}}}',
  group: { title: 'Vehicles', 'delete(name)': 'Delete {name}?' },
};
const polish = {
  'found(count, place)':
    '{count, plural, one {{place}: # pojazd} few {{place}: # pojazdy} many {{place}: # pojazdów} other {{place}: # pojazdu}}',
  group: { title: 'Pojazdy' },
};

it.each([
  [1, '{x}: 1 pojazd'],
  [3, '{x}: 3 pojazdy'],
  [12_345, '{x}: 12 345 pojazdów'],
  [1.5, '{x}: 1,5 pojazdu'],
])('%d chooses the plural form of the language', (count, text) => {
  expect(makeTexts(english, polish, 'pl').found(count, '{x}').replace(/\s/g, ' ')).toBe(text);
});

it('falls back to English for a missing text', () => {
  const { group } = makeTexts(english, polish, 'pl');
  expect([group.title, group.delete('# {name} $&')]).toEqual(['Pojazdy', 'Delete # {name} $&?']);
  expect(makeTexts(english, {}, 'en-GB').found(0, 'Lyon')).toBe('none');
});

it('selects only complete languages', () => {
  expect(chooseLanguage('system', ['xx-XX', 'fr-CA', 'en'])).toBe('fr');
  expect(chooseLanguage('system', ['xx'])).toBe('en');
});

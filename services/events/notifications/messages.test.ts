import { alarmKinds } from '@odograph/contracts/alarms';
import { eventTypes } from '@odograph/contracts/events';
import { expect, it } from 'vitest';
import { languages, type Texts, textsOf, writeMessage } from './messages.ts';

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
/** Every text of a language with its path, and the placeholders that it holds. */
function describeTexts(value: unknown, path = ''): [path: string, placeholders: string[]][] {
  if (typeof value === 'string') return [[path, placeholders(value)]];
  return Object.entries(Object(value)).flatMap(([key, inner]) => describeTexts(inner, `${path}/${key}`));
}
const told = eventTypes.filter((type) => type !== 'reading.stored');

it.each(languages)('the texts in %s have those of English, with the same placeholders', (language) => {
  expect(describeTexts(textsOf(language))).toEqual(describeTexts(textsOf('en')));
});

it('every notified event type and alarm kind has a text', () => {
  const { events, alarms }: Texts = textsOf('en');
  expect(Object.keys(events).sort()).toEqual([...told, 'notification.test'].sort());
  expect(Object.keys(alarms).sort()).toEqual([...alarmKinds].sort());
});

it('times are local to the time zone, and lines without a value are omitted', () => {
  const writing = { language: 'en', timeZone: 'Europe/Paris', publicUrl: undefined };
  const data = { kind: 'speed', ruleName: 'Town', value: 61.5, raisedAt: '2026-07-01T22:30:00Z' };
  const event = { type: 'alarm.raised', time: '2026-07-01T22:30:00Z', vehicleId: '1000000001', data };
  const { lines, link } = writeMessage(event, 'AB-123-CD', 'key', writing);
  expect(lines).toEqual([
    'speed, rule “Town”',
    expect.stringMatching(/^Time: Jul 2, 2026, 12:30.AM$/),
    'Value: 61.5 km/h',
  ]);
  expect(link).toBeUndefined();
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Language, languages } from './languages.ts';
import { formatMessage, splitKey, type TextTable } from './messages.ts';

/** Proper names, international words, and texts that consist of parameters. */
const sameEverywhere: readonly string[] = [
  ...['Bluetooth', 'CAN', 'CSV', 'GBFS', 'GPX', 'GeoJSON', 'IMEI', 'NDJSON', 'Odograph', 'OwnTracks', 'Parquet'],
  ...['Redis', 'TLS', 'Tesla Fleet Telemetry', 'Traccar', 'URI', 'URL', 'UTC', 'VIN', 'appId', 'appKey', 'flespi'],
  ...['Broker', 'Device ID', 'Webhook', 'Webhooks', 'limit_messages', '–', 'durable'],
  ...['Matrix', 'Microsoft Teams', 'SMS', 'Slack', 'Telegram'],
  ...['{action}: {plate}?', '{name}: {value}', '{subject}: {done}'],
];

/** Words that are the same in English. */
const sameAsEnglish: Partial<Record<Language, readonly string[]>> = {
  de: [
    ...['Administrator', 'Alarm', 'Audit', 'Bytes', 'Chat', 'Details', 'Diesel', 'Format', 'Gateway', 'Host', 'Hybrid'],
    ...['Header Authorization', 'Link', 'Live', 'Moped', 'Name', 'Pause', 'Person', 'Port', 'Radius, {unit}', 'Secret'],
    ...['Passkeys', 'Topic'],
  ],
  es: ['Bytes', 'Chat', 'Host', 'Manual', 'Tokens', 'byte {offset}', 'no'],
  fr: [
    ...['Accident', 'Action', 'Altitude', 'Application', 'Applications', 'Attribution', 'Audit', 'Console'],
    ...['Description', 'Diesel', 'Distance', 'Exports', 'Format', 'Images', 'Interface', 'Latitude', 'Longitude'],
    ...['Mode', 'Note', 'Pause', 'Port', 'Propulsion', 'Satellites', 'Secret', 'Session', 'Sessions', 'Source'],
    ...['Notification', 'Notifications', 'Sources', 'Style', 'Type', 'signal', 'test', 'version {version}'],
  ],
  it: [
    ...['Account', 'Audit', 'Chat', 'Console', 'Diesel', 'File', 'Gateway', 'Geofence', 'Host', 'Jamming', 'Link'],
    ...['Password', 'Topic', 'byte {offset}', 'e-mail', 'no', 'passkey', 'password'],
  ],
  pl: [
    ...['Administrator', 'Alarm', 'Diesel', 'Format', 'Host', 'Immobilizer', 'Link', 'Model', 'Operator', 'Port'],
    ...['e-mail', 'test'],
  ],
  pt: [
    ...['Altitude', 'Bytes', 'Chat', 'Gateway', 'Interface', 'Latitude', 'Link', 'Longitude', 'Manual', 'Tokens'],
    ...['byte {offset}', 'e-mail'],
  ],
};

/** Texts that may be more than twice as long as in English. */
const longTexts: readonly string[] = ['accounts.resetPassword', 'audit.done.reset'];

const read = (code: string): TextTable => JSON.parse(readFileSync(join(import.meta.dirname, `${code}.json`), 'utf8'));

/** Lists the texts of a table by their full keys. */
const textsIn = (table: TextTable, prefix = ''): [key: string, text: string][] =>
  Object.entries(table).flatMap(([name, text]) => {
    const key = `${prefix}${name}`;
    return typeof text === 'string' ? [[key, text] as [string, string]] : textsIn(text, `${key}.`);
  });

const parametersOf = (key: string): readonly string[] => splitKey(key.slice(key.lastIndexOf('.') + 1)).parameters ?? [];

/** Formats a text with a count; each other parameter has its own name as its value. */
function sampleOf(key: string, text: string, code: string, count = 10): string {
  const values = parametersOf(key).map((name) => [name, name === 'count' ? count : name] as const);
  return formatMessage(text, Object.fromEntries(values), code);
}

const counts = Array.from({ length: 101 }, (_unused, count) => count);

/** Describes what is wrong with a text. @returns undefined for a valid one */
function faultOf(key: string, text: string, code: string): string | undefined {
  const unused = parametersOf(key).filter((name) => !new RegExp(`\\{${name}[,}]`).test(text));
  if (unused.length > 0) return `does not use {${unused.join('}, {')}}`;
  const rules = new Intl.PluralRules(code);
  const categories = text.includes(', plural, ')
    ? new Set(['other', ...counts.map((count) => rules.select(count))])
    : [];
  const missing = [...categories].filter((category) => !text.includes(` ${category} {`));
  if (missing.length > 0) return `has no form for ${missing.join(', ')}`;
  const hasBraces = counts.some((count) => /[{}]/.test(sampleOf(key, text, code, count)));
  return hasBraces ? 'has an unknown parameter or a superfluous brace' : undefined;
}

const english = textsIn(read('en'));

/** Lists the missing translations. */
function unfinishedIn(code: Language): string[] {
  const own = new Map(textsIn(read(code)));
  const allowed = [...sameEverywhere, ...(sameAsEnglish[code] ?? [])];
  return english.flatMap(([key, text]) => {
    const translated = own.get(key);
    if (!translated) return [`${key}: missing`];
    if (translated === text && !allowed.includes(text)) return [`${key}: same as in English`];
    const [length, limit] = [sampleOf(key, translated, code).length, 2 * sampleOf(key, text, 'en').length];
    return limit > 24 && length > limit && !longTexts.includes(key)
      ? [`${key}: more than twice as long as in English`]
      : [];
  });
}

it('every language has a file of texts', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'));
  expect(files.sort()).toEqual(
    Object.keys(languages)
      .map((code) => `${code}.json`)
      .sort(),
  );
});

describe.each(Object.keys(languages) as Language[])('the texts in %s', (code) => {
  const own = textsIn(read(code));

  it('have the keys and parameters of the English texts, and every plural form', () => {
    const keys = new Set(english.map(([key]) => key));
    const faults = own.map(([key, text]) => [key, keys.has(key) ? faultOf(key, text, code) : 'is not in en.json']);
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([]);
  });

  it('use no word of the Cancel button in questions', () => {
    const stem =
      own
        .find(([key]) => key === 'cancel')?.[1]
        .slice(0, 5)
        .toLowerCase() ?? '';
    const questions = own.filter(([, text]) => text.includes('?'));
    expect(questions.filter(([, text]) => text.toLowerCase().includes(stem))).toEqual([]);
  });

  it.skipIf(code === 'en')(
    'are complete, translated and of a fitting length, unless the language is in preparation',
    () => {
      const unfinished = unfinishedIn(code);
      const { isComplete } = languages[code];
      if (!isComplete)
        console.info([`${code}: ${unfinished.length} texts of ${english.length}`, ...unfinished].join('\n'));
      expect(isComplete ? unfinished : []).toEqual([]);
    },
  );
});

import { readdirSync, readFileSync } from 'node:fs';
import { describePlace } from '@odograph/database/addresses';
import { isPlace } from './place.ts';

interface Template {
  readonly subject: string;
  /** Lines with a placeholder for which the event has no value are omitted. */
  readonly lines: readonly string[];
}

/** The texts of a language; keys are the same in all languages. */
export interface Texts {
  readonly events: Readonly<Record<string, Template>>;
  readonly alarms: Readonly<Record<string, string>>;
  /** Formats of the measured value by alarm kind; other kinds have none. */
  readonly values: Readonly<Record<string, string>>;
  readonly digest: { readonly subject: string; readonly first: string; readonly more: string };
  readonly open: string;
}

const directory = new URL('texts/', import.meta.url);
/** The languages with a file in texts/. */
export const languages: readonly string[] = readdirSync(directory)
  .map((name) => name.replace(/\.json$/, ''))
  .sort();
const tables = new Map(
  languages.map((language) => [
    language,
    JSON.parse(readFileSync(new URL(`${language}.json`, directory), 'utf8')) as Texts,
  ]),
);

export function textsOf(language: string): Texts {
  const found = tables.get(language) ?? tables.get('en');
  if (!found) throw new Error('the texts of notifications are missing');
  return found;
}

/** A message, independent of the channel. */
export interface Message {
  /** Idempotency key, the same for all attempts; channels deduplicate by it if they can. */
  readonly key: string;
  readonly subject: string;
  readonly lines: readonly string[];
  readonly link: string | undefined;
  readonly linkText: string;
}

/** The options of message formatting. */
export interface Writing {
  readonly language: string;
  readonly timeZone: string;
  readonly publicUrl: string | undefined;
}

/** An event of the event list. */
export interface ToldEvent {
  readonly type: string;
  readonly time: string;
  readonly vehicleId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Fills placeholders. @returns undefined if one has no value */
function fill(template: string, values: Readonly<Record<string, string | undefined>>): string | undefined {
  let isComplete = true;
  const text = template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const { [name]: value } = values;
    if (value === undefined) isComplete = false;
    // A line break in a plate or name could forge lines of the message.
    return value?.replaceAll(/\p{Cc}+/gu, ' ') ?? '';
  });
  return isComplete ? text : undefined;
}

function formatTime(time: unknown, { language, timeZone }: Writing): string | undefined {
  const date = new Date(String(time));
  if (Number.isNaN(date.getTime())) return undefined;
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(date);
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(', ');
  return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined;
}

/** Computes the values of placeholders. @param plate of the vehicle; undefined without one */
function valuesOf({ time, data }: ToldEvent, plate: string | undefined, writing: Writing) {
  const { kind, location, raisedAt, from, until, lastContact, changed, value } = data;
  const { alarms, values } = textsOf(writing.language);
  const number = typeof value === 'number' ? new Intl.NumberFormat(writing.language).format(value) : undefined;
  return {
    ...Object.fromEntries(
      ['ruleName', 'action', 'state', 'message', 'deviceId', 'reasons'].map((name) => [name, textOf(data[name])]),
    ),
    vehicle: plate ?? textOf(data['deviceId']) ?? '–',
    alarm: alarms[String(kind)] ?? textOf(kind),
    value: fill(values[String(kind)] ?? '{none}', { number }),
    place: isPlace(location) ? describePlace(location, location.address) : undefined,
    changed: textOf(Object.keys(Object(changed))),
    ...{ time: formatTime(time, writing), raised: formatTime(raisedAt, writing) },
    ...{ from: formatTime(from, writing), until: formatTime(until, writing) },
    lastContact: formatTime(lastContact, writing),
  };
}

function linkOf({ type, vehicleId }: ToldEvent, { publicUrl }: Writing): string | undefined {
  if (publicUrl === undefined) return undefined;
  const path = type.startsWith('alarm.') ? '/alarms' : vehicleId === undefined ? '/' : `/vehicles/${vehicleId}`;
  return new URL(path, publicUrl).href;
}

/** Writes the message about an event. @param plate of its vehicle; undefined without one */
export function writeMessage(event: ToldEvent, plate: string | undefined, key: string, writing: Writing): Message {
  const texts = textsOf(writing.language);
  const { subject, lines } = texts.events[event.type] ?? { subject: '{vehicle}', lines: [event.type] };
  const values = valuesOf(event, plate, writing);
  return {
    key,
    subject: fill(subject, values) ?? event.type,
    lines: lines.flatMap((line) => fill(line, values) ?? []),
    ...{ link: linkOf(event, writing), linkText: texts.open },
  };
}

/** Maximum events listed in a digest; the others are only counted. */
const maxListed = 50;

/** Writes the digest of several events. @param events with the plates of their vehicles, in order */
export function writeDigest(
  events: readonly { readonly event: ToldEvent; readonly plate: string | undefined }[],
  key: string,
  writing: Writing,
): Message {
  const { digest, open } = textsOf(writing.language);
  const count = String(events.length);
  const time = formatTime(events[0]?.event.time, writing);
  const listed = events.slice(0, maxListed).map(({ event, plate }) => {
    return `${formatTime(event.time, writing) ?? ''} · ${writeMessage(event, plate, key, writing).subject}`;
  });
  const more = fill(digest.more, { count: String(events.length - maxListed) });
  return {
    key,
    subject: fill(digest.subject, { count }) ?? count,
    lines: [
      fill(digest.first, { count, time }) ?? count,
      ...listed,
      ...(events.length > maxListed && more ? [more] : []),
    ],
    ...{ link: writing.publicUrl, linkText: open },
  };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (one) => entities[one] ?? one);

/** Writes a message as plain text. @param withSubject as its first line */
export function asText({ subject, lines, link }: Message, withSubject = true): string {
  return [...(withSubject ? [subject] : []), ...lines, ...(link === undefined ? [] : [link])].join('\n');
}

/** Cuts text to a length in UTF-16 code units, never within a surrogate pair: half of one cannot be percent-encoded. */
export function cutText(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
}

/** Writes the body of a message as HTML. */
export function asHtml({ subject, lines, link, linkText }: Message): string {
  const paragraphs = lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('');
  const anchor = link === undefined ? '' : `<p><a href="${escapeHtml(link)}">${escapeHtml(linkText)}</a></p>`;
  return `<!doctype html><title>${escapeHtml(subject)}</title>${paragraphs}${anchor}`;
}

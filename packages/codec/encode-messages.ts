import type { SourceFormatName } from '@odograph/contracts/sources';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { FieldTable } from './shared/source-format.ts';
import { sourceFormats } from './uploads.ts';

type Message = Record<string, unknown>;

/**
 * Encodes a reading as the message of another system: the inverse of `toReading` of its format. Left out is what the format has no
 * field for; `can` keeps its own names.
 */
export function encodeMessage(format: SourceFormatName, device: string, reading: TelemetryReading): Message {
  const { fields, toMessage } = sourceFormats[format];
  return toMessage(device, reading, fieldsOf(reading, fields));
}

/** The fields of a reading by their names in a format, with the first name of each place. */
function fieldsOf(reading: TelemetryReading, table: FieldTable): Message {
  const fields: Message = {};
  const taken = new Set<string>();
  for (const [name, { to = '', factor = 1, words, onlyOf }] of table) {
    const [group = '', field = ''] = to.split('.');
    const value: unknown = Reflect.get(Object(Reflect.get(reading, group)), field);
    if (value === undefined || taken.has(to) || onlyOf) continue;
    taken.add(to);
    fields[name] = words ? wordOf(words, value) : typeof value === 'number' ? value / factor : value;
  }
  for (const { key, value } of reading.can ?? []) fields[key] = structureOf(value);
  return fields;
}

function wordOf(words: Readonly<Record<string, string>>, value: unknown): unknown {
  const word = Object.keys(words).find((key) => words[key] === value);
  return word === 'true' || word === 'false' ? word === 'true' : word;
}

/** A value of `can` as its system sent it: objects and lists are kept as JSON. */
function structureOf(value: string): unknown {
  if (!/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

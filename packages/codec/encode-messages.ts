import type { SourceFormatName } from '@odograph/contracts/sources';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { type FieldTable, readFieldTable } from './shared/source-format.ts';

type Message = Record<string, unknown>;

const tables = {
  traccar: readTable('traccar/attributes.json'),
  flespi: readTable('flespi/parameters.json'),
  tesla: readTable('tesla/fields.json'),
  owntracks: readTable('owntracks/fields.json'),
  osmand: readTable('osmand/parameters.json'),
} as const satisfies Record<SourceFormatName, FieldTable>;

function readTable(path: string): FieldTable {
  return readFieldTable(new URL(path, import.meta.url));
}

const kilometresPerNauticalMile = 1.852;

/**
 * Encodes a reading as the message of another system: the inverse of `toReading` of its format. Left out is what the format has no
 * field for; `can` keeps its own names.
 */
export function encodeMessage(format: SourceFormatName, device: string, reading: TelemetryReading): Message {
  const fields = fieldsOf(reading, tables[format]);
  const { timestamp, location } = reading;
  const time = new Date(Math.round(timestamp * 1000)).toISOString();
  switch (format) {
    case 'traccar':
      return { device: { uniqueId: device }, position: positionOf(reading, fields, time) };
    case 'flespi':
      return { ident: device, timestamp, ...fields };
    case 'tesla':
      return {
        ...{ Vin: device, CreatedAt: time, IsResend: false, ...fields },
        ...(location && { Location: { latitude: location.latitude, longitude: location.longitude } }),
      };
    case 'owntracks':
      return { _type: 'location', tst: timestamp, ...fields };
    case 'osmand':
      return { id: device, timestamp, ...fields };
  }
}

/** A position of Traccar; one that is outdated has the time of the device and no place. */
function positionOf({ location }: TelemetryReading, fields: Message, time: string): Message {
  const { outdated, valid = 'true', ...attributes } = fields;
  const { latitude, longitude, altitude, angle, speed } = location ?? { latitude: 0, longitude: 0 };
  const isOutdated = outdated === 'true';
  return {
    ...{ valid: valid === 'true', outdated: isOutdated, latitude, longitude, altitude, attributes },
    ...{ fixTime: time, deviceTime: time, serverTime: time },
    ...(angle !== undefined && { course: angle }),
    ...(speed !== undefined && { speed: speed / kilometresPerNauticalMile }),
  };
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

import { readFileSync } from 'node:fs';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { deviceIdPattern } from '@odograph/contracts/topics';

/** A message of another system, and the name by which that system knows the device. */
export interface SourceMessage {
  readonly device: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** A request of another system, as its endpoint received it. */
export interface SourceRequest {
  readonly body: unknown;
  /** The device that the address or the credentials name, where the body does not. */
  readonly device?: string;
  readonly receivedAtMs: number;
}

/** How an endpoint differs from `POST /in/{format}` with a JSON body, which only sources may use. */
interface EndpointRules {
  /**
   * Its apps can be told nothing but a URL: `GET` and `POST /in/{format}/{deviceId}`, with the values and the secret in a
   * query or a form. A device may use a secret of its own.
   */
  readonly isUrl?: true;
  /** A device may sign in by its id and a secret of its own; a source names the device in this header. */
  readonly deviceHeader?: string;
  /** Decodes a body in protobuf. @throws InvalidMessage */
  decodeProtobuf?(body: Buffer): unknown;
  /** The answer to an accepted request, an empty one included; by default the number of messages. */
  readonly answer?: unknown;
}

export interface SourceFormat {
  readonly endpoint?: EndpointRules;
  /** Splits a request into messages with their devices. @throws InvalidMessage naming the field at fault */
  split(request: SourceRequest): SourceMessage[];
  /** Reads the device time of a message, UNIX seconds; undefined for an invalid one. */
  timestampOf(message: Readonly<Record<string, unknown>>): number | undefined;
  /** Converts a message to a reading, which is not checked; undefined for a message that has none. */
  toReading(message: Readonly<Record<string, unknown>>): unknown;
  /** Places and units of the fields that a message and a reading have in common. */
  readonly fields: FieldTable;
  /** Converts a reading to a message, the inverse of `toReading`. @param fields those in `fields`, by their names there */
  toMessage(
    device: string,
    reading: TelemetryReading,
    fields: Readonly<Record<string, unknown>>,
  ): Record<string, unknown>;
}

/** A request that cannot be assigned to a device. */
export class InvalidMessage extends Error {
  readonly field: string;

  constructor(field: string, rule: string) {
    super(`${field} ${rule}`);
    this.name = 'InvalidMessage';
    this.field = field;
  }
}

/** Returns an object member, empty when it is missing or something else. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Requires an object. @throws InvalidMessage */
export function requireObject(value: unknown, field: string): Record<string, unknown> {
  if (!isRecord(value)) throw new InvalidMessage(field, 'must be an object');
  return value;
}

/** Requires a text that is not empty. @throws InvalidMessage */
export function requireText(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '') throw new InvalidMessage(field, 'must be a text');
  return value;
}

const deviceIdForm = new RegExp(deviceIdPattern);

/** Requires the name of a device, which is its id here too. @throws InvalidMessage */
export function requireDevice(value: unknown, field: string): string {
  const name = requireText(value, field);
  if (!deviceIdForm.test(name)) throw new InvalidMessage(field, 'must be a device id: 1 to 64 of A-Z a-z 0-9 . _ : -');
  return name;
}

/** Nesting of a message that is decoded; deeper values could exhaust the stack. */
const maxNesting = 32;

/** Whether objects and arrays are nested too deeply to be decoded. */
export function isTooDeep(value: unknown, levels = maxNesting): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const name in value) if (isTooDeep((value as Record<string, unknown>)[name], levels - 1)) return true;
  return false;
}

/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where a field of another system goes in a reading, such as `status.ignition`, and how its value is converted. */
interface FieldRule {
  readonly to?: string;
  /** Default: a number. `flag` is true or false, `words` gives the text for each value. */
  readonly type?: 'flag' | 'words';
  readonly factor?: number;
  readonly words?: Readonly<Record<string, string>>;
  /** Traccar: the protocols in which the name has this meaning; others use it differently. */
  readonly onlyOf?: readonly string[];
  /** Traccar: the protocols in which the name has another or an unknown unit. */
  readonly notOf?: readonly string[];
  /** Values that mean "unknown". */
  readonly unknown?: readonly number[];
}

type Group = 'location' | 'status' | 'electric' | 'fleet' | 'alarms';
const groups: readonly Group[] = ['location', 'status', 'electric', 'fleet', 'alarms'];

/** The group and name of a field of a reading. */
type Place = readonly [group: Group, field: string];

/** Fields of a format by source name. `preferred` lists the earlier fields that map to the same field of a reading. */
export type FieldTable = ReadonlyMap<
  string,
  FieldRule & { readonly place?: Place; readonly preferred: readonly string[] }
>;

/** A reading while it is put together from the fields of another system. */
export interface Draft extends Partial<Record<Group, Record<string, unknown>>> {
  timestamp?: unknown;
  can: { key: string; value: string }[];
  sensors?: { name: string; data: { key: string; value: string }[] }[];
}

/** Reads the table of a format: a JSON file with a rule for each field that has a place of its own in a reading. */
export function readFieldTable(file: URL): FieldTable {
  const rules = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, FieldRule>);
  const table = new Map(
    rules.map(([name, rule], index) => {
      const earlier = rule.type === 'flag' ? [] : rules.slice(0, index).filter(([, { to }]) => to && to === rule.to);
      const place = rule.to === undefined ? undefined : placeOf(rule.to);
      return [name, { ...rule, ...(place && { place }), preferred: earlier.map(([other]) => other) }];
    }),
  );
  return table;
}

/** @throws for a group that readings do not have */
function placeOf(to: string): Place {
  const [name, field = ''] = to.split('.');
  const group = groups.find((one) => one === name);
  if (group === undefined) throw new Error(`${to} is not a field of a reading`);
  return [group, field];
}

/** Characters of a value of `can`. */
const maxValueLength = 1024;

/**
 * Adds a value to `can`; a text that is too long for one value in parts, the second under `key_2`. No part ends within a
 * surrogate pair, since a half of one cannot be stored.
 */
export function addToCan(can: { key: string; value: string }[], key: string, text: string): void {
  let from = 0;
  for (let part = 1; part === 1 || from < text.length; part += 1) {
    const isWithinPair = (text.codePointAt(from + maxValueLength - 1) ?? 0) > 0xffff;
    const until = from + maxValueLength - (isWithinPair ? 1 : 0);
    can.push({ key: part === 1 ? key : `${key}_${part}`, value: text.slice(from, until) });
    from = until;
  }
}

/**
 * Adds the fields of another system to a reading: to their places by the table, all others, and values that a place cannot
 * take, to `can` under their own names. Of several fields with one place, the first of the table takes it; of several flags,
 * one that is true. Fields that are null are left out.
 * @param skipped names of fields to leave out; copying an object without them takes longer than all of the rest
 */
export function addFields(
  draft: Draft,
  fields: Readonly<Record<string, unknown>>,
  table: FieldTable,
  skipped?: ReadonlySet<string>,
): void {
  for (const name in fields) {
    const value = fields[name];
    if (value === null || value === undefined || skipped?.has(name)) continue;
    const rule = table.get(name);
    const isTaken = rule?.preferred.some((other) => {
      const [preferred, given] = [table.get(other), fields[other] ?? undefined];
      return preferred !== undefined && given !== undefined && convert(preferred, given) !== undefined;
    });
    const converted = rule?.place === undefined || isTaken ? undefined : convert(rule, value);
    if (rule?.place !== undefined && converted !== undefined) put(draft, rule.place, converted);
    else if (!isUnknown(rule, value))
      addToCan(draft.can, name, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

/** A number may be a text: in a query, every value is. */
const isUnknown = (rule: FieldRule | undefined, value: unknown): boolean =>
  rule?.unknown?.includes(Number(value)) === true;

/** Converts a value by its rule; undefined when it has another type than the rule expects. */
function convert(rule: FieldRule, value: unknown): unknown {
  if (rule.type === 'words') return rule.words?.[String(value)];
  if (rule.type === 'flag') return flagOf(value);
  if (isUnknown(rule, value)) return undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
  // A product of decimal fractions has digits that are no measurement; nine places are finer than any sensor.
  return rule.factor === undefined ? number : Math.round(number * rule.factor * 1e9) / 1e9;
}

function flagOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (value === 1 || value === '1' || value === 'true') return true;
  return value === 0 || value === '0' || value === 'false' ? false : undefined;
}

function put(draft: Draft, [group, field]: Place, value: unknown): void {
  const fields = draft[group] ?? {};
  fields[field] = fields[field] === true || value;
  draft[group] = fields;
}

/**
 * Completes a reading: a position needs both coordinates, and zeros for both are how many systems say "none". Without a position,
 * what else its group has goes to `can`.
 */
export function completeReading(draft: Draft): Draft {
  if (draft.location === undefined) return draft;
  const { latitude, longitude, ...others } = draft.location;
  const isZero = latitude === 0 && longitude === 0;
  if (latitude !== undefined && longitude !== undefined && !isZero) return draft;
  const { location: _location, ...rest } = draft;
  addFields(rest, others, new Map());
  return rest;
}

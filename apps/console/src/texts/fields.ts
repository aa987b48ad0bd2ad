import { type FieldFacts, quantityFields, readingFields, sensorFields } from '@odograph/contracts/fields';
import { formatQuantity, formatTime } from './format.ts';
import { type Lookup, lookUp, texts } from './texts.ts';

type Facts = Readonly<Record<string, FieldFacts>>;
const groups: Readonly<Record<string, Facts>> = readingFields;
const quantities: Facts = quantityFields;

/** Splits the name of a field of series: `sensors.NAME.KEY` and `can.KEY`, each part decoded. */
const partsOf = (field: string): readonly string[] => field.split('.').map(decodeURIComponent);

/** The facts of a field of series. */
export function factsOfSeries(field: string): FieldFacts | undefined {
  const [group, , key = ''] = partsOf(field);
  return group === 'sensors' ? sensorFields[key] : quantities[field];
}

type Names<Tables> = { readonly [Group in keyof Tables]: Readonly<Record<keyof Tables[Group], string>> };

const names = (): Names<typeof readingFields> & Readonly<Record<'sensors', Lookup>> => texts.value.fields;

/** Names a field of series: `can.rpm` is rpm; the key of a sensor follows the sensor's name. */
export function nameOfSeries(field: string): string {
  const { location, status, electric, sensors } = names();
  const [group, ...parts] = partsOf(field);
  if (group === 'sensors') return [parts[0], sensors[parts[1] ?? ''] ?? parts[1]].join(' · ');
  const quantities: Lookup = { ...location, ...status, ...electric };
  return quantities[field] ?? (group === 'can' ? parts.join(' ') : field);
}

/** A value of the platform, in a field of a group or under a free name in CAN data or sensors. */
interface NamedValue {
  readonly group: string;
  readonly name: string;
  /** The name of its series. */
  readonly field?: string | undefined;
}

/** The facts of a latest value; undefined for a free name. */
export const factsOfValue = ({ group, name, field = '' }: NamedValue): FieldFacts | undefined =>
  groups[group]?.[name] ?? factsOfSeries(field);

/** Sorts latest values in the order of the table of fields; free names keep their order. */
export function inOrder<Value extends NamedValue>(values: readonly Value[]): Value[] {
  const placeOf = ({ group, name }: Value) => Object.keys(groups[group] ?? {}).indexOf(name);
  return values.toSorted((one, other) => (one.group === other.group ? placeOf(one) - placeOf(other) : 0));
}

/** Names a latest value; a free name stays. */
export function nameOfValue({ group, name, field = name }: NamedValue): string {
  const groups: Readonly<Record<string, Lookup>> = names();
  return groups[group]?.[name] ?? nameOfSeries(field);
}

/** The decimals of a value without facts: none for whole numbers. */
const usualDecimals = (value: number): number => (Number.isInteger(value) ? 0 : Math.abs(value) < 100 ? 2 : 1);

function formatNumeric(value: number, facts: FieldFacts | undefined, unit: string): string {
  const { yes, no } = texts.value;
  if (facts?.isUnknownAtZero && value === 0) return '–';
  if (facts?.isTime) return formatTime(value < 1e11 ? value * 1000 : value);
  if (facts?.isFlag && (value === 0 || value === 1)) return value === 1 ? yes : no;
  return formatQuantity(value, facts?.unit ?? unit, facts?.decimals ?? usualDecimals(value));
}

/** Formats a value with its unit; `unit` is that of a free name. CAN data and sensors are texts, most of them numbers. */
export function formatValue(value: string | number | boolean, facts: FieldFacts | undefined, unit: string): string {
  if (typeof value === 'boolean') return texts.value[value ? 'yes' : 'no'];
  const text = String(value);
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(number)) return formatNumeric(number, facts, unit);
  return /^\d{4}-\d\d-\d\dT/.test(text) ? formatTime(text) : (lookUp(texts.value.vehiclePage.words, text) ?? text);
}

import { canField, columnFields, sensorField, unitOf } from '../series/rules.ts';
import type { LatestValue } from './schemas.ts';

/** A field group of the latest state, as stored, with its device time. */
export interface LatestGroup {
  readonly group: string;
  readonly time: string;
  readonly content: unknown;
}

interface Datum {
  readonly key: string;
  readonly value: string;
}
interface Sensor {
  readonly name: string;
  readonly data: readonly Datum[];
}

const isValue = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

/** Lists the values of a group one by one; lists within a group, such as cards, as JSON. */
export function valuesOf({ group, time, content }: LatestGroup): LatestValue[] {
  const row = (name: string, value: LatestValue['value'], field: string | undefined): LatestValue => ({
    ...{ group, name, value, unit: field === undefined ? '' : unitOf(field), time },
    ...(field !== undefined && { field }),
  });
  if (group === 'can') return (content as Datum[]).map(({ key, value }) => row(key, value, canField(key)));
  if (group === 'sensors') {
    return (content as Sensor[]).flatMap(({ name, data }) =>
      data.map(({ key, value }) => row(`${name} ${key}`, value, sensorField(name, key))),
    );
  }
  return Object.entries(content as object).map(([name, value]) => {
    const hasSeries = group !== 'fleet' && columnFields.some((field) => field === name);
    return row(name, isValue(value) ? value : JSON.stringify(value), hasSeries ? name : undefined);
  });
}

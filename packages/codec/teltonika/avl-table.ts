import { readFileSync } from 'node:fs';
import { type AvlFamily, avlFamilies } from '@odograph/contracts/device-models';

/** Range, error codes and scale of the raw values of a number. */
export interface NumberRule {
  readonly signed?: true;
  readonly divisor?: number;
  /** Smallest and largest raw value; any other is absent. */
  readonly min?: number;
  readonly max?: number;
  /** Raw values that report a failure of the sensor. */
  readonly errors?: readonly number[];
}

/** Maps an I/O element to a field and its decoding; Teltonika, "Teltonika Data Sending Parameters ID" of each model. */
export interface AvlProperty extends NumberRule {
  readonly id: number;
  /** Families in which the id has this meaning; all by default. */
  readonly families?: readonly AvlFamily[];
  /** Key under which it is stored in `can`, or in `sensors` when it belongs to one. */
  readonly name: string;
  readonly unit?: string;
  /** Default: a number. `text` is ASCII, `flag` is true when it is not 0; `beacons` and `tags` are lists of BLE devices. */
  readonly type?: 'flag' | 'hex' | 'text' | 'beacons' | 'tags';
  readonly sensor?: string;
  /** The field of a reading that takes it, such as `status.mileage`. */
  readonly to?: string;
}

type Group = 'status' | 'electric' | 'fleet' | 'alarms';
type Target = readonly [group: Group, field: string];

const rows = (JSON.parse(readFileSync(new URL('avl-ids.json', import.meta.url), 'utf8')) as AvlProperty[]).map(
  (row) => ({ ...row, target: row.to?.split('.') as Target | undefined }),
);

/** The I/O elements of a family by their ids. */
export type AvlTable = ReadonlyMap<number, (typeof rows)[number]>;

const byId = (family: AvlFamily | undefined): AvlTable =>
  new Map(
    rows
      .filter(({ families }) => families === undefined || (family !== undefined && families.includes(family)))
      .map((row) => [row.id, row]),
  );
const unknownFamily = byId(undefined);
const tables = new Map(avlFamilies.map((family) => [family, byId(family)]));

/** Returns the elements of a family; of an unknown one, those that mean the same in all families. */
export function avlTable(family: AvlFamily | undefined): AvlTable {
  return (family && tables.get(family)) ?? unknownFamily;
}

/** Counts the values of an upload that are left out, by reason. */
export type AbsentValues = Partial<Record<'error_code' | 'out_of_range', number>>;

/** Scales a raw value; counts it and returns undefined when it is not a measurement. */
export function measure(rule: NumberRule, raw: number, absent: AbsentValues): number | undefined {
  const { divisor, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, errors } = rule;
  const reason = errors?.includes(raw) ? 'error_code' : raw < min || raw > max ? 'out_of_range' : undefined;
  if (reason !== undefined) {
    absent[reason] = (absent[reason] ?? 0) + 1;
    return undefined;
  }
  // A division by a power of ten gives the nearest decimal fraction; a multiplication by 0.1 does not.
  return divisor === undefined ? raw : raw / divisor;
}

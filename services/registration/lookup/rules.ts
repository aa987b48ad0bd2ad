import type { Fields, FieldValue } from '../record/fields.ts';
import { identityOfFields, type VehicleIdentity } from '../record/vehicle-identity.ts';

/** Who looks up: records that belong to one application are seen by that application alone. */
export interface Scope {
  /** Absent for the operator's view of what every application sees. */
  readonly applicationId?: number;
}

/** What a source says: the records it has, the more important first; none with the reason for people and programs. */
export interface Finding {
  readonly records: readonly Fields[];
  /** `found`, `unknown`, `not-asked`, or why the source could not answer. */
  readonly outcome: string;
  /** True when the source may know the vehicle and could not be asked now. */
  readonly isAway?: boolean;
}

/** One place where registration data comes from. It never throws for a fault of its own. */
export interface Source {
  readonly name: string;
  find(subject: VehicleIdentity, scope: Scope): Promise<Finding>;
}

/** What all sources together say. */
export interface LookUp {
  readonly fields: Fields;
  /** The source of each field, by the field's path. */
  readonly sources: ReadonlyMap<string, string>;
  /** The outcome of each source by its name. */
  readonly outcomes: Readonly<Record<string, string>>;
  readonly isKnown: boolean;
  /** True when a source could not be asked that may know more. */
  readonly isIncomplete: boolean;
}

interface Merged {
  fields: Map<string, FieldValue>;
  sources: Map<string, string>;
}

const tires = 'tires.';

/**
 * Lays a record under what is known already: a field that is known stays. Tires are taken from one record as a whole,
 * for half of one set beside half of another would be no set.
 */
export function mergeUnder({ fields, sources }: Merged, record: Fields, source: string): void {
  const hasTires = [...fields.keys()].some((path) => path.startsWith(tires));
  for (const [path, value] of record) {
    if (fields.has(path) || (hasTires && path.startsWith(tires))) continue;
    fields.set(path, value);
    sources.set(path, source);
  }
}

/** A record with another VIN is of another vehicle that bore the same plate. */
function contradicts(subject: VehicleIdentity, record: Fields): boolean {
  const { vin } = identityOfFields(record);
  return subject.vin !== undefined && vin !== undefined && subject.vin !== vin;
}

/**
 * Asks the sources in order and merges their answers field by field. What one source finds out about plate or VIN, the
 * next ones are asked with.
 */
export async function lookUp(sources: readonly Source[], subject: VehicleIdentity, scope: Scope): Promise<LookUp> {
  const merged: Merged = { fields: new Map(), sources: new Map() };
  const outcomes: Record<string, string> = {};
  let known = subject;
  let isKnown = false;
  let isIncomplete = false;
  for (const source of sources) {
    const { records, outcome, isAway = false } = await source.find(known, scope);
    outcomes[source.name] = outcome;
    isIncomplete ||= isAway;
    for (const record of records) {
      if (contradicts(known, record)) {
        outcomes[source.name] = 'other-vehicle';
        continue;
      }
      isKnown = true;
      outcomes[source.name] = outcome;
      mergeUnder(merged, record, source.name);
      known = { ...identityOfFields(record), ...known };
    }
  }
  return { ...merged, outcomes, isKnown, isIncomplete };
}

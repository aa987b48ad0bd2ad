import type { Fields, FieldValue } from '../record/fields.ts';
import { identityOfFields, type VehicleIdentity } from '../record/identity.ts';

/** The answer of a source: records in descending priority, and the outcome for logs and the operator. */
export interface Finding {
  readonly records: readonly Fields[];
  /** `found`, `unknown`, `not-asked`, or the reason of a failure. */
  readonly outcome: string;
  /** True when the source is unavailable and may know the vehicle. */
  readonly isUnavailable?: boolean;
}

/** A source of registration data. Its own failures become outcomes, never exceptions. */
export interface Source {
  readonly name: string;
  /** @param applicationId whose own records are visible too; undefined for those of every application only */
  find(subject: VehicleIdentity, applicationId: number | undefined): Promise<Finding>;
}

/** The merged answer of all sources. */
export interface Lookup {
  readonly fields: Fields;
  /** The source of each field, by the field's path. */
  readonly sources: ReadonlyMap<string, string>;
  /** The outcome of each source by its name. */
  readonly outcomes: Readonly<Record<string, string>>;
  readonly isKnown: boolean;
  /** True when an unavailable source may know more. */
  readonly isIncomplete: boolean;
}

interface Merged {
  fields: Map<string, FieldValue>;
  sources: Map<string, string>;
}

const tires = 'tires.';

/**
 * Merges a record of lower priority: fields that are known already stay. Tires come from one record as a whole, because
 * a mix of two sets describes neither.
 */
function mergeUnder({ fields, sources }: Merged, record: Fields, source: string): void {
  const hasTires = [...fields.keys()].some((path) => path.startsWith(tires));
  for (const [path, value] of record) {
    if (fields.has(path) || (hasTires && path.startsWith(tires))) continue;
    fields.set(path, value);
    sources.set(path, source);
  }
}

/** A record with another VIN describes another vehicle that once had the same plate. */
function contradicts(identity: VehicleIdentity, record: Fields): boolean {
  const { vin } = identityOfFields(record);
  return identity.vin !== undefined && vin !== undefined && identity.vin !== vin;
}

/**
 * Queries the sources in order and merges their records field by field. A plate or VIN found in one source is used to
 * query the next ones.
 */
export async function lookUp(
  sources: readonly Source[],
  identity: VehicleIdentity,
  applicationId: number | undefined,
): Promise<Lookup> {
  const merged: Merged = { fields: new Map(), sources: new Map() };
  const outcomes: Record<string, string> = {};
  let known = identity;
  let isKnown = false;
  let isIncomplete = false;
  for (const source of sources) {
    const { records, outcome, isUnavailable = false } = await source.find(known, applicationId);
    outcomes[source.name] = outcome;
    isIncomplete ||= isUnavailable;
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

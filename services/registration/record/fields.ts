import { RegistrationRecord } from './schemas.ts';

/** Known values by the path of their field, such as `certificate.brand` or `tires.0.front_width`. */
export type Fields = ReadonlyMap<string, FieldValue>;
export type FieldValue = string | number | boolean;
export type FieldType = 'string' | 'number' | 'boolean';

export const maximumTires = 10;

const sections = RegistrationRecord.properties;
const tireProperties = sections.tires.items.properties;
const objectSections = ['certificate', 'additional_information', 'fluids', 'electric'] as const;
const defaults = { string: '', number: 0, boolean: false } as const;
const tirePath = /^tires\.(\d)\.(\w+)$/;

const typesByPath: ReadonlyMap<string, FieldType> = new Map(
  objectSections.flatMap((section) =>
    Object.entries(sections[section].properties).map(([name, { type }]) => [`${section}.${name}`, type] as const),
  ),
);
const tireTypes: ReadonlyMap<string, FieldType> = new Map(
  Object.entries(tireProperties).map(([name, { type }]) => [name, type] as const),
);

/** The path of every field in the order of the specification; tires are listed for the first element only. */
export const fieldPaths: readonly string[] = [
  ...typesByPath.keys(),
  ...[...tireTypes.keys()].map((name) => `tires.0.${name}`),
];

const pathsByName: ReadonlyMap<string, string> = new Map(
  fieldPaths.toReversed().map((path) => [path.slice(path.lastIndexOf('.') + 1), path]),
);

/** Returns the type of the field with this path, undefined when there is no such field. */
export function fieldType(path: string): FieldType | undefined {
  const [, , name] = tirePath.exec(path) ?? [];
  return name === undefined ? typesByPath.get(path) : tireTypes.get(name);
}

/** Completes the name of a field with its section; a name without a section means the first section that has it. */
export function fullPath(name: string): string | undefined {
  return fieldType(name) === undefined ? pathsByName.get(name) : name;
}

/** Returns true for the values that mean missing information (specification, general convention 4). */
export function isMissing(value: FieldValue): boolean {
  return value === '' || value === 0 || value === false;
}

function completed(types: ReadonlyMap<string, FieldType>, prefix: string, fields: Fields): Record<string, FieldValue> {
  return Object.fromEntries([...types].map(([name, type]) => [name, fields.get(`${prefix}${name}`) ?? defaults[type]]));
}

/** Builds the record of an answer, with every field present. */
export function toRecord(fields: Fields): RegistrationRecord {
  const flat = completed(typesByPath, '', fields);
  const section = (name: string) =>
    Object.fromEntries(
      Object.entries(flat)
        .filter(([path]) => path.startsWith(`${name}.`))
        .map(([path, value]) => [path.slice(name.length + 1), value]),
    );
  const tireIndexes = [...fields.keys()].map((path) => Number(tirePath.exec(path)?.[1] ?? 0));
  const tires = Array.from({ length: Math.max(0, ...tireIndexes) + 1 }, (_, index) =>
    completed(tireTypes, `tires.${index}.`, fields),
  );
  const record = { ...Object.fromEntries(objectSections.map((name) => [name, section(name)])), tires };
  return record as unknown as RegistrationRecord;
}

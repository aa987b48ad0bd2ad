import type { Schema } from '../../api/client.ts';

export type GbfsSettings = Schema<'GbfsPublicationSettings'>['settings'];

/** A field of the form. */
export interface Spec {
  readonly name: string;
  readonly kind: 'text' | 'url' | 'email' | 'words' | 'localized' | 'number' | 'rate' | 'flag' | 'choice';
  readonly isRequired?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly options?: readonly string[];
}

const isRequired = true;
/** Members of the settings that have a field, by their object (packages/contracts/gbfs.ts). */
export const specs = {
  system: [
    { name: 'system_id', kind: 'text', isRequired },
    { name: 'languages', kind: 'words', isRequired },
    { name: 'name', kind: 'localized', isRequired },
    { name: 'operator', kind: 'localized' },
    { name: 'timezone', kind: 'text', isRequired },
    { name: 'opening_hours', kind: 'text', isRequired },
    { name: 'feed_contact_email', kind: 'email', isRequired },
    { name: 'email', kind: 'email' },
    { name: 'phone_number', kind: 'text' },
    { name: 'url', kind: 'url' },
    { name: 'license_id', kind: 'text' },
  ],
  vehicleTypes: [
    { name: 'vehicle_type_id', kind: 'text', isRequired },
    { name: 'match.brand', kind: 'text' },
    { name: 'match.model', kind: 'text' },
    { name: 'match.kind', kind: 'text' },
    { name: 'match.energy', kind: 'text' },
    {
      ...{ name: 'form_factor', kind: 'choice', isRequired },
      options: ['car', 'bicycle', 'cargo_bicycle', 'moped', 'scooter_standing', 'scooter_seated', 'other'],
    },
    {
      ...{ name: 'propulsion_type', kind: 'choice', isRequired },
      options: [
        ...['combustion', 'combustion_diesel', 'electric', 'hybrid', 'plug_in_hybrid', 'hydrogen_fuel_cell'],
        ...['electric_assist', 'human'],
      ],
    },
    { name: 'max_range_meters', kind: 'number', minimum: 1, maximum: 1e7 },
    { name: 'rangeIfUnknownMeters', kind: 'number', minimum: 0, maximum: 1e7 },
    { name: 'rider_capacity', kind: 'number', minimum: 0 },
    {
      ...{ name: 'return_constraint', kind: 'choice' },
      options: ['free_floating', 'roundtrip_station', 'any_station', 'hybrid'],
    },
    { name: 'default_pricing_plan_id', kind: 'text' },
  ],
  pricingPlans: [
    { name: 'plan_id', kind: 'text', isRequired },
    { name: 'name', kind: 'localized', isRequired },
    { name: 'description', kind: 'localized', isRequired },
    { name: 'currency', kind: 'text', isRequired },
    { name: 'price', kind: 'number', isRequired, minimum: 0 },
    { name: 'per_min_pricing', kind: 'rate' },
    { name: 'per_km_pricing', kind: 'rate' },
    { name: 'is_taxable', kind: 'flag' },
  ],
  feeds: [
    { name: 'ttlSeconds', kind: 'number', minimum: 5, maximum: 300 },
    { name: 'positionMaxAgeMinutes', kind: 'number', minimum: 5, maximum: 10_080 },
    { name: 'stationRadiusMetres', kind: 'number', minimum: 10, maximum: 5000 },
  ],
} as const satisfies Record<string, readonly Spec[]>;
export type Section = keyof typeof specs;

const ownMembers = ['publicUrl', 'stations', 'vehicleIds'];
const namesOf = (section: Section): readonly string[] => specs[section].map(({ name }) => name);

/** Lists the paths of all fields, for fault messages. */
export function fieldsOf(settings: GbfsSettings): readonly string[] {
  const rows = (['vehicleTypes', 'pricingPlans'] as const).flatMap((section) =>
    (settings[section] ?? []).flatMap((_row, index) => namesOf(section).map((name) => `${section}.${index}.${name}`)),
  );
  return [...ownMembers, ...namesOf('feeds'), ...namesOf('system').map((name) => `system.${name}`), ...rows];
}

/** Lists the members without a field, which are kept unchanged. */
export function membersWithoutField(settings: GbfsSettings): readonly string[] {
  const known = new Set([
    ...fieldsOf(settings),
    ...fieldsOf(settings).map((path) => path.replace(/\.match\..*/, '.match')),
  ]);
  const below = (path: string, value: object) => Object.keys(value).map((name) => `${path}.${name}`);
  const rows = (['vehicleTypes', 'pricingPlans'] as const).flatMap((section) =>
    (settings[section] ?? []).flatMap((row, index) => below(`${section}.${index}`, row)),
  );
  const top = Object.keys(settings).filter((name) => !['system', 'vehicleTypes', 'pricingPlans'].includes(name));
  return [...top, ...below('system', settings.system), ...rows].filter((path) => !known.has(path));
}

const languageOf = (entry: unknown): string | undefined => Object(entry).language;

/** Whether a list has prices, of which the first was cleared. */
const isCleared = ([first]: readonly unknown[]): boolean => 'rate' in Object(first) && Object(first).rate === undefined;

function prune(value: unknown, languages: readonly string[]): unknown {
  if (Array.isArray(value)) {
    const kept = value.filter((entry) => {
      const language = languageOf(entry);
      return language === undefined || languages.includes(language);
    });
    const isEmptied = kept.length === 0 && value.length > 0;
    return isEmptied || isCleared(kept) ? undefined : kept.map((one) => prune(one, languages));
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, prune(member, languages)] as const);
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

/**
 * Removes what the form keeps only during editing: texts in languages the system does not list, and price lists whose first
 * price was cleared.
 */
export const pruneSettings = (settings: GbfsSettings): GbfsSettings =>
  prune(settings, settings.system.languages) as GbfsSettings;

/** Returns a member of a JSON value by its path, such as `system.name` or `vehicleTypes.0.match`. */
export const readPath = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((part, name) => Object(part)[name], value);

/** Describes settings for the conflict notice: members by path, vehicle types and pricing plans by id. */
export function describeSettings(settings: GbfsSettings): Readonly<Record<string, string>> {
  const { vehicleTypes, pricingPlans = [] } = settings;
  const paths = [...fieldsOf(settings), ...membersWithoutField(settings)];
  return {
    ...Object.fromEntries(paths.map((path) => [path, JSON.stringify(readPath(settings, path)) ?? '–'])),
    vehicleTypes: vehicleTypes.map((type) => type.vehicle_type_id).join(', '),
    pricingPlans: pricingPlans.map((plan) => plan.plan_id).join(', '),
  };
}

/** Returns a copy of a JSON value with a member replaced at a path; undefined removes the member. */
export function writePath(value: unknown, path: string, next: unknown): unknown {
  const [name = '', ...rest] = path.split('.');
  const members = Object(value) as Readonly<Record<string, unknown>>;
  const member = rest.length === 0 ? next : writePath(members[name], rest.join('.'), next);
  if (Array.isArray(value)) return value.with(Number(name), member);
  const { [name]: _former, ...others } = members;
  return member === undefined ? others : { ...members, [name]: member };
}

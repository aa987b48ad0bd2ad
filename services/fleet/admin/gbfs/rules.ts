import { invalidParameter } from '@odograph/contracts/failures';
import type { GbfsSettings } from '@odograph/contracts/gbfs';

interface Localized {
  readonly text: string;
  readonly language: string;
}

const isLocalized = (value: unknown): value is Localized =>
  typeof value === 'object' && value !== null && 'language' in value && 'text' in value;

/** Checks that each translated text has one entry for each language of the system (GBFS 3.0, "Localization"). */
function requireTranslations(value: unknown, languages: readonly string[], path: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value) || !value.every(isLocalized) || value.length === 0) {
    for (const [name, member] of Object.entries(value)) {
      requireTranslations(member, languages, path === '' ? name : `${path}.${name}`);
    }
    return;
  }
  const given = value.map(({ language }) => language);
  const isComplete = given.length === languages.length && languages.every((language) => given.includes(language));
  if (!isComplete) throw invalidParameter(path, `must have one text in each of the languages ${languages.join(', ')}`);
}

function requireUnique(ids: readonly string[], field: (index: number) => string): void {
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (repeated !== -1) throw invalidParameter(field(repeated), 'is used twice');
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== undefined;
  } catch {
    return false;
  }
}

function requireSystem({ system }: GbfsSettings): void {
  requireUnique(system.languages, (index) => `system.languages.${index}`);
  if (!isTimeZone(system.timezone)) throw invalidParameter('system.timezone', 'must be a name of the IANA database');
  if (system.license_id !== undefined && system.license_url !== undefined) {
    throw invalidParameter('system.license_url', 'must not be given together with license_id');
  }
  for (const name of ['terms', 'privacy'] as const) {
    const date = `${name}_last_updated` as const;
    if (system[`${name}_url`] !== undefined && system[date] === undefined) {
      throw invalidParameter(`system.${date}`, `is missing: ${name}_url needs it`);
    }
  }
}

function requireVehicleTypes({ vehicleTypes, pricingPlans = [] }: GbfsSettings): void {
  const plans = new Set(pricingPlans.map(({ plan_id }) => plan_id));
  requireUnique(
    vehicleTypes.map((type) => type.vehicle_type_id),
    (index) => `vehicleTypes.${index}.vehicle_type_id`,
  );
  for (const [index, type] of vehicleTypes.entries()) {
    const at = (name: string) => `vehicleTypes.${index}.${name}`;
    if (type.propulsion_type !== 'human' && type.max_range_meters === undefined) {
      throw invalidParameter(at('max_range_meters'), 'is missing: a vehicle with a motor needs it');
    }
    if (plans.size > 0 && type.default_pricing_plan_id === undefined) {
      throw invalidParameter(at('default_pricing_plan_id'), 'is missing: there are pricing plans');
    }
    requireKnown([type.default_pricing_plan_id], plans, () => at('default_pricing_plan_id'), 'pricing plan');
    requireKnown(type.pricing_plan_ids ?? [], plans, (place) => at(`pricing_plan_ids.${place}`), 'pricing plan');
  }
}

function requireKnown(
  ids: readonly (string | undefined)[],
  known: ReadonlySet<string>,
  field: (index: number) => string,
  kind: string,
): void {
  const unknown = ids.findIndex((id) => id !== undefined && !known.has(id));
  if (unknown !== -1) throw invalidParameter(field(unknown), `must be the id of a ${kind} of these settings`);
}

function requireRules({ geofencing, vehicleTypes }: GbfsSettings): void {
  if (!geofencing) return;
  const types = new Set(vehicleTypes.map((type) => type.vehicle_type_id));
  const check = (rules: (typeof geofencing)['globalRules'], path: string) => {
    for (const [index, rule] of rules.entries()) {
      const field = (place: number) => `${path}.${index}.vehicle_type_ids.${place}`;
      requireKnown(rule.vehicle_type_ids ?? [], types, field, 'vehicle type');
    }
  };
  check(geofencing.globalRules, 'geofencing.globalRules');
  for (const [index, zone] of geofencing.zones.entries()) check(zone.rules ?? [], `geofencing.zones.${index}.rules`);
}

/**
 * Checks what the schema cannot say: that ids refer to something, and that texts are translated (GBFS 3.0).
 * @throws Failure INVALID_PARAMETER that names the first field at fault
 */
export function requireConsistent(settings: GbfsSettings): void {
  requireSystem(settings);
  requireTranslations(settings, settings.system.languages, '');
  requireUnique(
    (settings.pricingPlans ?? []).map((plan) => plan.plan_id),
    (index) => `pricingPlans.${index}.plan_id`,
  );
  requireVehicleTypes(settings);
  requireRules(settings);
}

/** The address of the discovery file of a system. */
export function discoveryUrl({ publicUrl, system }: GbfsSettings): string {
  return `${publicUrl.replace(/\/+$/, '')}/v1/x/gbfs/${system.system_id}/gbfs.json`;
}

import { randomBytes } from 'node:crypto';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { GbfsSettings } from '@odograph/contracts/gbfs';
import { isTimeZone, timeZoneRule } from '@odograph/contracts/time-zone';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Http } from '@odograph/http/http';
import { AppId, answers, EmptyAnswer, moment } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from './common/fleet.ts';

const ApplicationPath = Type.Object({ appId: AppId });
const DiscoveryUrl = Type.String({
  description: 'address of the discovery file, for the public',
  examples: ['https://telematics.example/v1/x/gbfs/example_paris/gbfs.json'],
});
const path = '/v1/x/admin/gbfs/:appId';

/** The operator's routes for what applications publish as GBFS 3.0. */
export const gbfs: FleetRoutes = { operator: [addPublication, addReading, addEnd] };

function addPublication(http: Http, { db }: Fleet): void {
  const publishSchema = {
    summary: 'Publish the vehicles and stations of an application as GBFS 3.0, to everyone',
    params: ApplicationPath,
    body: Type.Object({ appId: AppId, ...GbfsSettings.properties }, { additionalProperties: false }),
    response: answers(
      Type.Object({ discoveryUrl: DiscoveryUrl }, { title: 'GbfsPublication' }),
      ...(['UNKNOWN_APPLICATION', 'ALREADY_EXISTS'] as const),
    ),
  };
  http.put(path, { schema: publishSchema }, async ({ body: { appId, ...settings }, ip, operator }) =>
    db.transaction().execute(async (trx) => {
      const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
      requireConsistent(settings);
      await requireOwn(trx, applicationId, settings);
      await storeSettings(trx, applicationId, settings);
      const subject = `gbfs:${settings.system.system_id}`;
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'gbfs.publish', subject);
      return { discoveryUrl: discoveryUrl(settings) };
    }),
  );
}

function addReading(http: Http, { db }: Fleet): void {
  const showSchema = {
    summary: 'Show what an application publishes as GBFS 3.0',
    params: ApplicationPath,
    response: answers(
      Type.Object(
        { discoveryUrl: DiscoveryUrl, updatedAt: moment('the last change'), settings: GbfsSettings },
        { title: 'GbfsPublicationSettings' },
      ),
      ...(['UNKNOWN_APPLICATION', 'NOT_FOUND'] as const),
    ),
  };
  http.get(path, { schema: showSchema }, async ({ params: { appId }, operator }) => {
    const applicationId = await findApplicationId(db, appId, operator.applicationIds);
    const { settings, updatedAt } = await readSettings(db, applicationId);
    return { discoveryUrl: discoveryUrl(settings), updatedAt: updatedAt.toISOString(), settings };
  });
}

function addEnd(http: Http, { db }: Fleet): void {
  const stopSchema = {
    summary: 'Stop publishing an application as GBFS; its feeds answer NOT_FOUND within their TTL',
    params: ApplicationPath,
    response: answers(EmptyAnswer, 'UNKNOWN_APPLICATION', 'NOT_FOUND'),
  };
  http.delete(path, { schema: stopSchema }, async ({ params: { appId }, ip, operator }) => {
    await db.transaction().execute(async (trx) => {
      const applicationId = await findApplicationId(trx, appId, operator.applicationIds);
      const subject = `gbfs:${await deleteSettings(trx, applicationId)}`;
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'gbfs.end', subject);
    });
    return {};
  });
}

const idKeyBytes = 32;

/** Stores what an application publishes. @throws Failure ALREADY_EXISTS if another application has the system id */
async function storeSettings(db: Database, applicationId: number, settings: GbfsSettings): Promise<void> {
  await failOnConstraint({ gbfs_system_id: ['ALREADY_EXISTS', 'another application has this system id'] }, () =>
    db
      .insertInto('gbfs_system')
      .values({
        application_id: applicationId,
        system_id: settings.system.system_id,
        settings: JSON.stringify(settings),
        id_key: randomBytes(idKeyBytes),
      })
      // The key stays, so that a change of the settings gives no vehicle a new id.
      .onConflict((conflict) =>
        conflict.column('application_id').doUpdateSet((excluded) => ({
          system_id: excluded.ref('excluded.system_id'),
          settings: excluded.ref('excluded.settings'),
          updated_at: sql<Date>`now()`,
        })),
      )
      .execute(),
  );
}

/** Reads what an application publishes. @throws Failure NOT_FOUND if it publishes nothing */
export async function readSettings(db: Database, applicationId: number) {
  const row = await db
    .selectFrom('gbfs_system')
    .select(['settings', 'updated_at as updatedAt'])
    .where('application_id', '=', applicationId)
    .executeTakeFirst();
  if (!row) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
  return row;
}

/** Ends the publication. @returns the system id. @throws Failure NOT_FOUND if the application publishes nothing */
async function deleteSettings(db: Database, applicationId: number): Promise<string> {
  const row = await db
    .deleteFrom('gbfs_system')
    .where('application_id', '=', applicationId)
    .returning('system_id')
    .executeTakeFirst();
  if (!row) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
  return row.system_id;
}

/** Checks that geofences, vehicles and parking spots are of the application. @throws Failure INVALID_PARAMETER for the first that is not */
async function requireOwn(db: Database, applicationId: number, settings: GbfsSettings): Promise<void> {
  const { geofencing, vehicleIds = [], stations } = settings;
  const geofenceIds = (geofencing?.zones ?? []).map(({ geofenceId }) => geofenceId.toLowerCase());
  const shortIds = Array.isArray(stations) ? stations : [];
  const { rows } = await sql<{ geofences: string[]; vehicles: string[]; spots: string[] }>`select
    array(select id::text from geofence where application_id = ${applicationId} and geometry ->> 'type' <> 'LineString'
      and id = any(${geofenceIds}::uuid[])) as geofences,
    array(select id::text from vehicle where application_id = ${applicationId} and deleted_at is null
      and id::text = any(${[...vehicleIds]}::text[])) as vehicles,
    array(select short_id from parking where application_id = ${applicationId}
      and latitude is not null and short_id = any(${[...shortIds]}::text[])) as spots`.execute(db);
  const { geofences = [], vehicles = [], spots = [] } = rows[0] ?? {};
  const requireAll = (ids: readonly string[], known: readonly string[], path: string, rule: string) => {
    const found = new Set(known);
    const missing = ids.findIndex((id) => !found.has(id));
    if (missing !== -1) throw invalidParameter(path.replace('*', String(missing)), rule);
  };
  requireAll(
    geofenceIds,
    geofences,
    'geofencing.zones.*.geofenceId',
    'must be a geofence of the application other than a corridor',
  );
  requireAll(vehicleIds, vehicles, 'vehicleIds.*', 'must be a vehicle of the application');
  requireAll(shortIds, spots, 'stations.*', 'must be the short id of a parking spot with coordinates');
}

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

function requireSystem({ system }: GbfsSettings): void {
  requireUnique(system.languages, (index) => `system.languages.${index}`);
  if (!isTimeZone(system.timezone)) throw invalidParameter('system.timezone', timeZoneRule);
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
function requireConsistent(settings: GbfsSettings): void {
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
function discoveryUrl({ publicUrl, system }: GbfsSettings): string {
  return `${publicUrl.replace(/\/+$/, '')}/v1/x/gbfs/${system.system_id}/gbfs.json`;
}

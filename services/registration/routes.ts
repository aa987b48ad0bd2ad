import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findScope } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, answers, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { removeRecords } from './imports/queries.ts';
import { fieldPaths, fieldType, RegistrationRecord, toRecord } from './record/fields.ts';
import { identityOf, identityOfFields, parsePlateOrVin, type VehicleIdentity } from './record/identity.ts';
import { decodeVin, VinReport } from './record/vin.ts';
import { type Lookup, lookUp } from './sources/lookup.ts';
import { deleteCachedAnswers } from './sources/provider.ts';
import {
  createPlatformSource,
  findDescription,
  findOwnDescription,
  latestModelYear,
  type Sources,
  type VehicleDescription,
} from './sources/sources.ts';

const tags = ['registration data'];
const sourcesHeader = {
  'X-Registration-Sources': { type: 'string', description: 'the sources of the record, separated by commas' },
};

/** A plate or VIN in a path. */
const PlateOrVin = Type.Object({
  plate_or_vin: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'a VIN, or a French plate such as AB-123-CD, ab123cd, 1234 AB 75',
    examples: ['AB-123-CD'],
  }),
});

/**
 * Answers with the record and names its sources in the header `x-registration-sources`.
 * @throws Failure UNKNOWN_VEHICLE when no source knows the vehicle
 */
function answerWith(reply: { header(name: string, value: string): unknown }, found: Lookup): RegistrationRecord {
  if (!found.isKnown) {
    const details = found.isIncomplete ? { reason: 'PROVIDER_UNAVAILABLE' } : {};
    throw new Failure('UNKNOWN_VEHICLE', 'no source of registration data knows the vehicle', details);
  }
  reply.header('x-registration-sources', [...new Set(found.sources.values())].join(', '));
  return toRecord(found.fields);
}

/** Looks up a vehicle of the platform: one record, whether the caller named it by id, plate or VIN. */
function lookUpVehicle(sources: Sources, vehicle: VehicleDescription, caller: Caller): Promise<Lookup> {
  return lookUp(
    [...sources.registers, createPlatformSource(vehicle), sources.vin],
    identityOf(vehicle),
    caller.applicationId,
  );
}

/**
 * Looks up a plate or VIN as the caller sees it; without a caller, excludes the vehicles and records of all
 * applications.
 * @throws Failure INVALID_PARAMETER for text that is neither a plate nor a VIN
 */
async function lookUpPlateOrVin(
  db: Database,
  sources: Sources,
  text: string,
  caller?: Caller,
): Promise<{ found: Lookup; identity: VehicleIdentity }> {
  // Before validation: a vehicle of the caller may have a foreign plate.
  const own = caller === undefined ? undefined : await findOwnDescription(db, caller, text);
  if (caller !== undefined && own !== undefined) {
    return { found: await lookUpVehicle(sources, own, caller), identity: identityOf(own) };
  }
  const identity = parsePlateOrVin('plate_or_vin', text);
  return { found: await lookUp([...sources.registers, sources.vin], identity, caller?.applicationId), identity };
}

/** GET /v1/siv/fr/{plate_or_vin} and GET /v1/vehicle/{id}/siv (specification, "Static registration data"). */
export function lookupRoutes(db: Database, sources: Sources): RoutePlugin {
  return (http) => {
    addPlateOrVinRoute(http, db, sources);
    addVehicleRoute(http, db, sources);
  };
}

function addPlateOrVinRoute(http: Http, db: Database, sources: Sources): void {
  http.get(
    '/v1/siv/fr/:plate_or_vin',
    {
      schema: {
        tags,
        summary: 'Look up registration data by plate or VIN',
        params: PlateOrVin,
        answerHeaders: sourcesHeader,
        response: answers(RegistrationRecord, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params: { plate_or_vin: text } }, reply) => {
      return answerWith(reply, (await lookUpPlateOrVin(db, sources, text, caller)).found);
    },
  );
}

function addVehicleRoute(http: Http, db: Database, sources: Sources): void {
  http.get(
    '/v1/vehicle/:id/siv',
    {
      schema: {
        tags,
        summary: 'Look up the registration data of a vehicle',
        params: Type.Object({ id: VehicleId }),
        answerHeaders: sourcesHeader,
        response: answers(RegistrationRecord, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params }, reply) => {
      const vehicle = await findDescription(db, caller, params.id);
      return answerWith(reply, await lookUpVehicle(sources, vehicle, caller));
    },
  );
}

const strings = (description: string) => Type.Record(Type.String(), Type.String(), { description, examples: [{}] });
const Explained = Type.Object(
  {
    known: Type.Boolean(),
    record: RegistrationRecord,
    sources: strings('source of each known field'),
    outcomes: strings('outcome of each source'),
    vin: Type.Union([VinReport, Type.Null()]),
  },
  { title: 'ExplainedRegistration' },
);
const ApplicationQuery = Type.Object({
  appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'application whose view to take' })),
});

/** Operator routes for the records of one vehicle: an explained lookup, removal, and the list of fields. */
export function recordRoutes(db: Database, sources: Sources, now: () => number): RoutePlugin {
  return (http) => {
    addExplainedLookup(http, db, sources, now);
    addRemoval(http, db);
    addFieldList(http);
  };
}

function addExplainedLookup(http: Http, db: Database, sources: Sources, now: () => number): void {
  http.get(
    '/v1/x/admin/registrations/:plate_or_vin',
    {
      schema: {
        summary: 'Look up registration data with the source of each field and the decoded VIN',
        params: PlateOrVin,
        querystring: ApplicationQuery,
        response: answers(Explained, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params, query: { appId }, operator }) => {
      const applicationId = await findScope(db, operator, appId);
      const caller = applicationId === null ? undefined : { applicationId };
      const { found, identity } = await lookUpPlateOrVin(db, sources, params.plate_or_vin, caller);
      const vin = identityOfFields(found.fields).vin ?? identity.vin;
      return {
        known: found.isKnown,
        record: toRecord(found.fields),
        sources: Object.fromEntries(found.sources),
        outcomes: found.outcomes,
        vin: vin === undefined ? null : decodeVin(vin, latestModelYear(now())),
      };
    },
  );
}

function addRemoval(http: Http, db: Database): void {
  http.delete(
    '/v1/x/admin/registrations/:plate_or_vin',
    {
      schema: {
        summary: 'Remove the imported records of a vehicle and the cached answers of the provider',
        params: PlateOrVin,
        querystring: ApplicationQuery,
        response: answers(Type.Object({ removed: Type.Integer() }), 'UNKNOWN_APPLICATION', 'UNKNOWN_VEHICLE'),
      },
    },
    async (request) => {
      const { params, query, operator } = request;
      const identity = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const applicationId = await findScope(db, operator, query.appId);
      // Cached answers belong to no application.
      const cachedAnswers = operator.applicationIds === undefined ? await deleteCachedAnswers(db, identity) : 0;
      const removed = await removeRecords(db, identity, applicationId);
      if (removed + cachedAnswers === 0) throw new Failure('UNKNOWN_VEHICLE');
      // No plate or VIN: the audit is append-only and would keep personal data that was removed on purpose.
      const details = { records: removed, keptAnswers: cachedAnswers };
      await auditChange(db, operatorOrigin(request, applicationId), 'registration.remove', 'registration', details);
      return { removed };
    },
  );
}

function addFieldList(http: Http): void {
  http.get(
    '/v1/x/admin/registration-fields',
    {
      schema: {
        summary: 'List the fields of a record with their types',
        response: answers(Type.Object({ fields: strings('type by path') })),
      },
    },
    async () => ({ fields: Object.fromEntries(fieldPaths.map((path) => [path, fieldType(path) ?? 'string'])) }),
  );
}

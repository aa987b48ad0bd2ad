import { Failure } from '@odograph/contracts/failures';
import { findScope } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, answers, word } from '@odograph/http/schemas';
import Type from 'typebox';
import { removeRecords } from '../imports/queries.ts';
import { PlateOrVin } from '../lookup/routes.ts';
import { lookUp } from '../lookup/rules.ts';
import { deleteCachedAnswers } from '../sources/provider-cache.ts';
import { latestModelYear, type Sources } from '../sources/sources.ts';
import { decodeVin } from '../vin/vin.ts';
import { fieldPaths, fieldType, toRecord } from './fields.ts';
import { RegistrationRecord } from './schemas.ts';
import { identityOfFields, parsePlateOrVin } from './vehicle-identity.ts';

const VinReport = Type.Object(
  {
    vin: Type.String({ examples: ['VF1AG000000000001'] }),
    wmi: Type.String({ examples: ['VF1'] }),
    make: Type.String({ examples: ['Renault'] }),
    checkDigit: word(['valid', 'invalid', 'absent']),
    checkDigitRequired: Type.Boolean(),
    modelYear: Type.Union([Type.Integer(), Type.Null()]),
    modelYearCandidates: Type.Array(Type.Integer()),
  },
  { title: 'VinReport' },
);
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
      const scope = applicationId === null ? {} : { applicationId };
      const identity = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const found = await lookUp([...sources.registers, sources.vin], identity, scope);
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
    async ({ params, query: { appId }, ip, operator }) => {
      const identity = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const applicationId = await findScope(db, operator, appId);
      // Cached answers belong to no application.
      const cachedAnswers = operator.applicationIds === undefined ? await deleteCachedAnswers(db, identity) : 0;
      const removed = await removeRecords(db, identity, applicationId);
      if (removed + cachedAnswers === 0) throw new Failure('UNKNOWN_VEHICLE');
      await appendAudit(db, {
        ...operatorOrigin({ ip, operator }, applicationId),
        action: 'registration.remove',
        // No plate or VIN: the audit is append-only and would keep personal data that was removed on purpose.
        subject: 'registration',
        details: { records: removed, keptAnswers: cachedAnswers },
        outcome: 'done',
      });
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

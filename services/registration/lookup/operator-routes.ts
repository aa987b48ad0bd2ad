import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/applications';
import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { AppId, adminRoute } from '@odograph/http/operator-routes';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { removeRecords } from '../imports/record-queries.ts';
import { fieldPaths, fieldType, toRecord } from '../record/fields.ts';
import { RegistrationRecord } from '../record/schemas.ts';
import { identityOfFields, parsePlateOrVin } from '../record/vehicle-identity.ts';
import { forgetKeptAnswers } from '../sources/provider-cache.ts';
import type { Sources } from '../sources/sources.ts';
import { latestModelYear } from '../sources/vin-source.ts';
import { decodeVin } from '../vin/vin.ts';
import { PlateOrVin } from './routes.ts';
import { lookUp } from './rules.ts';

const VinReport = Type.Object({
  vin: Type.String(),
  wmi: Type.String(),
  make: Type.String(),
  checkDigit: Type.Union([Type.Literal('valid'), Type.Literal('invalid'), Type.Literal('absent')]),
  checkDigitRequired: Type.Boolean(),
  modelYear: Type.Union([Type.Integer(), Type.Null()]),
  modelYearCandidates: Type.Array(Type.Integer()),
});
const strings = (description: string) => Type.Record(Type.String(), Type.String(), { description });
const Explained = Type.Object({
  known: Type.Boolean(),
  record: RegistrationRecord,
  sources: strings('the source of each field that is known'),
  outcomes: strings('what each source said'),
  vin: Type.Union([VinReport, Type.Null()]),
});
const ApplicationQuery = Type.Object({
  appId: Type.Optional(Type.Unsafe<string>({ ...AppId, description: 'as this application sees it' })),
});

/** The operator's routes for single vehicles: why a lookup answers what it answers, and removal. */
export function addAdminRoutes(http: Http, db: Database, sources: Sources, now: () => number): void {
  http.get(
    '/v1/x/admin/registrations/:plate_or_vin',
    {
      schema: {
        ...adminRoute,
        summary: 'Look up registration data with the source of each field and what the VIN says by itself',
        params: PlateOrVin,
        querystring: ApplicationQuery,
        response: answers(Explained, 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ params, query: { appId } }) => {
      const scope = appId === undefined ? {} : { applicationId: await findApplicationId(db, appId) };
      const subject = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const found = await lookUp([...sources.registers, sources.vin], subject, scope);
      const vin = identityOfFields(found.fields).vin ?? subject.vin;
      return {
        known: found.isKnown,
        record: toRecord(found.fields),
        sources: Object.fromEntries(found.sources),
        outcomes: found.outcomes,
        vin: vin === undefined ? null : decodeVin(vin, latestModelYear(now())),
      };
    },
  );

  addRemoval(http, db);
  addFieldList(http);
}

function addRemoval(http: Http, db: Database): void {
  http.delete(
    '/v1/x/admin/registrations/:plate_or_vin',
    {
      schema: {
        ...adminRoute,
        summary: 'Remove the imported records of a vehicle and the kept answers of the provider',
        params: PlateOrVin,
        querystring: ApplicationQuery,
        response: answers(Type.Object({ removed: Type.Integer() }), 'UNKNOWN_APPLICATION', 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ params, query: { appId }, ip }) => {
      const subject = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const applicationId = appId === undefined ? null : await findApplicationId(db, appId);
      const kept = await forgetKeptAnswers(db, subject);
      const removed = await removeRecords(db, subject, applicationId);
      if (removed + kept === 0) throw new Failure('UNKNOWN_VEHICLE');
      await appendAudit(db, {
        ...operatorOrigin({ ip }, applicationId ?? undefined),
        action: 'registration.remove',
        // Not whose data it was: the audit is kept, and what is removed is to be gone.
        subject: 'registration',
        details: { records: removed, keptAnswers: kept },
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
        ...adminRoute,
        summary: 'List the fields that a record can have, with their types',
        response: answers(Type.Object({ fields: strings('type by path') })),
      },
    },
    async () => ({ fields: Object.fromEntries(fieldPaths.map((path) => [path, fieldType(path) ?? 'string'])) }),
  );
}

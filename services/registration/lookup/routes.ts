import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { answers, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { toRecord } from '../record/fields.ts';
import { RegistrationRecord } from '../record/schemas.ts';
import { identityOf, parsePlateOrVin } from '../record/vehicle-identity.ts';
import {
  createPlatformSource,
  findDescription,
  findOwnDescription,
  type Sources,
  type VehicleDescription,
} from '../sources/sources.ts';
import { type Lookup, lookUp } from './rules.ts';

const tags = ['registration data'];
const sourcesHeader = {
  'X-Registration-Sources': { type: 'string', description: 'the sources of the record, separated by commas' },
};

/** A plate or VIN in a path. */
export const PlateOrVin = Type.Object({
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
  return lookUp([...sources.registers, createPlatformSource(vehicle), sources.vin], identityOf(vehicle), caller);
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
    async ({ caller, params }, reply) => {
      const identity = parsePlateOrVin('plate_or_vin', params.plate_or_vin);
      const own = await findOwnDescription(db, caller, identity);
      if (own !== undefined) return answerWith(reply, await lookUpVehicle(sources, own, caller));
      return answerWith(reply, await lookUp([...sources.registers, sources.vin], identity, caller));
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

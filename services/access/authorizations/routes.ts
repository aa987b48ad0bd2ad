import { Failure } from '@odograph/contracts/failures';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { type RequestContext, requestContext } from '@odograph/http/request-context';
import { answers, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Keyless } from '../device-keys/keyless.ts';
import { currentCredentials } from './credentials.ts';
import {
  type AuthorizationRequest,
  auditAuthorization,
  type Issued,
  issueAuthorization,
  replaceAuthorization,
  revokeAuthorization,
} from './issue.ts';
import { findAuthorization, lockAuthorization, type NewAuthorization } from './queries.ts';
import { parseDate, requireLevel, requirePeriod } from './rules.ts';
import { AuthorizationId, credentials, DriverId, dates, described, OfAuthorization, route } from './schemas.ts';

function describe({ vehicleId, driverId, from, until }: Omit<NewAuthorization, 'id' | 'suspendedUntil'>) {
  return { vehicleId: String(vehicleId), userId: driverId, from: from.toISOString(), until: until.toISOString() };
}

function auditDetails({ vehicleId, driverId, level, from, until }: NewAuthorization) {
  return { vehicleId, driver: driverId, level, from: from.toISOString(), until: until.toISOString() };
}

interface RequestBody {
  readonly vehicleId: string;
  readonly userId: string;
  readonly level?: string;
  readonly from?: string;
  readonly until?: string;
}

async function create({ db, sealer }: Keyless, asked: RequestContext, body: RequestBody): Promise<Issued> {
  const vehicle = await findVehicle(db, asked.caller, body.vehicleId);
  const level = requireLevel(body.level);
  const period = { from: parseDate('from', body.from), until: parseDate('until', body.until) };
  requirePeriod(period, asked.now);
  if (vehicle.archived) throw new Failure('VEHICLE_NOT_AVAILABLE', 'the vehicle is archived');
  const request: AuthorizationRequest = { vehicleId: vehicle.id, driverId: body.userId, level, ...period };
  return db.transaction().execute(async (trx) => {
    const issued = await issueAuthorization(trx, sealer, request, asked.now);
    const { authorization } = issued;
    await auditAuthorization(trx, asked, 'create', authorization.id, auditDetails(authorization));
    return issued;
  });
}

async function update(
  { db, sealer }: Keyless,
  asked: RequestContext,
  id: string,
  body: Pick<RequestBody, 'from' | 'until'>,
): Promise<Issued> {
  return db.transaction().execute(async (trx) => {
    const old = await lockAuthorization(trx, asked.caller, id);
    const period = {
      from: body.from === undefined ? old.from : parseDate('from', body.from),
      until: body.until === undefined ? old.until : parseDate('until', body.until),
    };
    requirePeriod(period, asked.now);
    if (old.archived) throw new Failure('VEHICLE_NOT_AVAILABLE', 'the vehicle is archived');
    const issued = await replaceAuthorization(trx, sealer, old, period, asked.now);
    const { authorization } = issued;
    await auditAuthorization(trx, asked, 'update', old.id, {
      ...auditDetails(authorization),
      replacedBy: authorization.id,
    });
    return issued;
  });
}

/** POST and GET /v1/bluetooth-token (interface specification, "Bluetooth authorizations"). */
export function addAuthorizationRoutes(http: Http, keyless: Keyless): void {
  http.post(
    '/v1/bluetooth-token',
    {
      schema: {
        ...route,
        summary: 'Authorize a driver to open a vehicle over Bluetooth',
        body: Type.Object({
          vehicleId: VehicleId,
          userId: DriverId,
          level: Type.Optional(Type.String({ maxLength: 64, description: 'LOCK_UNLOCK or DRIVE' })),
          ...dates,
        }),
        response: answers(
          Type.Object({ authorizationId: Type.String(), ...credentials }),
          ...(['UNKNOWN_VEHICLE', 'INVALID_LEVEL', 'INVALID_INTERVAL', 'INVALID_DATE'] as const),
          ...(['VEHICLE_NOT_AVAILABLE', 'INVALID_DEVICE'] as const),
        ),
      },
    },
    async (request) => {
      const { authorization, token, key } = await create(keyless, requestContext(request, keyless.clock), request.body);
      return { authorizationId: authorization.id, token, key };
    },
  );

  http.get(
    '/v1/bluetooth-token/:authorizationId',
    {
      schema: {
        ...route,
        summary: 'An authorization, with the token for the device that sits in the vehicle now',
        params: OfAuthorization,
        response: answers(Type.Object({ ...described, ...credentials }), 'UNKNOWN_AUTHORIZATION'),
      },
    },
    async ({ caller, params }) => {
      const authorization = await findAuthorization(keyless.db, caller, params.authorizationId);
      const { token, key } = await currentCredentials(keyless.db, keyless.sealer, authorization);
      return { ...describe(authorization), token, key };
    },
  );
}

/** POST /v1/bluetooth-token/{authorizationId} and DELETE /v1/bluetooth-token. */
export function addAuthorizationChanges(http: Http, keyless: Keyless): void {
  http.post(
    '/v1/bluetooth-token/:authorizationId',
    {
      schema: {
        ...route,
        summary: 'Change when an authorization is; it gets a new identifier, token and key, and the old ones end',
        params: OfAuthorization,
        body: Type.Object({ authorizationId: AuthorizationId, ...dates }),
        response: answers(
          Type.Object({ authorizationId: Type.String(), ...described, ...credentials }),
          ...(['UNKNOWN_AUTHORIZATION', 'INVALID_INTERVAL', 'INVALID_DATE'] as const),
          ...(['VEHICLE_NOT_AVAILABLE', 'INVALID_DEVICE'] as const),
        ),
      },
    },
    async (request) => {
      const { authorizationId } = request.params;
      const issued = await update(keyless, requestContext(request, keyless.clock), authorizationId, request.body);
      keyless.announce();
      const { authorization, token, key } = issued;
      return { authorizationId: authorization.id, ...describe(authorization), token, key };
    },
  );

  http.delete(
    '/v1/bluetooth-token',
    {
      schema: {
        ...route,
        summary: 'Revoke an authorization; its box hears of it as soon as it can be reached',
        body: OfAuthorization,
        response: answers(EmptyAnswer, 'UNKNOWN_AUTHORIZATION'),
      },
    },
    async (request) => {
      const asked = requestContext(request, keyless.clock);
      await keyless.db.transaction().execute(async (trx) => {
        const authorization = await lockAuthorization(trx, asked.caller, request.body.authorizationId);
        await revokeAuthorization(trx, authorization, asked.now);
        await auditAuthorization(trx, asked, 'delete', authorization.id, { vehicleId: authorization.vehicleId });
      });
      keyless.announce();
      return {};
    },
  );
}

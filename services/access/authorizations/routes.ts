import { Failure } from '@odograph/contracts/failures';
import type { Timestamp } from '@odograph/contracts/timestamps';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, type RequestContext, requestContext } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, checkedObject, checkedWord, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { type AccessOptions, changeAccess } from '../shared/access-options.ts';
import { resolveDriverId } from '../shared/resolve-driver.ts';
import * as issue from './issue.ts';
import {
  type Authorization,
  findAuthorization,
  lockAuthorization,
  lockVehicle,
  type NewAuthorization,
} from './queries.ts';
import {
  AuthorizationId,
  AuthorizationPath,
  credentials,
  DriverId,
  dates,
  fields,
  opensVehicles,
  parseDate,
  requireInterval,
  requireLevel,
  requireSuspended,
  requireSuspension,
  route,
} from './rules.ts';

function describe({ vehicleId, driverId, from, until }: NewAuthorization) {
  return { vehicleId: String(vehicleId), userId: driverId, from: from.toISOString(), until: until.toISOString() };
}

function auditDetails({ vehicleId, driverId, level, from, until }: NewAuthorization) {
  return { vehicleId, driver: driverId, level, from: from.toISOString(), until: until.toISOString() };
}

/** @throws Failure VEHICLE_ARCHIVED */
function refuseArchived({ archived }: { archived: boolean }): void {
  if (archived) throw new Failure('VEHICLE_ARCHIVED');
}

interface RequestBody {
  readonly vehicleId: string;
  readonly userId: string;
  readonly level?: string;
  readonly from?: Timestamp;
  readonly until?: Timestamp;
}

async function create(options: AccessOptions, context: RequestContext, body: RequestBody): Promise<issue.Issued> {
  const { db, sealer, maxAuthorizationMs } = options;
  const { caller, now } = context;
  return db.transaction().execute(async (trx) => {
    const vehicle = await lockVehicle(trx, caller, body.vehicleId);
    const driverId = await resolveDriverId(trx, caller, body.userId, vehicle.isManaged);
    const level = requireLevel(body.level);
    const interval = { from: parseDate('from', body.from), until: parseDate('until', body.until) };
    requireInterval(interval, now, maxAuthorizationMs);
    refuseArchived(vehicle);
    const request = { vehicleId: vehicle.id, driverId, level, ...interval };
    const issued = await issue.issueAuthorization(trx, sealer, request, context);
    const { authorization } = issued;
    await issue.auditAuthorization(trx, context, 'create', authorization.id, auditDetails(authorization));
    return issued;
  });
}

async function update(
  options: AccessOptions,
  context: RequestContext,
  id: string,
  body: Pick<RequestBody, 'from' | 'until'>,
): Promise<issue.Issued> {
  return changeAccess(options, async (trx) => {
    const old = await lockAuthorization(trx, context.caller, id);
    const interval = {
      from: body.from === undefined ? old.from : parseDate('from', body.from),
      until: body.until === undefined ? old.until : parseDate('until', body.until),
    };
    requireInterval(interval, context.now, options.maxAuthorizationMs);
    refuseArchived(old);
    const issued = await issue.replaceAuthorization(trx, options.sealer, old, interval, context);
    const { authorization } = issued;
    const details = { ...auditDetails(authorization), replacedBy: authorization.id };
    await issue.auditAuthorization(trx, context, 'update', old.id, details);
    return issued;
  });
}

async function revoke(options: AccessOptions, context: RequestContext, id: string): Promise<void> {
  await changeAccess(options, async (trx) => {
    const authorization = await lockAuthorization(trx, context.caller, id);
    await issue.revokeAuthorization(trx, authorization, context.now);
    const { vehicleId } = authorization;
    await issue.auditAuthorization(trx, context, 'delete', authorization.id, { vehicleId });
  });
}

async function suspend(options: AccessOptions, context: RequestContext, id: string, until: Timestamp | undefined) {
  await changeAccess(options, async (trx) => {
    const authorization = await lockAuthorization(trx, context.caller, id);
    const end = requireSuspension(authorization, until, context.now);
    await issue.suspendAuthorization(trx, authorization, end);
    const details = { vehicleId: authorization.vehicleId, until: end.toISOString() };
    await issue.auditAuthorization(trx, context, 'suspend', authorization.id, details);
  });
}

async function resume(options: AccessOptions, context: RequestContext, id: string): Promise<void> {
  await changeAccess(options, async (trx) => {
    const authorization: Authorization = await lockAuthorization(trx, context.caller, id);
    requireSuspended(authorization, context.now);
    refuseArchived(authorization);
    await issue.suspendAuthorization(trx, authorization, null);
    const { vehicleId } = authorization;
    await issue.auditAuthorization(trx, context, 'resume', authorization.id, { vehicleId });
  });
}

function addCreation(http: Http, options: AccessOptions): void {
  http.post(
    '/v1/bluetooth-token',
    {
      config: opensVehicles,
      schema: {
        ...route,
        summary: 'Authorize a driver to use a vehicle over Bluetooth',
        body: checkedObject(
          {
            vehicleId: VehicleId,
            userId: DriverId,
            level: Type.Optional(checkedWord(['LOCK_UNLOCK', 'DRIVE'])),
            ...dates,
          },
          ['vehicleId', 'userId', 'level', 'from', 'until'],
        ),
        response: answers(
          Type.Object({ authorizationId: AuthorizationId, ...credentials }, { title: 'IssuedAuthorization' }),
          ...(['UNKNOWN_VEHICLE', 'INVALID_LEVEL', 'INVALID_INTERVAL', 'INVALID_DATE'] as const),
          ...(['VEHICLE_ARCHIVED', 'INVALID_DEVICE', 'UNAUTHORIZED'] as const),
        ),
      },
    },
    async (request) => {
      const context = requestContext(request, options.clock);
      const { authorization, token, key } = await create(options, context, request.body);
      return { authorizationId: authorization.id, token, key };
    },
  );
}

function addReading(http: Http, { db, sealer }: AccessOptions): void {
  http.get(
    '/v1/bluetooth-token/:authorizationId',
    {
      config: opensVehicles,
      schema: {
        ...route,
        summary: 'An authorization, with the token for the device that is linked to the vehicle now',
        params: AuthorizationPath,
        response: answers(
          Type.Object({ ...fields, ...credentials }, { title: 'Authorization' }),
          'UNKNOWN_AUTHORIZATION',
          'UNAUTHORIZED',
        ),
      },
    },
    async ({ caller, params }) =>
      db.transaction().execute(async (trx) => {
        const authorization = await findAuthorization(trx, caller, params.authorizationId);
        const { token, key } = await issue.findCredentials(trx, sealer, authorization);
        return { ...describe(authorization), token, key };
      }),
  );
}

function addUpdate(http: Http, options: AccessOptions): void {
  http.post(
    '/v1/bluetooth-token/:authorizationId',
    {
      config: opensVehicles,
      schema: {
        ...route,
        summary: 'Replace an authorization by one with another interval, identifier, token and key',
        params: AuthorizationPath,
        body: Type.Object({ authorizationId: AuthorizationId, ...dates }),
        response: answers(
          Type.Object(
            { authorizationId: AuthorizationId, ...fields, ...credentials },
            { title: 'ReplacedAuthorization' },
          ),
          ...(['UNKNOWN_AUTHORIZATION', 'INVALID_INTERVAL', 'INVALID_DATE'] as const),
          ...(['VEHICLE_ARCHIVED', 'INVALID_DEVICE', 'UNAUTHORIZED'] as const),
        ),
      },
    },
    async (request) => {
      const context = requestContext(request, options.clock);
      const { authorization, token, key } = await update(
        options,
        context,
        request.params.authorizationId,
        request.body,
      );
      return { authorizationId: authorization.id, ...describe(authorization), token, key };
    },
  );
}

function addRevocation(http: Http, options: AccessOptions): void {
  http.delete(
    '/v1/bluetooth-token',
    {
      schema: {
        ...route,
        summary: 'Revoke an authorization; the device learns of it as soon as it is connected',
        body: AuthorizationPath,
        response: answers(EmptyAnswer, 'UNKNOWN_AUTHORIZATION', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      await revoke(options, requestContext(request, options.clock), request.body.authorizationId);
      return {};
    },
  );
}

function addSuspension(http: Http, options: AccessOptions): void {
  http.post(
    '/v1/bluetooth-token/invalidate',
    {
      schema: {
        ...route,
        summary: 'Suspend an authorization until a time, at which it resumes',
        body: checkedObject({ authorizationId: AuthorizationId, until: dates.until }, ['authorizationId', 'until']),
        response: answers(
          EmptyAnswer,
          ...(['UNKNOWN_AUTHORIZATION', 'INVALID_DATE', 'AUTHORIZATION_NOT_ACTIVE', 'AUTHORIZATION_EXPIRED'] as const),
          'UNAUTHORIZED',
        ),
      },
    },
    async (request) => {
      const { authorizationId, until } = request.body;
      await suspend(options, requestContext(request, options.clock), authorizationId, until);
      return {};
    },
  );

  http.post(
    '/v1/bluetooth-token/validate',
    {
      schema: {
        ...route,
        summary: 'End the suspension of an authorization now',
        body: AuthorizationPath,
        response: answers(
          EmptyAnswer,
          ...(['UNKNOWN_AUTHORIZATION', 'NOT_SUSPENDED', 'AUTHORIZATION_NOT_ACTIVE', 'AUTHORIZATION_EXPIRED'] as const),
          ...(['VEHICLE_ARCHIVED', 'UNAUTHORIZED'] as const),
        ),
      },
    },
    async (request) => {
      await resume(options, requestContext(request, options.clock), request.body.authorizationId);
      return {};
    },
  );
}

/** The routes of the interface specification, "Bluetooth authorizations", but those of device-commands.ts. */
export function authorizationRoutes(options: AccessOptions): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', leaveOutEmpty());
    addCreation(http, options);
    addReading(http, options);
    addUpdate(http, options);
    addRevocation(http, options);
    addSuspension(http, options);
  };
}

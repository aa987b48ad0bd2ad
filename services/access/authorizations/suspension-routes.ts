import { Failure } from '@odograph/contracts/failures';
import type { Http } from '@odograph/http/http';
import { type RequestContext, requestContext } from '@odograph/http/request-context';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Keyless } from '../device-keys/keyless.ts';
import { auditAuthorization, suspendAuthorization } from './issue.ts';
import { lockAuthorization } from './queries.ts';
import { requireSuspended, requireSuspension } from './rules.ts';
import { AuthorizationId, dates, OfAuthorization, route } from './schemas.ts';

async function suspend(keyless: Keyless, asked: RequestContext, id: string, until: string | undefined): Promise<void> {
  await keyless.db.transaction().execute(async (trx) => {
    const authorization = await lockAuthorization(trx, asked.caller, id);
    const end = requireSuspension(authorization, until, asked.now);
    await suspendAuthorization(trx, authorization, end);
    const details = { vehicleId: authorization.vehicleId, until: end.toISOString() };
    await auditAuthorization(trx, asked, 'suspend', authorization.id, details);
  });
  keyless.announce();
}

async function resume(keyless: Keyless, asked: RequestContext, id: string): Promise<void> {
  await keyless.db.transaction().execute(async (trx) => {
    const authorization = await lockAuthorization(trx, asked.caller, id);
    requireSuspended(authorization, asked.now);
    if (authorization.archived) throw new Failure('VEHICLE_NOT_AVAILABLE', 'the vehicle is archived');
    await suspendAuthorization(trx, authorization, null);
    await auditAuthorization(trx, asked, 'resume', authorization.id, { vehicleId: authorization.vehicleId });
  });
  keyless.announce();
}

/** POST /v1/bluetooth-token/invalidate and validate (interface specification, "Bluetooth authorizations"). */
export function addSuspensionRoutes(http: Http, keyless: Keyless): void {
  http.post(
    '/v1/bluetooth-token/invalidate',
    {
      schema: {
        ...route,
        summary: 'Suspend an authorization until a moment, at which it resumes by itself',
        body: Type.Object({ authorizationId: AuthorizationId, until: dates.until }),
        response: answers(
          EmptyAnswer,
          ...(['UNKNOWN_AUTHORIZATION', 'INVALID_DATE', 'AUTHORIZATION_NOT_ACTIVE', 'AUTHORIZATION_EXPIRED'] as const),
        ),
      },
    },
    async (request) => {
      const { authorizationId, until } = request.body;
      await suspend(keyless, requestContext(request, keyless.clock), authorizationId, until);
      return {};
    },
  );

  http.post(
    '/v1/bluetooth-token/validate',
    {
      schema: {
        ...route,
        summary: 'End the suspension of an authorization now',
        body: OfAuthorization,
        response: answers(
          EmptyAnswer,
          ...(['UNKNOWN_AUTHORIZATION', 'NOT_SUSPENDED', 'AUTHORIZATION_NOT_ACTIVE', 'AUTHORIZATION_EXPIRED'] as const),
          'VEHICLE_NOT_AVAILABLE',
        ),
      },
    },
    async (request) => {
      await resume(keyless, requestContext(request, keyless.clock), request.body.authorizationId);
      return {};
    },
  );
}

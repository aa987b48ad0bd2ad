import { appendAudit } from '@odograph/database/audit';
import { originOf } from '@odograph/database/audit-origin';
import type { Http } from '@odograph/http/http';
import { type RequestContext, requestContext } from '@odograph/http/request-context';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import Type from 'typebox';
import { DriverId } from '../authorizations/schemas.ts';
import type { Keyless } from '../device-keys/keyless.ts';
import { findUnconfirmed, listDriverVehicles, revokeDriver } from './queries.ts';
import { awaitBoxes, type BoxWaiting } from './revoke-driver.ts';

const route = { tags: ['drivers'], security: [{ serviceToken: [] }] };
const DriverPath = Type.Object({ userid: DriverId });
const Authorization = Type.Object({ authorizationId: Type.String(), from: Type.String(), until: Type.String() });
/** Interface specification, "Driver vehicle record". */
const DriverVehicle = Type.Object({
  Id: Type.String(),
  Builder: Type.String(),
  Model: Type.String(),
  Plate: Type.String(),
  deviceId: Type.String(),
  deviceModel: Type.String(),
  Archived: Type.Boolean(),
  authorizations: Type.Array(Authorization, { description: 'those that are not over' }),
});

async function deleteDriver(
  { db }: Keyless,
  { caller, address: ip, now }: RequestContext,
  driverId: string,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const revoked = await revokeDriver(trx, caller, driverId, now);
    await appendAudit(trx, {
      ...originOf({ caller, ip }),
      action: 'driver.delete',
      subject: `driver:${driverId}`,
      details: { authorizations: revoked },
      outcome: 'done',
    });
  });
}

/** GET /v1/user/{userid}/vehicles and DELETE /v1/user/{userid} ("Driver data and authorization lists"). */
export function addDriverRoutes(http: Http, keyless: Keyless, boxes: Omit<BoxWaiting, 'db'>): void {
  http.get(
    '/v1/user/:userid/vehicles',
    {
      schema: {
        ...route,
        summary: 'The vehicles that a driver is or will be authorized for',
        params: DriverPath,
        response: answers(Type.Array(DriverVehicle)),
      },
    },
    async ({ caller, params }) => listDriverVehicles(keyless.db, caller, params.userid, keyless.clock()),
  );

  http.delete(
    '/v1/user/:userid',
    {
      schema: {
        ...route,
        summary: 'Revoke all authorizations of a driver, and wait for the boxes to confirm',
        params: DriverPath,
        response: answers(EmptyAnswer, 'NOT_ALL_AUTHORIZATIONS_REVOKED'),
      },
    },
    async (request) => {
      const asked = requestContext(request, keyless.clock);
      const { userid } = request.params;
      await deleteDriver(keyless, asked, userid);
      keyless.announce();
      await awaitBoxes(
        { ...boxes, db: keyless.db },
        await findUnconfirmed(keyless.db, asked.caller, userid, asked.now),
      );
      return {};
    },
  );
}

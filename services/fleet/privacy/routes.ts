import type { Caller } from '@odograph/contracts/caller';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, VehicleId } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changePrivacy, closeInterval, openInterval, removePositions } from './queries.ts';

const schema = {
  tags: ['privacy'],
  body: Type.Object({ vehicleId: VehicleId }),
  response: answers(
    Type.Object({ Privacy: Type.Boolean() }),
    ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
  ),
};

async function record(
  db: Database,
  request: { caller: Caller; ip: string; body: { vehicleId: string } },
  action: 'privacy.on' | 'privacy.off',
  changed: boolean,
): Promise<void> {
  const subject = `vehicle:${request.body.vehicleId}`;
  await appendAudit(db, { ...originOf(request), action, subject, outcome: changed ? 'done' : 'unchanged' });
}

/** POST /v1/vehicle/privacy/on and /off (interface specification, "Vehicle data (fleet flavor)"). */
export function privacyRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/vehicle/privacy/on',
      { schema: { ...schema, summary: 'Start a privacy interval: positions of the vehicle are not stored' } },
      async (request) => {
        await changePrivacy(db, request.caller, request.body.vehicleId, async (trx, vehicleId) => {
          const from = await openInterval(trx, vehicleId);
          if (from !== undefined) await removePositions(trx, vehicleId, from);
          await record(trx, request, 'privacy.on', from !== undefined);
        });
        await changes.announce({ vehicleIds: [Number(request.body.vehicleId)] });
        return { Privacy: true };
      },
    );

    http.post(
      '/v1/vehicle/privacy/off',
      { schema: { ...schema, summary: 'End the privacy interval of a vehicle' } },
      async (request) => {
        await changePrivacy(db, request.caller, request.body.vehicleId, async (trx, vehicleId) => {
          await record(trx, request, 'privacy.off', await closeInterval(trx, vehicleId));
        });
        await changes.announce({ vehicleIds: [Number(request.body.vehicleId)] });
        return { Privacy: false };
      },
    );
  };
}

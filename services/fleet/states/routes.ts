import { appendAudit, originOf } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { answers, Flag, isTrue, VehicleId } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { type StateFlag, setState, stateFlags } from './queries.ts';

function addStateRoute(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer, flag: StateFlag): void {
  http.post(
    `/v1/vehicle/:id/${flag}`,
    {
      schema: {
        tags: ['states'],
        summary: `Set or clear the state ${flag} of a vehicle`,
        params: Type.Object({ id: VehicleId }),
        body: Type.Object({ state: Flag }),
        response: answers(
          Type.Object({ [flag]: Type.Boolean() }),
          ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
        ),
      },
    },
    async (request) => {
      const { caller, params } = request;
      const state = isTrue(request.body.state);
      await db.transaction().execute(async (trx) => {
        const changed = await setState(trx, caller, params.id, { flag, state });
        await appendAudit(trx, {
          ...originOf(request),
          action: `state.${flag}`,
          subject: `vehicle:${params.id}`,
          details: { state },
          outcome: changed ? 'done' : 'unchanged',
        });
      });
      await changes.announce({ vehicleIds: [Number(params.id)] });
      return { [flag]: state };
    },
  );
}

/** POST /v1/vehicle/{id}/towing and the other five states (interface specification, "Vehicle data (fleet flavor)"). */
export function stateRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    for (const flag of stateFlags) addStateRoute(http, db, changes, flag);
  };
}

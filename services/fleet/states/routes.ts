import { appendAudit } from '@odograph/database/audit';
import { originOf } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { answers, Flag, isTrue, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { type StateFlag, setState, stateFlags } from './queries.ts';

function addStateRoute(http: Http, db: Kysely<Tables>, flag: StateFlag): void {
  http.post(
    `/v1/vehicle/:id/${flag}`,
    {
      schema: {
        tags: ['states'],
        summary: `Say whether ${flag} holds for a vehicle`,
        security: [{ serviceToken: [] }],
        params: Type.Object({ id: VehicleId }),
        body: Type.Object({ state: Flag }),
        response: answers(Type.Object({ [flag]: Type.Boolean() }), 'UNKNOWN_VEHICLE'),
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
      return { [flag]: state };
    },
  );
}

/** POST /v1/vehicle/{id}/towing and its five likes (interface specification, "Vehicle data (fleet flavor)"). */
export function addStateRoutes(http: Http, db: Kysely<Tables>): void {
  for (const flag of stateFlags) addStateRoute(http, db, flag);
}

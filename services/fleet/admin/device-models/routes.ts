import { Failure } from '@odograph/contracts/failures';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { findModel, listModels, storeModel } from './queries.ts';
import { DeviceModel, ModelName, modelProperties } from './schemas.ts';

const NamePath = Type.Object({ name: ModelName });

/** Operator routes that list, show, create and change device models. */
export function operatorDeviceModelRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/device-models',
      {
        schema: { summary: 'List device models', response: answers(Type.Object({ models: Type.Array(DeviceModel) })) },
      },
      async () => ({ models: await listModels(db) }),
    );

    http.get(
      '/v1/x/admin/device-models/:name',
      { schema: { summary: 'Show a device model', params: NamePath, response: answers(DeviceModel, 'NOT_FOUND') } },
      async ({ params }) => {
        const model = await findModel(db, params.name);
        if (!model) throw new Failure('NOT_FOUND', 'no device model has this name');
        return model;
      },
    );

    http.put(
      '/v1/x/admin/device-models/:name',
      {
        schema: {
          summary: 'Create or replace a device model; it applies to all devices of the model at once',
          params: NamePath,
          body: Type.Object(modelProperties),
          response: answers(DeviceModel),
        },
      },
      async ({ params, body, ip, operator }) => {
        const { actions, proprietaryCan, bluetooth, digitalOutputs, scenarii } = body;
        const model = { ...params, actions, proprietaryCan, bluetooth, digitalOutputs, scenarii };
        const stored = { ...model, encryptedCommands: body.encryptedCommands };
        await db.transaction().execute(async (trx) => {
          await storeModel(trx, stored);
          await appendAudit(trx, {
            ...operatorOrigin({ ip, operator }),
            action: 'device-model.set',
            subject: `device-model:${params.name}`,
            outcome: 'done',
          });
        });
        return stored;
      },
    );
  };
}

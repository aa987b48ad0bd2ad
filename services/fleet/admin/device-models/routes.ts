import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { findModel, listModels, storeModel } from './queries.ts';
import { completeModel, findModelFaults } from './rules.ts';
import { DeviceModel, ModelName, NewDeviceModel } from './schemas.ts';

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
        // Every fault of a file is named at once.
        attachValidation: true,
        schema: {
          summary: 'Create or replace a device model; it applies to all devices of the model at once',
          params: NamePath,
          body: NewDeviceModel,
          response: answers(DeviceModel),
        },
      },
      async ({ params, body, ip, operator, validationError }) => {
        if (validationError && validationError.validationContext !== 'body') throw validationError;
        requireSound(body);
        const model = completeModel(params.name, body);
        await db.transaction().execute(async (trx) => {
          await storeModel(trx, model);
          await appendAudit(trx, {
            ...operatorOrigin({ ip, operator }),
            action: 'device-model.set',
            subject: `device-model:${params.name}`,
            outcome: 'done',
          });
        });
        return model;
      },
    );
  };
}

/** @throws Failure INVALID_PARAMETER that names every fault */
function requireSound(body: unknown): void {
  const [first, ...others] = findModelFaults(body);
  if (!first) return;
  const failure = invalidParameter(first.field || 'body', first.rule);
  if (others.length === 0) throw failure;
  const rest = others.map(({ field, rule }) => `${field} ${rule}`).join('; ');
  throw new Failure('INVALID_PARAMETER', `${failure.message}; ${rest}`, failure.details);
}

import { invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { DeviceModel } from './schemas.ts';

function selectModels(db: Database) {
  return db
    .selectFrom('device_model')
    .select(['id as name', 'protocol', 'actions', 'commands', 'proprietary_can as proprietaryCan', 'bluetooth'])
    .select(['encrypted_commands as encryptedCommands', 'digital_outputs as digitalOutputs', 'scenarii', 'family'])
    .orderBy('id');
}

/** Lists the device models by name. */
export async function listModels(db: Database): Promise<DeviceModel[]> {
  return (await selectModels(db).execute()).map(toModel);
}

/** Finds a device model; returns undefined when there is none of this name. */
export async function findModel(db: Database, name: string): Promise<DeviceModel | undefined> {
  const row = await selectModels(db).where('id', '=', name).executeTakeFirst();
  return row && toModel(row);
}

function toModel({ family, ...row }: Awaited<ReturnType<ReturnType<typeof selectModels>['execute']>>[number]) {
  return { ...row, ...(family && { family }) } as DeviceModel;
}

/**
 * Creates a device model or replaces the one of this name.
 * @throws Failure INVALID_PARAMETER for another protocol while the model has devices: their sessions are of the former one
 */
export async function storeModel(db: Database, { name, ...model }: DeviceModel): Promise<void> {
  const inUse = await db
    .selectFrom('device_model')
    .select('protocol')
    .where('id', '=', name)
    .where('protocol', '<>', model.protocol)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('device').whereRef('device.model_id', '=', 'device_model.id').where('deleted_at', 'is', null)),
    )
    .executeTakeFirst();
  if (inUse) throw invalidParameter('protocol', `must stay ${inUse.protocol}, because devices of the model exist`);
  const properties = {
    protocol: model.protocol,
    actions: model.actions,
    commands: model.commands,
    proprietary_can: model.proprietaryCan,
    bluetooth: model.bluetooth,
    encrypted_commands: model.encryptedCommands,
    digital_outputs: model.digitalOutputs,
    scenarii: model.scenarii,
    family: model.family ?? null,
    shipped: false,
  };
  await db
    .insertInto('device_model')
    .values({ id: name, ...properties })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(properties))
    .execute();
}

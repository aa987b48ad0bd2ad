import type { DeviceCommands } from '@odograph/contracts/device-models';
import type { Database } from '@odograph/database/database';

/** Finds what a device is told for each action, by its model; nothing for a device that was deleted. */
export async function findDeviceCommands(db: Database, deviceId: string): Promise<DeviceCommands> {
  const row = await db
    .selectFrom('device')
    .innerJoin('device_model', 'device_model.id', 'device.model_id')
    .select('commands')
    .where('device.id', '=', deviceId)
    .where('device.deleted_at', 'is', null)
    .executeTakeFirst();
  return row?.commands ?? {};
}

import type { DeviceCommands, FlespiCommand, TextCommand } from '@odograph/contracts/device-models';
import { nameBehindSource } from '@odograph/contracts/sources';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

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

/** A device behind a source, and how it is sent commands. */
export interface DeviceBehindSource {
  /** Its name in the other system. */
  readonly ident: string;
  readonly commands: DeviceCommands;
  /** The source whose token is used; undefined without one. */
  readonly source: { readonly id: string; readonly sealedToken: Buffer } | undefined;
}

interface DeviceBehindSourceRow {
  commands: DeviceCommands;
  app_id: string | null;
  id: string | null;
  sealed: Buffer | null;
}

/**
 * Finds a device behind a source. Of several sources of its application that take commands, the one that has sent messages of the
 * device is used, else the newest.
 * @returns undefined for a device that reports in another way, or that does not exist
 */
export async function findDeviceBehindSource(db: Database, deviceId: string): Promise<DeviceBehindSource | undefined> {
  const { rows } = await sql<DeviceBehindSourceRow>`
    select model.commands, app_id, chosen.id, chosen.sealed_command_token as sealed
    from device join device_model model on model.id = device.model_id
    left join application on application.id = device.application_id
    left join lateral (
      select source.id, sealed_command_token from source
      where source.application_id = device.application_id and format = 'flespi' and takes_commands and deleted_at is null
      order by exists (select from source_device where source_id = source.id and device_id = device.id) desc,
        created_at desc
      limit 1) as chosen on true
    where device.id = ${deviceId} and device.deleted_at is null and model.protocol = 'source'`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { commands, app_id: appId, id, sealed } = row;
  const ident = appId === null ? deviceId : nameBehindSource(appId, deviceId);
  return { ident, commands, source: id === null || sealed === null ? undefined : { id, sealedToken: sealed } };
}

/** Characters of a reason that the command service takes. */
const maxReason = 256;

/** Converts text from a device to a reason: one printable line of limited length. */
export function reasonOf(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, maxReason);
}

/** Interprets an answer; undefined when the model does not define it. */
export function judgeAnswer(
  { success, refusal }: Pick<TextCommand | FlespiCommand, 'success' | 'refusal'>,
  text: string,
  isRefused: boolean,
): 'success' | 'refusal' | undefined {
  const answer = text.toLowerCase();
  const contains = (part: string): boolean => answer.includes(part.toLowerCase());
  if (isRefused || refusal.some(contains)) return 'refusal';
  return success === undefined || success.some(contains) ? 'success' : undefined;
}

import type { AcknowledgementMessage } from '@odograph/contracts/commands';
import { parseKeyListAcknowledgementId } from '@odograph/contracts/key-lists';
import { appendAudit, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { type Kysely, sql } from 'kysely';

const reasonForm = /^[A-Z_]{1,64}$/;
/** A box that got an older list than it was just sent has not seen the newer one yet. */
const onTheWaySeconds = 2;

interface Held {
  applicationId: number | null;
  listVersion: number;
  confirmedVersion: number;
}

async function lockHeld(db: Database, deviceId: string): Promise<Held | undefined> {
  const { rows } = await sql<Held>`select device.application_id as "applicationId", held.list_version as "listVersion",
      held.confirmed_version as "confirmedVersion"
    from device_key held join device on device.id = held.device_id
    where held.device_id = ${deviceId} for no key update of held`.execute(db);
  return rows[0];
}

/** The box has this list and no newer one. */
async function confirm(db: Database, deviceId: string, held: Held, version: number): Promise<void> {
  await sql`update device_key set refused_reason = null,
      confirmed_version = greatest(confirmed_version, ${version}), confirmed_at = clock_timestamp(),
      published_version = case when ${version} < list_version and published_version = list_version
        and published_at < clock_timestamp() - ${onTheWaySeconds} * interval '1 second' then 0 else published_version end
    where device_id = ${deviceId}`.execute(db);
  if (version <= held.confirmedVersion) return;
  await appendAudit(db, {
    chain: held.applicationId ?? operatorChain,
    actor: `device:${deviceId}`,
    address: '',
    action: 'key-list.confirm',
    subject: `device:${deviceId}`,
    details: { version },
    outcome: 'done',
  });
}

/**
 * Records what a box said of a list of keys.
 * @returns whether the acknowledgement was one of a list
 */
export async function confirmKeyList(
  { db, logger }: { db: Kysely<Tables>; logger: Logger },
  deviceId: string,
  { id, ok, reason }: AcknowledgementMessage,
): Promise<boolean> {
  const version = parseKeyListAcknowledgementId(id);
  if (version === undefined) return false;
  await db.transaction().execute(async (trx) => {
    const held = await lockHeld(trx, deviceId);
    if (!held) return;
    if (!ok) {
      const refused = reason !== undefined && reasonForm.test(reason) ? reason : 'REFUSED';
      await trx.updateTable('device_key').set({ refused_reason: refused }).where('device_id', '=', deviceId).execute();
      logger.warn({ deviceId, version, reason: refused }, 'a box refused its list of keys');
    } else if (version > held.listVersion) {
      // The database is older than the box, after a backup was restored: the box takes nothing below its own version.
      await sql`update device_key set list_version = ${version} + 1 where device_id = ${deviceId}`.execute(trx);
      logger.warn({ deviceId, version }, 'a box has a newer list of keys than the platform');
    } else await confirm(trx, deviceId, held, version);
  });
  return true;
}

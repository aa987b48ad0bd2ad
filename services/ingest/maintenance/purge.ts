import { appendAudit } from '@odograph/database/audit';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { type Kysely, sql } from 'kysely';
import { findRemains, purgeSteps } from './purge-steps.ts';

interface OpenPurge {
  vehicleId: number;
  applicationId: number;
}

async function findOpenPurges(db: Kysely<Tables>): Promise<OpenPurge[]> {
  return db
    .selectFrom('vehicle_purge')
    .select(['vehicle_id as vehicleId', 'application_id as applicationId'])
    .where('verified_at', 'is', null)
    .orderBy('requested_at')
    .execute();
}

async function markVerified(db: Kysely<Tables>, { vehicleId, applicationId }: OpenPurge): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('vehicle_purge')
      .set({ verified_at: sql<Date>`now()` })
      .where('vehicle_id', '=', vehicleId)
      .where('verified_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await appendAudit(transaction, {
      chain: applicationId,
      actor: 'platform',
      address: '',
      action: 'vehicle.purge',
      subject: `vehicle:${vehicleId}`,
      outcome: 'verified',
    });
  });
}

async function purge(db: Kysely<Tables>, open: OpenPurge, logger: Logger): Promise<boolean> {
  const { vehicleId } = open;
  try {
    for await (const step of purgeSteps(db, vehicleId)) logger.debug({ vehicleId, step }, 'purge');
    const remains = await findRemains(db, vehicleId);
    if (Object.keys(remains).length > 0) {
      logger.warn({ vehicleId, remains }, 'something is left of a deleted vehicle; it is purged again');
      return false;
    }
    await markVerified(db, open);
    return true;
  } catch (error) {
    logger.error({ vehicleId, ...describeDatabaseError(error) }, 'a deleted vehicle could not be purged yet');
    return false;
  }
}

/**
 * Removes everything of the vehicles that were deleted, looks whether anything is left anywhere, and notes when nothing is.
 * What could not be done is done the next time.
 * @returns how many are verified now
 */
export async function purgeDeletedVehicles(db: Kysely<Tables>, logger: Logger): Promise<number> {
  let verified = 0;
  for (const open of await findOpenPurges(db)) if (await purge(db, open, logger)) verified += 1;
  return verified;
}

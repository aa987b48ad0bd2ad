import { Failure } from '@odograph/contracts/failures';
import type { Database } from './database.ts';

/** @throws Failure UNKNOWN_APPLICATION */
export async function findApplicationId(db: Database, appId: string): Promise<number> {
  const row = await db.selectFrom('application').select('id').where('app_id', '=', appId).executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_APPLICATION');
  return row.id;
}

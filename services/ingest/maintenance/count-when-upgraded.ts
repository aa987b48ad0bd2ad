import { countReadings } from '@odograph/database/reading-counts';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, sql } from 'kysely';

/**
 * Settles and counts readings, but not on the first day of the table of counts: processes of the version before may still
 * store readings then, and mark nothing.
 * @returns how many steps there were
 */
export async function countWhenUpgraded(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql`select from migration where name = '0014_reading_counts.sql'
    and applied_at < now() - interval '1 day'`.execute(db);
  return rows.length === 0 ? 0 : countReadings(db);
}

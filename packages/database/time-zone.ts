import { invalidParameter } from '@odograph/contracts/failures';
import { isTimeZone, timeZoneRule } from '@odograph/contracts/time-zone';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { sqlState } from './postgres-failure.ts';

/** invalid_parameter_value (PostgreSQL, Appendix A). */
const unknownZone = '22023';

/**
 * Checks that Node.js and PostgreSQL, each with its own time zone database, know a zone.
 * @throws Failure INVALID_PARAMETER
 */
export async function requireTimeZone(db: Database, field: string, name: string): Promise<void> {
  if (!isTimeZone(name)) throw invalidParameter(field, timeZoneRule);
  try {
    await sql`select now() at time zone ${name}`.execute(db);
  } catch (error) {
    if (sqlState(error) === unknownZone) throw invalidParameter(field, timeZoneRule);
    throw error;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

const patienceMs = 1000;

/**
 * For tests: resolves when somebody waits for a lock that this transaction holds. The embedded database admits one
 * transaction at a time, so there nobody gets as far, and it resolves all the same when its patience ends.
 */
export async function waitForLock(db: Database): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(10)) {
    const { rows } = await sql`select from pg_locks
      where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(db);
    if (rows.length > 0) return;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

const patienceMs = 1000;

/**
 * Resolves when another session waits for a lock that this transaction holds. The embedded engine runs one transaction at
 * a time, so no other session gets that far; there it resolves after a timeout.
 */
export async function waitForLock(db: Database): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(10)) {
    const { rows } = await sql`select from pg_locks
      where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(db);
    if (rows.length > 0) return;
  }
}

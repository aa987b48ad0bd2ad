import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { inject } from 'vitest';

/**
 * Resolves when another session waits for a lock that this transaction holds. The embedded engine runs one transaction at
 * a time, so no other session gets that far; there it resolves after a second.
 * @throws Error when no session waits within 30 s
 */
export async function waitForLock(db: Database): Promise<void> {
  if (!inject('isNativeDatabase')) return delay(1000);
  for (const end = performance.now() + 30_000; performance.now() < end; await delay(10)) {
    const { rows } = await sql`select from pg_locks
      where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(db);
    if (rows.length > 0) return;
  }
  throw new Error('no session waits for a lock of this transaction');
}

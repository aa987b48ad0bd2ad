import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Kysely } from 'kysely';

/** The database as it was at one moment, on a connection of its own. */
export interface Snapshot {
  readonly db: Database;
  /** Gives the connection back; safe to call again. */
  close(): Promise<void>;
}

/** Opens a snapshot, so that several statements of one answer agree with each other; the caller closes it. */
export async function openSnapshot(db: Kysely<Tables>): Promise<Snapshot> {
  const transaction = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute();
  let closed: Promise<void> | undefined;
  // Nothing was written, so a rollback is as good as a commit, and it frees the connection even when it fails.
  const close = () => {
    closed ??= transaction
      .rollback()
      .execute()
      .catch(() => undefined);
    return closed;
  };
  return { db: transaction, close };
}

/**
 * Runs `work` on a snapshot that belongs to it afterwards: it, or what it returns, closes the snapshot.
 * When it throws, the snapshot is closed here.
 */
export async function withSnapshot<T>(db: Kysely<Tables>, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const snapshot = await openSnapshot(db);
  try {
    return await work(snapshot);
  } catch (error) {
    await snapshot.close();
    throw error;
  }
}

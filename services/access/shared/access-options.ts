import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Clock } from '@odograph/http/http';
import type { Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';

/** Options of every plugin of this service. */
export interface AccessOptions {
  readonly db: Kysely<Tables>;
  /** Opens and seals device keys. */
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Maximum validity of an authorization token. */
  readonly maxAuthorizationMs: number;
  /** Wakes the command service, which publishes key lists; call it after the commit. */
  announceKeyLists(): void;
}

/** Runs `work` in a transaction, and announces changed key lists once it is committed. */
export async function changeAccess<T>(
  { db, announceKeyLists }: Pick<AccessOptions, 'db' | 'announceKeyLists'>,
  work: (trx: Database) => Promise<T>,
): Promise<T> {
  const result = await db.transaction().execute(work);
  announceKeyLists();
  return result;
}

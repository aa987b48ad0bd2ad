import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** What is stored of a user's password. */
export async function findPasswordHash(db: Database, userId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('user_account')
    .select('password_hash')
    .where('id', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row?.password_hash;
}

export interface PasswordChange {
  userId: string;
  oldHash: string;
  newHash: string;
  /** The hash of the access token whose session goes on. */
  tokenSha256: Buffer;
}

/**
 * Replaces a password and revokes every other session of the user; run it in a transaction.
 * @returns false when the password was changed by somebody else meanwhile
 */
export async function changePassword(db: Database, change: PasswordChange): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('user_account')
    .set({ password_hash: change.newHash, must_change_password: false })
    .where('id', '=', change.userId)
    .where('password_hash', '=', change.oldHash)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await db
    .updateTable('session')
    .set({ revoked_at: sql`now()` })
    .where('user_id', '=', change.userId)
    .where('revoked_at', 'is', null)
    .where('id', 'not in', (own) =>
      own.selectFrom('access_token').select('session_id').where('token_sha256', '=', change.tokenSha256),
    )
    .execute();
  return true;
}

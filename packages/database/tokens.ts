import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Whom an access token stands for.
 * @param tokenSha256 the hash of the token, as it is stored
 * @throws Failure INVALID_TOKEN for one that is unknown, revoked or of a deleted user; TOKEN_EXPIRED
 */
export async function findCaller(db: Database, tokenSha256: Buffer): Promise<Caller> {
  const row = await db
    .selectFrom('access_token')
    .innerJoin('session', 'session.id', 'access_token.session_id')
    .leftJoin('user_account', 'user_account.id', 'session.user_id')
    .select(['session.application_id', 'session.user_id', sql<boolean>`access_token.expires_at <= now()`.as('expired')])
    .where('access_token.token_sha256', '=', tokenSha256)
    .where('session.revoked_at', 'is', null)
    .where('user_account.deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new Failure('INVALID_TOKEN');
  if (row.expired) throw new Failure('TOKEN_EXPIRED');
  return { applicationId: row.application_id, ...(row.user_id === null ? {} : { userId: row.user_id }) };
}

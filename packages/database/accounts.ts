import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Finds the caller that an access token was issued to.
 * @param tokenSha256 hash of the token, as stored
 * @throws Failure INVALID_TOKEN for an unknown or revoked token or one of a deleted user; TOKEN_EXPIRED
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

/** Finds the database id of an application. @throws Failure UNKNOWN_APPLICATION */
export async function findApplicationId(db: Database, appId: string): Promise<number> {
  const row = await db
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_APPLICATION');
  return row.id;
}

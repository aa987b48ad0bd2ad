import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type Kysely, sql } from 'kysely';

/** How long tokens live. */
export interface TokenLifetimes {
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
}

/** Tokens as the client gets them; the dates are ISO 8601 UTC. */
export interface IssuedTokens {
  token: string;
  until: string;
  refresh_token: string;
  refresh_until: string;
}

/** A spent refresh token is taken once more for so long: its answer may have been lost. */
const graceSeconds = 60;

const afterSeconds = (seconds: number) => sql<Date>`now() + make_interval(secs => ${seconds})`;

/** The application with this appId, with what is stored of its key. */
export async function findApplication(
  db: Database,
  appId: string,
): Promise<{ id: number; keySha256: Buffer } | undefined> {
  return db
    .selectFrom('application')
    .select(['id', 'app_key_sha256 as keySha256'])
    .where('app_id', '=', appId)
    .executeTakeFirst();
}

export interface UserAccount {
  id: string;
  passwordHash: string;
  mustChangePassword: boolean;
}

/** The user of an application with this name, upper and lower case alike. */
export async function findUser(
  db: Database,
  applicationId: number,
  username: string,
): Promise<UserAccount | undefined> {
  return db
    .selectFrom('user_account')
    .select(['id', 'password_hash as passwordHash', 'must_change_password as mustChangePassword'])
    .where('application_id', '=', applicationId)
    .where(sql`lower(username)`, '=', sql`lower(${username})`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/** Opens a session in application mode. */
export async function openApplicationSession(db: Database, applicationId: number): Promise<string> {
  const { id } = await db
    .insertInto('session')
    .values({ application_id: applicationId })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/**
 * Opens a session of a user whose password was checked against `passwordHash`.
 * @throws Failure INVALID_CREDENTIALS when the password was changed or the user deleted meanwhile
 */
export async function openUserSession(db: Database, { id, passwordHash }: UserAccount): Promise<string> {
  // The lock makes a change of the password wait, so that it finds this session and revokes it.
  const { rows } = await sql<{ id: string }>`
    insert into session (application_id, user_id)
    select application_id, id from user_account
    where id = ${id} and password_hash = ${passwordHash} and deleted_at is null for share
    returning id`.execute(db);
  const [session] = rows;
  if (!session) throw new Failure('INVALID_CREDENTIALS');
  return session.id;
}

/** Gives a session a fresh pair of tokens; only their hashes are stored. */
export async function issueTokens(db: Database, sessionId: string, lifetimes: TokenLifetimes): Promise<IssuedTokens> {
  const token = createSecret();
  const refreshToken = createSecret();
  const access = await db
    .insertInto('access_token')
    .values({
      token_sha256: hashSecret(token),
      session_id: sessionId,
      expires_at: afterSeconds(lifetimes.accessSeconds),
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow();
  const refresh = await db
    .insertInto('refresh_token')
    .values({
      token_sha256: hashSecret(refreshToken),
      session_id: sessionId,
      expires_at: afterSeconds(lifetimes.refreshSeconds),
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow();
  return {
    token,
    until: access.expires_at.toISOString(),
    refresh_token: refreshToken,
    refresh_until: refresh.expires_at.toISOString(),
  };
}

interface PresentedToken {
  sessionId: string;
  reused: boolean;
  expired: boolean;
}

/** Locks the row, so that of two refreshes with one token the second sees what the first did. */
async function lockRefreshToken(
  db: Database,
  applicationId: number,
  tokenSha256: Buffer,
): Promise<PresentedToken | undefined> {
  const { rows } = await sql<PresentedToken>`
    select session.id as "sessionId",
      coalesce(refresh_token.spent_at < now() - make_interval(secs => ${graceSeconds}), false) as reused,
      refresh_token.expires_at <= now() as expired
    from refresh_token
    join session on session.id = refresh_token.session_id
    left join user_account on user_account.id = session.user_id
    where refresh_token.token_sha256 = ${tokenSha256} and session.application_id = ${applicationId}
      and session.revoked_at is null and user_account.deleted_at is null
    for update of refresh_token`.execute(db);
  return rows[0];
}

async function spend(db: Database, tokenSha256: Buffer): Promise<void> {
  await db
    .updateTable('refresh_token')
    .set({ spent_at: sql`coalesce(spent_at, now())` })
    .where('token_sha256', '=', tokenSha256)
    .execute();
}

async function revokeSession(db: Database, sessionId: string): Promise<void> {
  await db.updateTable('session').set({ revoked_at: sql`now()` }).where('id', '=', sessionId).execute();
}

/**
 * Exchanges a refresh token for fresh tokens of its session. One that was spent before the grace is a sign of theft:
 * the session with everything refreshed in it is revoked.
 * @throws Failure INVALID_TOKEN for a token that is unknown, revoked, reused or another application's; TOKEN_EXPIRED
 */
export async function refreshSession(
  db: Kysely<Tables>,
  applicationId: number,
  tokenSha256: Buffer,
  lifetimes: TokenLifetimes,
): Promise<IssuedTokens> {
  // A failure is returned and thrown outside, since a throw would undo the revocation.
  const result = await db.transaction().execute(async (trx) => {
    const presented = await lockRefreshToken(trx, applicationId, tokenSha256);
    if (!presented) return new Failure('INVALID_TOKEN');
    if (presented.reused) {
      await revokeSession(trx, presented.sessionId);
      return new Failure('INVALID_TOKEN');
    }
    if (presented.expired) return new Failure('TOKEN_EXPIRED');
    await spend(trx, tokenSha256);
    return issueTokens(trx, presented.sessionId, lifetimes);
  });
  if (result instanceof Failure) throw result;
  return result;
}

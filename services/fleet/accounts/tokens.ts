import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Config } from '@odograph/runtime/config';
import { createSecret, createToken, hashSecret } from '@odograph/runtime/secrets';
import { type Kysely, sql } from 'kysely';

/** Time from login until people sign in again; no token outlives its session. */
const sessionSeconds = 90 * 86_400;
/** A stolen access token is useless after this time. */
const accessTokenSeconds = 3600;
/** A client that refreshes less often than this logs in again. */
const refreshTokenSeconds = 30 * 86_400;

/** How long a spent refresh token is still accepted: the answer with its successor may have been lost. */
const graceSeconds = 60;

/** Finds the application with this appId and the hashes of its valid appKeys; the previous one while it is rotated out. */
export async function findApplication(db: Database, appId: string) {
  const { rows } = await sql<{ id: number; keySha256: Buffer; previousKeySha256: Buffer | null }>`
    select id, app_key_sha256 as "keySha256",
      case when previous_app_key_until > now() then previous_app_key_sha256 end as "previousKeySha256"
    from application where app_id = ${appId} and deleted_at is null`.execute(db);
  return rows[0];
}

export interface UserAccount {
  id: string;
  passwordHash: string;
  mustChangePassword: boolean;
}

/** Finds a user of an application by name, ignoring case. */
export async function findUser(db: Database, applicationId: number, username: string) {
  return db
    .selectFrom('user_account')
    .select(['id', 'password_hash as passwordHash', 'must_change_password as mustChangePassword'])
    .where('application_id', '=', applicationId)
    .where(sql`lower(username)`, '=', sql`lower(${username})`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/**
 * Opens a session in application mode.
 * @throws Failure INVALID_CREDENTIALS if the application has been deleted since the authentication
 */
export async function openApplicationSession(db: Database, applicationId: number): Promise<string> {
  // The row lock makes a concurrent deletion wait, so that it sees this session and revokes it.
  const { rows } = await sql<{ id: string }>`
    insert into session (application_id)
    select id from application where id = ${applicationId} and deleted_at is null for share
    returning id`.execute(db);
  const [session] = rows;
  if (!session) throw new Failure('INVALID_CREDENTIALS');
  return session.id;
}

/** Ends all sessions of an application with its users, or those of one user. @returns their number */
export async function endSessions(
  db: Database,
  { applicationId, userId }: { applicationId: number; userId?: string },
): Promise<number> {
  let sessions = db
    .updateTable('session')
    .set({ revoked_at: sql`now()` })
    .where('application_id', '=', applicationId)
    .where('revoked_at', 'is', null);
  if (userId !== undefined) sessions = sessions.where('user_id', '=', userId);
  const { numUpdatedRows } = await sessions.executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Opens a session of a user whose password matched `passwordHash`.
 * @throws Failure INVALID_CREDENTIALS if the password has changed or the user has been deleted since
 */
export async function openUserSession(db: Database, { id, passwordHash }: UserAccount): Promise<string> {
  // The row lock makes a concurrent password change wait, so that it sees this session and revokes it.
  const { rows } = await sql<{ id: string }>`
    insert into session (application_id, user_id)
    select application_id, id from user_account
    where id = ${id} and password_hash = ${passwordHash} and deleted_at is null for share
    returning id`.execute(db);
  const [session] = rows;
  if (!session) throw new Failure('INVALID_CREDENTIALS');
  return session.id;
}

/** Issues an access token and a refresh token for a session; only their hashes are stored. */
export async function issueTokens(db: Database, config: Pick<Config, 'CELL'>, sessionId: string) {
  const token = createToken(config);
  const refreshToken = createSecret();
  const afterSeconds = (seconds: number) => sql<Date>`(select least(now() + make_interval(secs => ${seconds}),
    created_at + make_interval(secs => ${sessionSeconds})) from session where id = ${sessionId})`;
  const access = await db
    .insertInto('access_token')
    .values({ token_sha256: hashSecret(token), session_id: sessionId, expires_at: afterSeconds(accessTokenSeconds) })
    .returning('expires_at')
    .executeTakeFirstOrThrow();
  const refresh = await db
    .insertInto('refresh_token')
    .values({
      token_sha256: hashSecret(refreshToken),
      session_id: sessionId,
      expires_at: afterSeconds(refreshTokenSeconds),
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
  spent: boolean;
  /** Whether it was spent less than the grace period ago. */
  recent: boolean;
  successorSha256: Buffer | null;
  expired: boolean;
}

/** Locks the row, so that the second of two concurrent refreshes with one token sees the effect of the first. */
async function lockRefreshToken(db: Database, applicationId: number, tokenSha256: Buffer) {
  const { rows } = await sql<PresentedToken>`
    select session.id as "sessionId", refresh_token.spent_at is not null as spent,
      coalesce(refresh_token.spent_at >= now() - make_interval(secs => ${graceSeconds}), false) as recent,
      refresh_token.successor_sha256 as "successorSha256",
      refresh_token.expires_at <= now() as expired
    from refresh_token
    join session on session.id = refresh_token.session_id
    left join user_account on user_account.id = session.user_id
    where refresh_token.token_sha256 = ${tokenSha256} and session.application_id = ${applicationId}
      and session.revoked_at is null and user_account.deleted_at is null
    for update of refresh_token`.execute(db);
  return rows[0];
}

/**
 * Spends a token. Without a successor it is not accepted again.
 * @returns whether it was unspent
 */
async function spend(db: Database, tokenSha256: Buffer, successorSha256: Buffer | null): Promise<boolean> {
  const { rows } = await sql<{ unspent: boolean }>`
    with held as (select spent_at from refresh_token where token_sha256 = ${tokenSha256} for update)
    update refresh_token set spent_at = coalesce(held.spent_at, now()), successor_sha256 = ${successorSha256}
    from held where token_sha256 = ${tokenSha256}
    returning held.spent_at is null as unspent`.execute(db);
  return rows[0]?.unspent ?? false;
}

/**
 * Whether a spent token may be presented once more, because the answer with its successor may have been lost. The
 * successor is then spent as well: a client that presents it has received that answer, so one of the two tokens is stolen.
 */
async function isWithinGrace(db: Database, { recent, successorSha256 }: PresentedToken): Promise<boolean> {
  return recent && successorSha256 !== null && (await spend(db, successorSha256, null));
}

/**
 * Exchanges a refresh token for new tokens of its session. A reused token may be stolen: its session is revoked with all
 * its tokens. One reuse within the grace period is accepted, as long as the successor is unused.
 * @throws Failure INVALID_TOKEN for a token that is unknown, revoked, reused or another application's; TOKEN_EXPIRED
 */
export async function refreshSession(
  db: Kysely<Tables>,
  config: Pick<Config, 'CELL'>,
  { applicationId, tokenSha256 }: { applicationId: number; tokenSha256: Buffer },
) {
  // Failures are returned, not thrown: a throw would roll the revocation back.
  const result = await db.transaction().execute(async (trx) => {
    const presented = await lockRefreshToken(trx, applicationId, tokenSha256);
    if (!presented) return new Failure('INVALID_TOKEN');
    if (presented.spent && !(await isWithinGrace(trx, presented))) {
      await trx.updateTable('session').set({ revoked_at: sql`now()` }).where('id', '=', presented.sessionId).execute();
      return new Failure('INVALID_TOKEN');
    }
    if (presented.expired) return new Failure('TOKEN_EXPIRED');
    const tokens = await issueTokens(trx, config, presented.sessionId);
    await spend(trx, tokenSha256, presented.spent ? null : hashSecret(tokens.refresh_token));
    return tokens;
  });
  if (result instanceof Failure) throw result;
  return result;
}

/** Finds the hash of a user's password. */
export async function findPasswordHash(db: Database, userId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('user_account')
    .select('password_hash')
    .where('id', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row?.password_hash;
}

/**
 * Replaces a password and revokes the other sessions of the user; run it in a transaction.
 * @param change with the hash of the access token, or of the token of the browser, whose session stays open
 * @returns false if the password has changed since it was checked
 */
export async function changePassword(
  db: Database,
  change: { userId: string; oldHash: string; newHash: string; tokenSha256: Buffer },
): Promise<boolean> {
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
      own
        .selectFrom('access_token')
        .select('session_id')
        .where('token_sha256', '=', change.tokenSha256)
        .unionAll(
          own
            .selectFrom('sign_in')
            .select('session_id')
            .where('token_sha256', '=', change.tokenSha256)
            .where('session_id', 'is not', null)
            .$narrowType<{ session_id: string }>(),
        ),
    )
    .execute();
  return true;
}

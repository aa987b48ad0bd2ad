import { type OperatorRole, type SignedIn, sessionDays } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import { endSessions, findUser, openUserSession, type UserAccount } from '../accounts/queries.ts';

/** An operator with the hash of the password. */
export interface OperatorAccount {
  id: string;
  name: string;
  passwordHash: string;
}

function selectOperators(db: Database) {
  return db
    .selectFrom('operator')
    .select(['id', 'name', 'password_hash as passwordHash'])
    .where('deleted_at', 'is', null);
}

/** Finds an operator by name, ignoring case. */
export async function findOperator(db: Database, name: string): Promise<OperatorAccount | undefined> {
  return selectOperators(db).where(sql`lower(name)`, '=', sql`lower(${name})`).executeTakeFirst();
}

/** Finds an operator by id. @throws Failure INVALID_TOKEN if it has been deleted */
export async function findOperatorById(db: Database, id: string): Promise<OperatorAccount> {
  const operator = await selectOperators(db).where('id', '=', id).executeTakeFirst();
  if (!operator) throw new Failure('INVALID_TOKEN');
  return operator;
}

/** Finds a user by the appId of the application and the name, ignoring case. */
export async function findUserOf(db: Database, appId: string, username: string): Promise<UserAccount | undefined> {
  const application = await db
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return application && findUser(db, application.id, username);
}

/** When a browser session that begins now ends at the latest. @param sessionSeconds SESSION_SECONDS, which no session outlives */
const latestEnd = (sessionSeconds: number) =>
  sql<Date>`now() + make_interval(secs => ${Math.min(sessionDays * 86_400, sessionSeconds)})`;

/**
 * Signs in the browser of an operator whose password matched `passwordHash`. @returns the token of the session
 * @throws Failure INVALID_CREDENTIALS if the password has changed or the operator has been deleted since
 */
export async function signInOperator(
  db: Database,
  { id, passwordHash }: OperatorAccount,
  sessionSeconds: number,
): Promise<string> {
  const token = createSecret();
  // The row lock makes a concurrent password change wait, so that it sees this session and ends it.
  const { rows } = await sql`insert into sign_in (token_sha256, operator_id, expires_at)
    select ${hashSecret(token)}, id, ${latestEnd(sessionSeconds)} from operator
    where id = ${id} and password_hash = ${passwordHash} and deleted_at is null for share
    returning operator_id`.execute(db);
  if (rows.length === 0) throw new Failure('INVALID_CREDENTIALS');
  return token;
}

/**
 * Signs in the browser of a user whose password matched. @returns the token of the session
 * @throws Failure INVALID_CREDENTIALS if the password has changed or the user has been deleted since
 */
export async function signInUser(db: Database, user: UserAccount, sessionSeconds: number): Promise<string> {
  const token = createSecret();
  const session_id = await openUserSession(db, user);
  await db
    .insertInto('sign_in')
    .values({ token_sha256: hashSecret(token), session_id, expires_at: latestEnd(sessionSeconds) })
    .execute();
  return token;
}

/** Ends the browser session with this token, if there is one. */
export async function signOut(db: Database, tokenSha256: Buffer): Promise<void> {
  const ended = await db
    .deleteFrom('sign_in')
    .where('token_sha256', '=', tokenSha256)
    .returning('session_id')
    .executeTakeFirst();
  if (ended?.session_id == null) return;
  await db.updateTable('session').set({ revoked_at: sql<Date>`now()` }).where('id', '=', ended.session_id).execute();
}

/** Ends all sessions of a person: those of an operator in browsers; those of a user with their access tokens. */
export async function signOutEverywhere(db: Database, signedIn: SignedIn): Promise<void> {
  if ('caller' in signedIn) {
    await endSessions(db, signedIn.caller);
    return;
  }
  await db
    .deleteFrom('sign_in')
    .where('operator_id', '=', signedIn.operator.id ?? null)
    .execute();
}

/** Gives a browser session another token, so that a copy of the former one is worthless. @returns the new token */
export async function replaceToken(db: Database, tokenSha256: Buffer): Promise<string> {
  const token = createSecret();
  await db
    .updateTable('sign_in')
    .set({ token_sha256: hashSecret(token) })
    .where('token_sha256', '=', tokenSha256)
    .execute();
  return token;
}

/**
 * Replaces the password of an operator and ends the other sessions of the operator; run it in a transaction.
 * @param tokenSha256 hash of the token of the session that stays
 * @returns false if the password has changed since it was checked
 */
export async function changeOperatorPassword(
  db: Database,
  { id, passwordHash }: OperatorAccount,
  { newHash, tokenSha256 }: { newHash: string; tokenSha256: Buffer },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('operator')
    .set({ password_hash: newHash, must_change_password: false })
    .where('id', '=', id)
    .where('password_hash', '=', passwordHash)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await db.deleteFrom('sign_in').where('operator_id', '=', id).where('token_sha256', '!=', tokenSha256).execute();
  return true;
}

/** The person of a session as the routes answer it. */
export type Person =
  | {
      kind: 'operator';
      name: string;
      role: OperatorRole;
      limited: boolean;
      applications: { appId: string; name: string }[];
      mustChangePassword: boolean;
    }
  | {
      kind: 'user';
      username: string;
      userId: string;
      appId: string;
      applicationName: string;
      mustChangePassword: boolean;
    };

async function describeOperator(db: Database, id: string): Promise<Person | undefined> {
  const { rows } = await sql<Omit<Extract<Person, { kind: 'operator' }>, 'kind'>>`
    with limits as (select application_id from operator_application where operator_id = ${id})
    select name, role, exists (select from limits) as limited, must_change_password as "mustChangePassword",
      (select coalesce(json_agg(json_build_object('appId', app_id, 'name', application.name) order by application.id), '[]')
        from application where application.deleted_at is null
          and (not exists (select from limits) or application.id in (select application_id from limits))) as applications
    from operator where id = ${id} and deleted_at is null`.execute(db);
  return rows[0] && { kind: 'operator', ...rows[0] };
}

async function describeUser(db: Database, userId: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom('user_account')
    .innerJoin('application', 'application.id', 'user_account.application_id')
    .select(['username', 'user_account.id as userId', 'app_id as appId', 'application.name as applicationName'])
    .select('must_change_password as mustChangePassword')
    .where('user_account.id', '=', userId)
    .where('user_account.deleted_at', 'is', null)
    .executeTakeFirst();
  return row && { kind: 'user', ...row };
}

/** Describes the person of a session and records that the session is in use. @throws Failure INVALID_TOKEN if it has ended */
export async function describePerson(db: Database, tokenSha256: Buffer): Promise<Person> {
  const used = await db
    .updateTable('sign_in')
    .set({ used_at: sql<Date>`now()` })
    .where('token_sha256', '=', tokenSha256)
    .returning(({ selectFrom }) => [
      'operator_id as operatorId',
      selectFrom('session').select('user_id').whereRef('session.id', '=', 'sign_in.session_id').as('userId'),
    ])
    .executeTakeFirst();
  const { operatorId, userId } = used ?? {};
  const person =
    operatorId != null ? await describeOperator(db, operatorId) : userId != null && (await describeUser(db, userId));
  if (!person) throw new Failure('INVALID_TOKEN');
  return person;
}

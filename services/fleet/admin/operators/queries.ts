import type { OperatorRole } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { signInHasExpired } from '@odograph/database/accounts';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { sql } from 'kysely';

/** An operator as administrators see it. */
export interface ListedOperator {
  name: string;
  role: OperatorRole;
  /** The applications that the operator is limited to; empty for all. */
  appIds: string[];
  mustChangePassword: boolean;
  createdAt: string;
  /** When a browser of the operator that is still signed in was last in use; null without one. */
  usedAt: string | null;
}

/** Creates an operator. @returns its id. @throws Failure ALREADY_EXISTS if the name is taken, ignoring case */
export async function createOperator(
  db: Database,
  operator: { name: string; role: OperatorRole; passwordHash: string; mustChangePassword: boolean },
): Promise<string> {
  const taken = 'there is an operator of this name already, in upper or lower case';
  const { id } = await failOnConstraint({ operator_name: ['ALREADY_EXISTS', taken] }, () =>
    db
      .insertInto('operator')
      .values({
        name: operator.name,
        role: operator.role,
        password_hash: operator.passwordHash,
        must_change_password: operator.mustChangePassword,
      })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return id;
}

/** Limits an operator to applications; to none of them, which is no limit, if the list is empty. */
export async function limitOperator(db: Database, id: string, applicationIds: readonly number[]): Promise<void> {
  await db.deleteFrom('operator_application').where('operator_id', '=', id).execute();
  await sql`insert into operator_application (operator_id, application_id)
    select distinct ${id}::uuid, one from unnest(${[...applicationIds]}::integer[]) as one`.execute(db);
}

/** Changes the role of an operator. */
export async function changeRole(db: Database, id: string, role: OperatorRole): Promise<void> {
  await db.updateTable('operator').set({ role }).where('id', '=', id).execute();
}

/** Tests in SQL that an operator administers the platform: an administrator without a limit to applications. */
const administersPlatform = sql<boolean>`deleted_at is null and role = 'administrator'
  and not exists (select from operator_application where operator_id = operator.id)`;

/** An operator that is locked for a change. */
export interface LockedOperator {
  readonly id: string;
  /** As written when it was created. */
  readonly name: string;
  readonly administersPlatform: boolean;
}

/**
 * Locks an operator for a change in this transaction, and all administrators: changes that run at once must not leave none.
 * @throws Failure UNKNOWN_USER
 */
export async function lockOperator(db: Database, name: string): Promise<LockedOperator> {
  const isNamed = sql<boolean>`lower(name) = lower(${name})`;
  await db
    .selectFrom('operator')
    .select('id')
    .where('deleted_at', 'is', null)
    .where((where) => where.or([isNamed, where('role', '=', 'administrator')]))
    .orderBy('id')
    .forUpdate()
    .execute();
  // A statement of its own sees what the transactions that it waited for have written.
  const operator = await db
    .selectFrom('operator')
    .select(['id', 'name', administersPlatform.as('administersPlatform')])
    .where(isNamed)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!operator) throw new Failure('UNKNOWN_USER', 'no such operator');
  return operator;
}

/**
 * Requires that the change of a locked operator, which is written, has not ended the administration of the platform.
 * @throws Failure LAST_ADMINISTRATOR
 */
export async function requireAdministrator(db: Database, changed: LockedOperator): Promise<void> {
  if (!changed.administersPlatform) return;
  const remaining = await db.selectFrom('operator').select('id').where(administersPlatform).limit(1).execute();
  if (remaining.length > 0) return;
  throw new Failure(
    'LAST_ADMINISTRATOR',
    'this is the last administrator of the platform: make another operator an administrator first',
  );
}

/** Lists the operators by name, or only the one with this id. */
export async function listOperators(db: Database, id?: string): Promise<ListedOperator[]> {
  const rows = await db
    .selectFrom('operator')
    .select(['name', 'role', 'must_change_password', 'created_at'])
    .select([
      sql<string[]>`array(select app_id from operator_application
        join application on application.id = application_id where operator_id = operator.id order by application.id)`.as(
        'app_ids',
      ),
      sql<Date | null>`(select max(used_at) from sign_in
        where operator_id = operator.id and not ${signInHasExpired})`.as('used_at'),
    ])
    .where('deleted_at', 'is', null)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy(sql`lower(name)`)
    .execute();
  return rows.map((row) => ({
    ...{ name: row.name, role: row.role, appIds: row.app_ids, mustChangePassword: row.must_change_password },
    createdAt: row.created_at.toISOString(),
    usedAt: row.used_at?.toISOString() ?? null,
  }));
}

/** Ends all sessions of an operator. @returns their number */
export async function endOperatorSessions(db: Database, id: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('sign_in').where('operator_id', '=', id).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Sets the password of an operator and ends its sessions. */
export async function resetOperatorPassword(db: Database, id: string, passwordHash: string): Promise<void> {
  await db
    .updateTable('operator')
    .set({ password_hash: passwordHash, must_change_password: true })
    .where('id', '=', id)
    .execute();
  await endOperatorSessions(db, id);
}

/** Deletes an operator: its sessions end, and it cannot sign in again. */
export async function deleteOperator(db: Database, id: string): Promise<void> {
  await db
    .updateTable('operator')
    .set({ deleted_at: sql<Date>`now()`, password_hash: '' })
    .where('id', '=', id)
    .execute();
  await endOperatorSessions(db, id);
}

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

/** Locks an operator for a change in this transaction. @returns its id and its name as written. @throws Failure UNKNOWN_USER */
export async function lockOperator(db: Database, name: string): Promise<{ id: string; name: string }> {
  const operator = await db
    .selectFrom('operator')
    .select(['id', 'name'])
    .where(sql`lower(name)`, '=', sql`lower(${name})`)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (!operator) throw new Failure('UNKNOWN_USER', 'no such operator');
  return operator;
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

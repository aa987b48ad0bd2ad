import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { createPool, type PoolOptions } from './pool.ts';
import type { Tables } from './tables.ts';

/** A database or a transaction on it: functions with SQL take it first and do not care which. */
export type Database = Kysely<Tables> | Transaction<Tables>;

/** Opens the database with a pool of its own; `destroy()` closes it. */
export function openDatabase(options: PoolOptions): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: createPool(options) }) });
}

/** Answers when the database does; throws when it is away. */
export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db);
}

import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { Client } from 'pg';
import { createPool, isPooled, type PoolOptions, parsers } from './pool.ts';
import { openSessions } from './session.ts';
import type { Tables } from './tables.ts';

/** A database or a transaction; the first parameter of every function with SQL. */
export type Database = Kysely<Tables> | Transaction<Tables>;

interface DatabaseOptions extends PoolOptions {
  /** Maximum of prepared statements per connection, for a fixed set of statements; none by default. */
  preparedStatements?: number;
}

/** Opens the database with its own pool; `destroy()` closes it. */
export function openDatabase({ preparedStatements = 0, ...options }: DatabaseOptions): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: openSessions(createPool(options), isPooled(options.url) ? 0 : preparedStatements),
    }),
  });
}

/** Checks that the database answers. @throws when it is unavailable */
export async function pingDatabase(db: Database): Promise<void> {
  await sql`select 1`.execute(db);
}

/**
 * Opens one connection, for statements that Kysely does not know, such as COPY; the caller ends it.
 * @returns the connection, and the same as a database whose queries run in its transaction
 */
export async function openConnection(url: string, name: string): Promise<{ client: Client; db: Kysely<Tables> }> {
  const client = new Client({ connectionString: url, application_name: `odograph-${name}`, types: parsers });
  await client.connect();
  const connection = Object.assign(client, { release: () => undefined });
  const pool = { connect: async () => connection, end: async () => undefined };
  return { client, db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }) };
}

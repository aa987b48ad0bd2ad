import { finished } from 'node:stream/promises';
import { CompiledQuery, type Kysely } from 'kysely';
import type { PoolClient } from 'pg';
import { from } from 'pg-copy-streams';
import type { Tables } from './tables.ts';

const statementForm = /^copy [^;]+ from stdin/;

/**
 * Makes `query()` of a connection accept COPY FROM STDIN, with the data as the only parameter: inside a transaction, Kysely
 * reaches its connection through `query()` alone.
 */
export function supportCopy(client: PoolClient): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  const copy = async (statement: string, data: Buffer) => {
    const stream = from(statement);
    query(stream);
    stream.end(data);
    await finished(stream);
    return { command: 'COPY', rows: [] };
  };
  const queryOrCopy = (...parameters: unknown[]): unknown => {
    const [statement, values] = parameters;
    const data: unknown = Array.isArray(values) ? values[0] : undefined;
    const isCopy = typeof statement === 'string' && statementForm.test(statement) && Buffer.isBuffer(data);
    return isCopy ? copy(statement, data) : query(...parameters);
  };
  client.query = queryOrCopy as PoolClient['query'];
}

/**
 * Adds rows to a table with COPY, all of them or none.
 * @param columns in the order of a row's fields
 * @param rows the result of BinaryRows
 * @throws DatabaseError
 */
export async function copyInto(
  db: Kysely<Tables>,
  table: string,
  columns: readonly string[],
  rows: Buffer,
): Promise<void> {
  const statement = `copy ${table} (${columns.join(', ')}) from stdin (format binary)`;
  await db.executeQuery(CompiledQuery.raw(statement, [rows]));
}

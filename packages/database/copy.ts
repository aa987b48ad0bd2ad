import { CompiledQuery, type Kysely } from 'kysely';
import type { Connection, PoolClient, Submittable } from 'pg';
import type { Tables } from './tables.ts';

declare module 'pg' {
  /** Parts of pg 8.23 that its type declarations leave out. */
  interface Connection {
    sendCopyFromChunk(chunk: Buffer): void;
    endCopyFrom(): void;
  }
}

/** A COPY FROM STDIN whose data is there as a whole (PostgreSQL, "Message Flow", "COPY Operations"). */
class CopyFromBuffer implements Submittable {
  readonly finished: Promise<{ command: 'COPY'; rows: never[] }>;
  readonly #statement: string;
  readonly #data: Buffer;
  #succeed: () => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(statement: string, data: Buffer) {
    this.#statement = statement;
    this.#data = data;
    this.finished = new Promise((resolve, reject) => {
      this.#succeed = () => resolve({ command: 'COPY', rows: [] });
      this.#fail = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#statement);
  }

  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFromChunk(this.#data);
    connection.endCopyFrom();
  }

  handleError(error: unknown): void {
    this.#fail(error);
  }

  handleReadyForQuery(): void {
    this.#succeed();
  }

  handleCommandComplete(): void {}
}

const statementForm = /^copy [^;]+ from stdin/;

/** Lets a connection take COPY statements, with the data as their only parameter. */
export function teachCopy(client: PoolClient): void {
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown;
  const queryOrCopy = (...parameters: unknown[]): unknown => {
    const [statement, values] = parameters;
    const data: unknown = Array.isArray(values) ? values[0] : undefined;
    if (typeof statement !== 'string' || !statementForm.test(statement) || !Buffer.isBuffer(data)) {
      return query(...parameters);
    }
    const copy = new CopyFromBuffer(statement, data);
    query(copy);
    return copy.finished;
  };
  client.query = queryOrCopy as PoolClient['query'];
}

/**
 * Adds rows to a table, faster than any INSERT.
 * @param columns in the order of the fields of a row
 * @param rows made with BinaryRows
 * @throws DatabaseError; nothing is added then
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

import { CompiledQuery, type Kysely } from 'kysely';
import type { Connection, PoolClient, Submittable } from 'pg';
import type { Tables } from './tables.ts';

declare module 'pg' {
  /** Methods of pg 8.23 that its type declarations omit. */
  interface Connection {
    sendCopyFromChunk(chunk: Buffer): void;
    endCopyFrom(): void;
  }
}

/** A COPY FROM STDIN that sends one buffer (PostgreSQL, "Message Flow", "COPY Operations"). */
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

/** Makes `query()` of a connection accept COPY FROM STDIN, with the data as the only parameter. */
export function supportCopy(client: PoolClient): void {
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

import { Failure, type FailureCode } from '@odograph/contracts/failures';
import { DatabaseError } from 'pg';

/** The SQLSTATE of an error that PostgreSQL raised, else undefined (PostgreSQL, Appendix A). */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** out_of_memory (lock table included) and configuration_limit_exceeded: a smaller statement may succeed. */
const resourceStates = new Set(['53200', '53400']);

/**
 * Whether PostgreSQL rejects a statement for its values (classes 22 and 23) or its size (class 54, of class 53 what a smaller
 * statement avoids), so that retrying it unchanged is useless. A full disk and too many connections are an outage instead.
 */
export function isDataFault(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || resourceStates.has(state));
}

/**
 * Runs `work` and turns the violation of a named constraint into the failure it stands for.
 * @throws Failure for a constraint in the table, else whatever `work` throws
 */
export async function failOnConstraint<T>(
  codes: Readonly<Record<string, FailureCode>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof DatabaseError && error.constraint ? codes[error.constraint] : undefined;
    if (code) throw new Failure(code, undefined, {}, { cause: error });
    throw error;
  }
}

/** What may be logged of an error: PostgreSQL's own messages and details can repeat the values of a row. */
export function describeDatabaseError(error: unknown): Record<string, string | undefined> {
  if (error instanceof DatabaseError) {
    return { sqlState: error.code, table: error.table, constraint: error.constraint, routine: error.routine };
  }
  return { error: error instanceof Error ? error.message : String(error) };
}

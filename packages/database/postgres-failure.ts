import { Failure, type FailureCode, type FailureDetails } from '@odograph/contracts/failures';
import { messageOf } from '@odograph/runtime/message-of';
import { DatabaseError } from 'pg';

/** Returns the SQLSTATE of an error raised by PostgreSQL, else undefined (PostgreSQL, Appendix A). */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** out_of_memory (lock table included) and configuration_limit_exceeded: a smaller statement may succeed. */
const resourceStates = new Set(['53200', '53400']);

/**
 * Tells whether PostgreSQL rejects a statement for its values (classes 22 and 23) or its size (class 54, of class 53 what a smaller
 * statement avoids), so that retrying it unchanged is useless. A full disk and too many connections are an outage instead.
 */
export function isDataFault(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || resourceStates.has(state));
}

/** The failure that stands for the violation of a constraint, with a message if the code has several causes. */
type ConstraintFailure = readonly [code: FailureCode, message?: string, details?: FailureDetails];

/**
 * Classes of SQLSTATE that say nothing about the values of a statement: connection, transaction, sign-in, resources, cancellation,
 * system and configuration; also a missing table or privilege, which the operator mends.
 */
const outageStates = /^(08|25|28|3D|3F|40|42|53|55|57|58|F0|HV)/;

/** Tells whether an error can have its cause in the values, although neither PostgreSQL nor the driver says so. */
function isUnexplained(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return !outageStates.test(state);
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

/** With the back-off of a queue, 9 to 19 s in total: longer than a migration invalidates the plans of statements. */
const maximumAttempts = 7;

/** Bounds the attempts at work that the database refuses. Failures while it is unavailable do not count. */
export class RefusedWork {
  readonly #attempts = new WeakMap<object, number>();

  /** Counts a failed attempt that was not permanent. @param work the same object in each attempt */
  failed(work: object, error: unknown): void {
    if (isUnexplained(error)) this.#attempts.set(work, (this.#attempts.get(work) ?? 0) + 1);
  }

  /** Tells whether another attempt at any of the work is useless after this error; call it before `failed`. */
  isPermanent(works: readonly object[], error: unknown): boolean {
    if (isDataFault(error)) return true;
    return isUnexplained(error) && works.some((work) => (this.#attempts.get(work) ?? 0) >= maximumAttempts - 1);
  }
}

/**
 * Runs `work` and translates the violation of a named constraint into a failure.
 * @throws Failure for a constraint in the table, else whatever `work` throws
 */
export async function failOnConstraint<T>(
  failures: Readonly<Record<string, ConstraintFailure>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const failure = error instanceof DatabaseError && error.constraint ? failures[error.constraint] : undefined;
    if (failure) throw new Failure(failure[0], failure[1], failure[2], { cause: error });
    throw error;
  }
}

/** Returns what may be logged of an error. PostgreSQL's messages and details may contain values of a row. */
export function describeDatabaseError(error: unknown): Record<string, string | undefined> {
  if (error instanceof DatabaseError) {
    return { sqlState: error.code, table: error.table, constraint: error.constraint, routine: error.routine };
  }
  return { error: messageOf(error) };
}

import { Failure } from '@odograph/contracts/failures';
import { sqlState } from '@odograph/database/postgres-failure';

/** Statement timeout, too many connections, shutting down, starting, and a replica that had to cancel the query. */
const overloadedStates = new Set(['57014', '53300', '57P01', '57P03', '40001']);
const unreachableCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
/** What the pool and the driver say when no connection could be had, or one broke; they give it no code. */
const driverMessage = /timeout exceeded when trying to connect|connection terminated/i;

function isOverload(error: Error): boolean {
  const state = sqlState(error);
  if (state !== undefined) return overloadedStates.has(state);
  if ('code' in error && unreachableCodes.has(String(error.code))) return true;
  return driverMessage.test(error.message);
}

/** The error as it is, or OVERLOADED when it means that the database could not answer in time. */
export function recognizeOverload<T extends Error>(error: T): T | Failure {
  if (!isOverload(error)) return error;
  return new Failure('OVERLOADED', undefined, { retryAfterSeconds: 5 }, { cause: error });
}

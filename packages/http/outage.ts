/**
 * SQLSTATEs of a statement that the server refused or rolled back: timeout, too many connections, starting up, cancelled
 * on a standby, a deadlock, and a write on a standby, as during a fail-over.
 */
const refusalStates = new Set(['57014', '53300', '57P03', '40001', '40P01', '25006']);
/** SQLSTATEs of a session that the server or a pooler ended: connection exceptions, shutdown and crash. */
const endedSession = /^(08...|57P01|57P02)$/;
const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
]);
/** Errors without a code: the pool had no connection in time, or a connection broke. */
const driverMessage =
  /timeout exceeded when trying to connect|connection terminated|not queryable|database connection was silent/i;

const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '');

/** Tells whether the connection to the database was lost or not available, so a COMMIT in flight may have succeeded. */
export function isConnectionLoss(error: Error): boolean {
  const code = codeOf(error);
  return endedSession.test(code) || networkCodes.has(code) || driverMessage.test(error.message);
}

/** Tells whether the database could not answer in time, so that the same request may succeed later. */
export const isOutage = (error: Error): boolean => refusalStates.has(codeOf(error)) || isConnectionLoss(error);

/**
 * Returns the message of an error. If every address of a host refuses a connection, as the two of localhost do, the error
 * of Node.js has none, and the errors of the attempts have one each.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

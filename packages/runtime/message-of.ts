/**
 * Returns the message of an error. If connections to all addresses of a host fail, Node.js reports an AggregateError
 * with an empty message; the errors it contains give the reasons.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

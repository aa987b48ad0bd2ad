import { Failure } from '@odograph/contracts/failures';

/** The failure of a caller who asks too often; `waitMs` until the window is over. */
export function tooManyRequests(waitMs: number): Failure {
  return new Failure('TOO_MANY_REQUESTS', undefined, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
}

import { OdographFailure, unreachable } from './failures.ts';

/** How requests are sent. */
export interface Attempts {
  readonly fetch: (request: Request) => Promise<Response>;
  /** How often a request is sent at most. */
  readonly maxAttempts: number;
}

const firstPauseMs = 500;
const maxPauseMs = 30_000;
/** A longer `Retry-After` is the caller's to wait for. */
const maxWaitMs = 60_000;

/** Waits. @throws the reason of an abort */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
}

/** Doubles with each attempt; half of it is random, so that clients that failed together do not come back together. */
export function backOffMs(attempt: number, maxMs = maxPauseMs): number {
  return Math.min(firstPauseMs * 2 ** (attempt - 1), maxMs) * (0.5 + Math.random() / 2);
}

/** Reads `Retry-After`, seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs({ headers }: Response): number {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, (Date.parse(text) || 0) - Date.now());
}

/** Whether the same request may be sent twice: its method is idempotent (RFC 9110, 9.2.2), or it carries a key. */
const isIdempotent = ({ method, headers }: Request): boolean => method !== 'POST' || headers.has('idempotency-key');

/**
 * Sends a request, and sends it again after 429, which executed nothing. After 503 and without an answer it may have been
 * executed, so only a repeatable request is sent again.
 * @throws OdographFailure UNREACHABLE when the last attempt got no answer; the reason of an abort
 */
export async function sendWithRetries(
  request: Request,
  { fetch, maxAttempts }: Attempts,
  isRepeatable = isIdempotent(request),
): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await fetch(request.clone()).catch((error: unknown) => unreachable(error));
    request.signal.throwIfAborted();
    const isAnswer = !(outcome instanceof OdographFailure);
    const status = isAnswer ? outcome.status : 503;
    const mayRepeat = status === 429 || (status === 503 && isRepeatable);
    const waitMs = Math.max(backOffMs(attempt), isAnswer ? retryAfterMs(outcome) : 0);
    if (!mayRepeat || attempt >= maxAttempts || waitMs > maxWaitMs) {
      if (isAnswer) return outcome;
      throw outcome;
    }
    if (isAnswer) await outcome.body?.cancel();
    await delay(waitMs, request.signal);
  }
}

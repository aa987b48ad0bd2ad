import { performance } from 'node:perf_hooks';
import { type Dispatcher, Pool } from 'undici';
import { type AddressRules, ForbiddenAddress, permittedLookup, requireLiteralPermitted } from './addresses.ts';
import { retryAfterMs } from './back-off.ts';
import type { SignedHeaders } from './signature.ts';

/** What came of an attempt, as the metric's label. */
export type AttemptOutcome =
  | 'delivered'
  | 'gone'
  | 'redirected'
  | 'refused'
  | 'failed'
  | 'timeout'
  | 'unreachable'
  | 'forbidden';

/** The result of one attempt. */
export interface Attempt {
  readonly outcome: AttemptOutcome;
  /** Of the answer; undefined without one. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** For people; undefined for a delivery that succeeded. */
  readonly error: string | undefined;
  /** What the receiver asked for; 0 if it did not. */
  readonly retryAfterMs: number;
}

/** How the connections to a receiver are made. */
export interface ReceiverOptions extends AddressRules {
  readonly connections: number;
  /** For the whole attempt: connection, request and answer. */
  readonly timeLimitMs: number;
}

const connectMs = 10_000;
const mostAnswerBytes = 64 * 1024;

const errorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed without an answer',
  UND_ERR_SOCKET: 'the connection was closed without an answer',
  UND_ERR_CONNECT_TIMEOUT: `no connection in ${connectMs / 1000} s`,
};

/** Describes a failure without addresses: an error's own message may hold them. */
function describeError(error: unknown): { outcome: AttemptOutcome; error: string } {
  if (error instanceof ForbiddenAddress) return { outcome: 'forbidden', error: error.message };
  // Addresses that were tried in turn.
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = String(Object(one).code ?? 'unknown');
  return { outcome: 'unreachable', error: errorTexts[code] ?? `the connection failed: ${code}` };
}

function describeStatus(status: number): { outcome: AttemptOutcome; error: string | undefined } {
  if (status >= 200 && status < 300) return { outcome: 'delivered', error: undefined };
  if (status === 410) return { outcome: 'gone', error: 'answered 410: the webhook is disabled' };
  if (status >= 300 && status < 400) {
    return { outcome: 'redirected', error: `answered ${status}; redirects are not followed: register the final URL` };
  }
  return { outcome: status < 500 ? 'refused' : 'failed', error: `answered ${status}` };
}

/** The connections to the URL of one webhook. Deliveries of others, even to the same host, have connections of their own. */
export class Receiver {
  readonly #pool: Pool;
  readonly #url: URL;
  readonly #options: ReceiverOptions;

  /** @param url as requireUrl of registration/rules.ts accepts it */
  constructor(url: string, options: ReceiverOptions) {
    this.#url = new URL(url);
    this.#options = options;
    this.#pool = new Pool(this.#url.origin, {
      connections: options.connections,
      connect: { lookup: permittedLookup(this.#url.protocol === 'https:', options), timeout: connectMs },
      headersTimeout: options.timeLimitMs,
      bodyTimeout: options.timeLimitMs,
    });
  }

  /** Posts a signed event. Never throws: every failure is an attempt with an error. */
  async post(signed: SignedHeaders, body: string): Promise<Attempt> {
    const startMs = performance.now();
    const ended = (result: Pick<Attempt, 'outcome' | 'error'> & Partial<Attempt>): Attempt => {
      return { status: undefined, retryAfterMs: 0, durationMs: Math.round(performance.now() - startMs), ...result };
    };
    try {
      requireLiteralPermitted(this.#url, this.#options);
      const { status, retryAfter } = await this.#exchange(signed, body);
      if (status === undefined) {
        return ended({ outcome: 'timeout', error: `no answer in ${this.#options.timeLimitMs / 1000} s` });
      }
      return ended({ status, ...describeStatus(status), retryAfterMs: retryAfterMs(retryAfter, new Date()) });
    } catch (error) {
      return ended(describeError(error));
    }
  }

  /** Closes the connections; attempts in flight fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #exchange(signed: SignedHeaders, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const reader = new AnswerReader(this.#options.timeLimitMs, resolve, reject);
      const headers = { 'content-type': 'application/json', 'user-agent': 'Odograph-Webhooks', ...signed };
      const path = this.#url.pathname + this.#url.search;
      this.#pool.dispatch({ method: 'POST', path, headers, body }, reader);
    });
  }
}

interface Answer {
  /** Undefined when none came in time. */
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
}

/** Reads the status of an answer, and drops its body, of which no more than 64 KiB are read. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: Answer = { status: undefined, retryAfter: undefined };
  #bytes = 0;
  #isOver = false;

  constructor(timeLimitMs: number, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#abandon(), timeLimitMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('too late'));
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    // An interim answer, such as 103.
    if (status < 200) return;
    const { 'retry-after': retryAfter } = headers;
    this.#answer = { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > mostAnswerBytes) this.#abandon();
  }

  onResponseEnd(): void {
    this.#end(() => this.#resolve(this.#answer));
  }

  onResponseError(_controller: unknown, error: Error): void {
    const isAnswered = this.#answer.status !== undefined;
    this.#end(() => (isAnswered ? this.#resolve(this.#answer) : this.#reject(error)));
  }

  /** Ends with what is known, and closes the connection, which holds the rest of the answer. */
  #abandon(): void {
    this.#end(() => this.#resolve(this.#answer));
    this.#controller?.abort(new Error('answer abandoned'));
  }

  #end(report: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    report();
  }
}

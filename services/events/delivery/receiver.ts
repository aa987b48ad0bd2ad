import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock } from '@odograph/http/http';
import type { Mailer } from '@odograph/mail/mailer';
import { type Sealer, webhookSecretContext } from '@odograph/runtime/sealing';
import { type Dispatcher, Pool } from 'undici';
import { type AddressRules, ForbiddenAddress, permittedLookup, requireLiteralPermitted } from './addresses.ts';
import type { Attempt, AttemptOutcome, OpenedReceiver, PostEvent } from './context.ts';
import { maxInFlight } from './health.ts';
import type { DeliveredWebhook } from './queries.ts';

export interface ReceiverOptions extends AddressRules {
  readonly connections: number;
  /** For the whole attempt: connection, request and answer. */
  readonly timeLimitMs: number;
}

const connectMs = 10_000;
const maxAnswerBytes = 64 * 1024;

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

  /** Posts a body. Never throws: every failure is an attempt with an error. */
  async post(headers: Readonly<Record<string, string>>, body: string | Buffer): Promise<Attempt> {
    const startMs = performance.now();
    const result = (outcome: Pick<Attempt, 'outcome' | 'error'> & Partial<Attempt>): Attempt => {
      return { status: undefined, retryAfterMs: 0, durationMs: Math.round(performance.now() - startMs), ...outcome };
    };
    try {
      requireLiteralPermitted(this.#url, this.#options);
      const { status, retryAfter } = await this.#exchange(headers, body);
      if (status === undefined) {
        return result({ outcome: 'timeout', error: `no answer in ${this.#options.timeLimitMs / 1000} s` });
      }
      return result({ status, ...describeStatus(status), retryAfterMs: parseRetryAfter(retryAfter, new Date()) });
    } catch (error) {
      return result(describeError(error));
    }
  }

  /** Closes the connections; attempts in flight fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #exchange(given: Readonly<Record<string, string>>, body: string | Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const reader = new AnswerReader(this.#options.timeLimitMs, resolve, reject);
      const headers = { 'content-type': 'application/json', 'user-agent': 'Odograph-Webhooks', ...given };
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
  #isSettled = false;

  constructor(timeLimitMs: number, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#abandon(), timeLimitMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) controller.abort(new Error('too late'));
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    // An interim answer, such as 103.
    if (status < 200) return;
    const { 'retry-after': retryAfter } = headers;
    this.#answer = { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined };
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxAnswerBytes) this.#abandon();
  }

  onResponseEnd(): void {
    this.#settle(() => this.#resolve(this.#answer));
  }

  onResponseError(_controller: unknown, error: Error): void {
    const isAnswered = this.#answer.status !== undefined;
    this.#settle(() => (isAnswered ? this.#resolve(this.#answer) : this.#reject(error)));
  }

  /** Resolves with what is known, and closes the connection, which holds the rest of the answer. */
  #abandon(): void {
    this.#settle(() => this.#resolve(this.#answer));
    this.#controller?.abort(new Error('answer abandoned'));
  }

  #settle(report: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    report();
  }
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
 * @returns milliseconds; 0 for other text and for a date in the past
 */
export function parseRetryAfter(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime());
}

const prefix = 'whsec_';
const secretBytes = 32;

/** Creates a secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function createWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

/** A secret as the key of its HMAC. */
function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(prefix.length), 'base64'));
}

/** Identify and authenticate a delivery. */
export type SignedHeaders = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>;

/**
 * Signs a delivery with HMAC-SHA-256 under each key (Standard Webhooks, "Webhook headers").
 * @param keys while a secret is rotated, both
 */
export function signHeaders(keys: readonly KeyObject[], id: string, now: Date, body: string): SignedHeaders {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signatures = keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Shared by all receivers. */
export interface PostOptions {
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly addresses: AddressRules;
  /** For a whole attempt. */
  readonly timeLimitMs: number;
  /** Undefined if SMTP_URL is not set. */
  readonly mailer: Mailer | undefined;
  /** PUBLIC_URL. */
  readonly publicUrl: string | undefined;
}

/** Opens the connections to the receiver of a webhook. @throws Failure INTERNAL_ERROR for a secret that no key opens */
export function openReceiver(
  webhook: DeliveredWebhook & { readonly url: string },
  { sealer, clock, addresses, timeLimitMs }: PostOptions,
): OpenedReceiver {
  const { id, url, sealedSecret, sealedPreviousSecret, previousSecretUntil } = webhook;
  const open = (sealed: Buffer) => signingKey(sealer.open(sealed, webhookSecretContext(id)).toString());
  const current = open(sealedSecret);
  const previous = sealedPreviousSecret && sealer.canOpen(sealedPreviousSecret) ? [open(sealedPreviousSecret)] : [];
  const receiver = new Receiver(url, { ...addresses, connections: maxInFlight, timeLimitMs });
  const post: PostEvent = (event) => {
    const now = clock();
    const isRotating = previousSecretUntil !== undefined && now < previousSecretUntil;
    const keys = isRotating ? [current, ...previous] : [current];
    return receiver.post(signHeaders(keys, event.id, now, event.json), event.json);
  };
  return { post, close: () => receiver.close() };
}

import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '@odograph/runtime/clock';
import type { RangeResponse, Source } from 'pmtiles';

const requestTimeoutMs = 60_000;
const maxAttempts = 5;
const backOff = { minMs: 1000, maxMs: 10_000 };

/** A failure that a later attempt may not have. */
class PassingFailure extends Error {}

function causeOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? cause.message : String(error instanceof Error ? error.message : error);
}

/** A file on a web server, read by ranges of bytes (RFC 9110, section 14). */
export class RangeSource implements Source {
  readonly url: string;
  /** Identifies the version of the file; undefined before the first answer, and of a server without entity tags. */
  etag: string | undefined;

  constructor(url: string) {
    this.url = url;
  }

  getKey(): string {
    return this.url;
  }

  async getBytes(offset: number, length: number): Promise<RangeResponse> {
    const { buffer } = await this.read(offset, length);
    return this.etag === undefined ? { data: buffer } : { data: buffer, etag: this.etag };
  }

  /**
   * Reads bytes, fewer where the file ends; failures of the network and of a busy server are retried four times.
   * @throws Error when the server does not answer, has no ranges, or replaced the file since the first answer
   */
  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#request(offset, length);
      } catch (error) {
        if (!(error instanceof PassingFailure) || attempt === maxAttempts) throw error;
        await delay(backOffMs(attempt, backOff));
      }
    }
  }

  async #request(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const init = {
      headers: { range: `bytes=${offset}-${offset + length - 1}` },
      signal: AbortSignal.timeout(requestTimeoutMs),
    };
    const response = await fetch(this.url, init).catch((error: unknown) => {
      throw new PassingFailure(`no answer from ${this.url}: ${causeOf(error)}`);
    });
    if (response.status !== 206) {
      await response.body?.cancel();
      throw this.#failureOf(response.status);
    }
    const etag = response.headers.get('etag') ?? undefined;
    this.etag ??= etag;
    if (etag !== this.etag) throw new Error(`${this.url} was replaced meanwhile; run the command again`);
    const bytes = await response.arrayBuffer().catch((error: unknown) => {
      throw new PassingFailure(`the answer of ${this.url} ended early: ${causeOf(error)}`);
    });
    return new Uint8Array(bytes);
  }

  #failureOf(status: number): Error {
    if (status === 200) return new Error(`${this.url} ignores ranges of bytes; name a server that answers them`);
    const message = `${this.url} answers with status ${status}`;
    return status === 429 || status >= 500 ? new PassingFailure(message) : new Error(message);
  }
}

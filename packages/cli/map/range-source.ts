import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '@odograph/runtime/clock';
import type { RangeResponse, Source } from 'pmtiles';

const requestTimeoutMs = 60_000;
const maxAttempts = 5;
const backOff = { minMs: 1000, maxMs: 10_000 };

/** A failure that is worth a retry. */
class TransientFailure extends Error {}

function causeOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? cause.message : String(error instanceof Error ? error.message : error);
}

/** A file on a web server, read with range requests (RFC 9110, section 14). */
export class RangeSource implements Source {
  readonly url: string;
  /** Entity tag of the file; undefined before the first answer, and if the server sends none. */
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
   * Reads bytes, fewer at the end of the file. Retries network failures and answers of an overloaded server four times.
   * @throws Error when the server does not answer or ignores ranges, or the file changed since the first answer
   */
  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#request(offset, length);
      } catch (error) {
        if (!(error instanceof TransientFailure) || attempt === maxAttempts) throw error;
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
      throw new TransientFailure(`no answer from ${this.url}: ${causeOf(error)}`);
    });
    if (response.status !== 206) {
      await response.body?.cancel();
      throw this.#failureOf(response.status);
    }
    const etag = response.headers.get('etag') ?? undefined;
    this.etag ??= etag;
    if (etag !== this.etag) throw new Error(`${this.url} changed during the download; run the command again`);
    const bytes = await response.arrayBuffer().catch((error: unknown) => {
      throw new TransientFailure(`the answer of ${this.url} ended early: ${causeOf(error)}`);
    });
    return new Uint8Array(bytes);
  }

  #failureOf(status: number): Error {
    if (status === 200)
      return new Error(`${this.url} ignores range requests; give an archive on another server with --from`);
    const message = `${this.url} answers with status ${status}`;
    return status === 429 || status >= 500 ? new TransientFailure(message) : new Error(message);
  }
}

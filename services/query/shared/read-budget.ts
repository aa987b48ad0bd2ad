import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { credentialOf } from '@odograph/http/authentication';

/** The credential and the application whose shares of the budget a request uses. */
export interface BudgetUser {
  readonly token: string;
  /** Undefined for an operator who reads several applications. */
  readonly caller: { readonly applicationId: number | undefined };
}

/** The access token and the application whose shares a request uses. */
export interface Reader extends BudgetUser {
  readonly caller: Caller;
}

/** Identifies the reader of a request. */
export function readerOf(request: { caller: Caller; headers: NodeJS.Dict<string | string[]> }): Reader {
  return { caller: request.caller, token: String(request.headers['x-service-token']) };
}

/** Identifies the reader of a request of a viewer route. */
export function viewingReaderOf(request: Parameters<typeof credentialOf>[0]): BudgetUser {
  const { applicationIds = [] } = request.viewer;
  const applicationId = applicationIds.length === 1 ? applicationIds[0] : undefined;
  return { token: credentialOf(request) ?? '', caller: { applicationId } };
}

/** Bytes reserved for the answer of one request. */
export interface Reservation {
  /** Releases all but `bytes`. */
  shrinkTo(bytes: number): void;
  /** Releases the rest; idempotent. */
  release(): void;
}

interface Waiting {
  readonly reader: BudgetUser;
  readonly bytes: number;
  grant(): void;
}

/** Maximum shares of the budget for the requests of one token and of one application. */
const tokenShare = 1 / 4;
const applicationShare = 1 / 2;

/**
 * Bounds the bytes of answers in memory that clients have not read yet: in total, per token and per application. A request
 * whose share is exhausted waits; others overtake it.
 */
export class ReadBudget {
  readonly totalBytes: number;
  readonly #waitMs: number;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #heldBytes = 0;

  /** @param waitMs how long a request waits for others to read their answers before it fails */
  constructor(totalBytes: number, waitMs: number) {
    this.totalBytes = totalBytes;
    this.#waitMs = waitMs;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The largest possible reservation. */
  get maxReservation(): number {
    return Math.floor(this.totalBytes * tokenShare);
  }

  /**
   * Reserves bytes, at most maxReservation, for an answer that is about to be read from the database.
   * @throws Failure OVERLOADED when they do not become free in time
   */
  async reserve(reader: BudgetUser, bytes: number): Promise<Reservation> {
    if (!this.#fits(reader, bytes)) await this.#waitFor(reader, bytes);
    else this.#add(reader, bytes);
    let own = bytes;
    const shrinkTo = (left: number) => {
      if (left >= own) return;
      this.#add(reader, left - own);
      own = left;
      this.#grantWaiting();
    };
    return { shrinkTo, release: () => shrinkTo(0) };
  }

  #waitFor(reader: BudgetUser, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = () => {
        this.#waiting.delete(waiting);
        reject(new Failure('OVERLOADED', 'earlier answers have not been read yet', { retryAfterSeconds: 5 }));
      };
      const timeout = setTimeout(fail, this.#waitMs);
      const grant = () => {
        clearTimeout(timeout);
        resolve();
      };
      const waiting: Waiting = { reader, bytes, grant };
      this.#waiting.add(waiting);
    });
  }

  #grantWaiting(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.reader, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      this.#add(waiting.reader, waiting.bytes);
      waiting.grant();
    }
  }

  #fits(reader: BudgetUser, bytes: number): boolean {
    const [token, application] = keysOf(reader).map((key) => (this.#held.get(key) ?? 0) + bytes);
    return (
      this.#heldBytes + bytes <= this.totalBytes &&
      (token ?? 0) <= this.totalBytes * tokenShare &&
      (application ?? 0) <= this.totalBytes * applicationShare
    );
  }

  #add(reader: BudgetUser, bytes: number): void {
    this.#heldBytes += bytes;
    for (const key of keysOf(reader)) {
      const held = (this.#held.get(key) ?? 0) + bytes;
      if (held > 0) this.#held.set(key, held);
      else this.#held.delete(key);
    }
  }
}

function keysOf({ caller, token }: BudgetUser): [string, string] {
  return [`token ${token}`, `application ${caller.applicationId}`];
}

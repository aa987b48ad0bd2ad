/** A request with an idempotency key. */
export interface KeyedRequest {
  /** The application, user or operator that makes it. */
  readonly principal: string;
  readonly key: string;
  /** Its path and parameters. */
  readonly content: string;
}

/** The first request with a key, and its answer once there is one. */
export interface FirstRequest {
  readonly isSame: boolean;
  readonly answer?: string;
}

/** The answers of requests with an idempotency key. */
export interface KeptAnswers {
  /** Claims a key of a principal. @returns the first request with it; undefined when it is this one */
  claim(request: KeyedRequest): Promise<FirstRequest | undefined>;
  keep(request: KeyedRequest, answer: string): Promise<void>;
  /** Releases the claimed key of a failed request. */
  release(request: KeyedRequest): Promise<void>;
}

import type { components } from './interface.d.ts';

/** The answer of a refused call; `error` is its code. Each operation narrows the codes to those that it can answer. */
export type Failure = components['schemas']['Failure'];

/** The codes of the interface; UNREACHABLE without an answer, UNEXPECTED for an answer that is not the platform's. */
export type FailureCode = Failure['error'] | 'UNREACHABLE' | 'UNEXPECTED';

/** The outcome of a call: `data`, or the `error` of a refusal. */
export interface Outcome<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/** A call that was refused or got no answer. */
export class OdographFailure extends Error {
  readonly code: FailureCode;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** The parameter at fault. */
  readonly field: string | undefined;
  /** Which of several causes it was, such as NO_DEVICE. */
  readonly reason: string | undefined;
  /** With the reason EXPIRED: the oldest cursor or time that is kept; a client can continue from it. */
  readonly oldest: string | undefined;

  constructor(
    { error, message, field, reason, oldest }: Omit<Failure, 'error'> & { error: FailureCode },
    status?: number,
  ) {
    super(message);
    this.name = 'OdographFailure';
    this.code = error;
    this.status = status;
    this.field = field;
    this.reason = reason;
    this.oldest = oldest;
  }
}

/** Describes a lost connection, or a connection that could not be opened. */
export function unreachable(cause: unknown): OdographFailure {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return Object.assign(new OdographFailure({ error: 'UNREACHABLE', message: `no answer: ${detail}` }), { cause });
}

function isFailure(body: unknown): body is Failure {
  const { error, message } = Object(body) as Readonly<Record<string, unknown>>;
  return typeof error === 'string' && typeof message === 'string';
}

/** Describes an answer that is not successful. @param body its JSON, or the text of a proxy */
export function failureOf({ status, statusText }: Response, body: unknown): OdographFailure {
  return new OdographFailure(
    isFailure(body) ? body : { error: 'UNEXPECTED', message: `${status} ${statusText}` },
    status,
  );
}

/** Waits for the data of a call. @throws OdographFailure when it is refused or gets no answer; the reason of an abort */
export async function answerOf<Data>(call: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    // fetch reports a lost connection as a TypeError.
    throw cause instanceof TypeError ? unreachable(cause) : cause;
  });
  if (!response.ok) throw failureOf(response, error);
  return data as Data;
}

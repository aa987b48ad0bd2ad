import type { FlespiCommand } from '@odograph/contracts/device-models';

/** What came of a command that was sent to flespi. */
export type FlespiOutcome =
  | { readonly kind: 'answered'; readonly answer: string }
  /** The device was not told, or flespi says that it refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The device may have acted. */
  | { readonly kind: 'unknown'; readonly reason: string };

export interface FlespiRequest {
  /** Of flespi, without a path. */
  readonly url: string;
  readonly token: string;
  /** `configuration.ident` of the device at flespi. */
  readonly ident: string;
  readonly command: FlespiCommand['flespi'];
  /** How long flespi waits for the device, in seconds. */
  readonly timeoutSeconds: number;
  /** How long flespi's answer is awaited. */
  readonly waitMs: number;
}

const maximumAnswerBytes = 64 * 1024;
/** Errors of a connection that was never made: nothing was sent. */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|SIGNATURE/;
/** Reasons of flespi that leave open whether the device acted; "with timeout pending" names a command that was never delivered. */
const leavesOpen = /timed out|timeout(?! pending)|no (response|answer|reply)|not (respond|answer|repl)/i;

/**
 * Sends a command in real time to a device that is connected to flespi, and waits for the device's answer (flespi's REST API,
 * `POST /gw/devices/{selector}/commands`; https://flespi.com/kb/send-device-commands-api). Real-time commands are not queued: a
 * device that is not connected is not told later. Never throws.
 */
export async function sendToFlespi(request: FlespiRequest): Promise<FlespiOutcome> {
  const { url, token, ident, command, timeoutSeconds, waitMs } = request;
  const selector = `configuration.ident=${encodeURIComponent(ident)}`;
  try {
    const response = await fetch(`${url}/gw/devices/${selector}/commands`, {
      method: 'POST',
      headers: { authorization: `FlespiToken ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify([{ ...command, timeout: timeoutSeconds }]),
      // The token is for this address only.
      redirect: 'manual',
      signal: AbortSignal.timeout(waitMs),
    });
    return readOutcome(response.status, await readText(response));
  } catch (error) {
    const reason = describeFailure(error);
    return notConnected.test(reason)
      ? { kind: 'refused', reason: `flespi cannot be reached (${reason}); nothing was sent` }
      : { kind: 'unknown', reason };
  }
}

/** Returns the code of a failed request, which holds no secret. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { cause } = error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.name;
}

/** Reads a body up to its limit. @throws Error for a longer one */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maximumAnswerBytes) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

interface FlespiAnswer {
  readonly result?: unknown;
  readonly errors?: unknown;
}

function parseAnswer(text: string): FlespiAnswer {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Reads what flespi answered. */
function readOutcome(status: number, text: string): FlespiOutcome {
  const { result, errors } = parseAnswer(text);
  const named = readReason(errors);
  const reason = named ?? `flespi answered with HTTP ${status}`;
  if (status >= 500 || status === 408) return { kind: 'unknown', reason };
  if (status >= 300 || named !== undefined) return { kind: leavesOpen.test(reason) ? 'unknown' : 'refused', reason };
  return readResult(result);
}

function readResult(result: unknown): FlespiOutcome {
  if (Array.isArray(result) && result.length === 0) {
    return { kind: 'refused', reason: 'flespi has no device of this ident' };
  }
  const first: unknown = Array.isArray(result) ? result[0] : undefined;
  if (typeof first !== 'object' || first === null) {
    return { kind: 'unknown', reason: 'flespi answered without a result' };
  }
  if ('executed' in first && first.executed !== true) {
    return { kind: 'unknown', reason: 'flespi says that the command is not executed' };
  }
  const answer = 'response' in first ? first.response : first;
  return { kind: 'answered', answer: typeof answer === 'string' ? answer : JSON.stringify(answer) };
}

/** Returns the reason of the first of flespi's errors, `{ "errors": [{ "code": 2, "reason": "…" }] }`. */
function readReason(errors: unknown): string | undefined {
  if (!Array.isArray(errors) || errors.length === 0) return undefined;
  const reason: unknown = Object(errors[0]).reason;
  return typeof reason === 'string' && reason !== '' ? reason : 'flespi names no reason';
}

import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandAcknowledgement, CommandMessage } from '@odograph/contracts/commands';
import type { FlespiCommand } from '@odograph/contracts/device-models';
import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';
import { readText } from '@odograph/runtime/read-text';
import { type Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { type DeviceBehindSource, judgeAnswer, reasonOf } from './queries.ts';

export interface FlespiCommandsOptions {
  /** Of flespi. */
  readonly url: string;
  readonly sealer: Sealer;
  /** Finds a device behind a source. @throws while the database cannot answer */
  findDevice(deviceId: string): Promise<DeviceBehindSource | undefined>;
  /** Claims a command for this gateway; false when another has it. @throws while Redis is unavailable */
  claim(commandId: string): Promise<boolean>;
  acknowledge(deviceId: string, acknowledgement: CommandAcknowledgement): void;
  readonly outcomes: Counter<'outcome'>;
  readonly logger: Logger;
}

/** Maximum time that flespi waits for a device in real time (https://flespi.com/kb/commands-and-settings). */
const maxWaitSeconds = 15;
/** Time to wait for flespi's answer after `expiresAt`; a late answer corrects the outcome `unknown`. */
const lateAnswerMs = 10_000;
/** Characters of an answer in the log. */
const loggedCharacters = 200;

/**
 * Sends commands to devices behind flespi, and turns the answers into acknowledgements. Every gateway receives
 * them, so one claims each first. flespi drops a command that the device has not answered within the remaining time.
 */
export class FlespiCommands {
  readonly #options: FlespiCommandsOptions;
  readonly #inFlight = new Set<Promise<void>>();

  constructor(options: FlespiCommandsOptions) {
    this.#options = options;
  }

  /** Sends a command, unless it has expired. Does nothing for a device that is not behind a source. */
  receive(deviceId: string, message: CommandMessage): void {
    const work = this.#handle(deviceId, message).finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  /** Waits for pending answers of flespi, up to a timeout. */
  async drain(timeoutMs: number): Promise<void> {
    const timer = new AbortController();
    const timeout = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.#inFlight), timeout]);
    timer.abort();
  }

  async #handle(deviceId: string, message: CommandMessage): Promise<void> {
    const { findDevice, claim, logger } = this.#options;
    try {
      const device = await findDevice(deviceId);
      if (!device || !(await claim(message.id))) return;
      const command = device.commands[message.action];
      if (!command || !('flespi' in command)) {
        this.#refuse(deviceId, message, 'the device model has no command for this action');
      } else if (!device.source) this.#refuse(deviceId, message, 'no source of the device has a token for commands');
      else await this.#send({ deviceId, ident: device.ident }, message, command, device.source);
    } catch (error) {
      // Nothing was sent; another gateway may have the command, so its outcome is left open.
      logger.warn({ err: error, deviceId, commandId: message.id }, 'command for flespi not read');
    }
  }

  async #send(
    { deviceId, ident }: { deviceId: string; ident: string },
    message: CommandMessage,
    command: FlespiCommand,
    source: NonNullable<DeviceBehindSource['source']>,
  ): Promise<void> {
    const { url, sealer } = this.#options;
    const token = sealer.open(source.sealedToken, sourceTokenContext(source.id)).toString();
    const expiresAtMs = message.expiresAt * 1000;
    const outcome = await sendToFlespi({
      ...{ url, token, ident, command: command.flespi, expiresAtMs },
      waitMs: Math.max(0, expiresAtMs - Date.now()) + lateAnswerMs,
    });
    if (outcome.kind === 'refused') this.#refuse(deviceId, message, outcome.reason);
    else if (outcome.kind === 'unknown') this.#leaveOpen('unanswered', deviceId, message, outcome.reason);
    else this.#judge(deviceId, message, command, outcome.answer);
  }

  #judge(deviceId: string, message: CommandMessage, command: FlespiCommand, answer: string): void {
    const { acknowledge, outcomes } = this.#options;
    const verdict = judgeAnswer(command, answer, false);
    if (verdict === undefined) {
      this.#leaveOpen('unknown_answer', deviceId, message, 'the model does not define the answer');
      acknowledge(deviceId, { id: message.id, ok: false, reason: reasonOf(answer), outcome: 'unknown' });
    } else {
      const isDone = verdict === 'success';
      outcomes.inc({ outcome: isDone ? 'acknowledged' : 'refused' });
      const refusal = { id: message.id, ok: false, reason: reasonOf(answer) };
      acknowledge(deviceId, isDone ? { id: message.id, ok: true } : refusal);
    }
  }

  /** Leaves the outcome of a command to its `expiresAt`, after which it is unknown. */
  #leaveOpen(outcome: 'unanswered' | 'unknown_answer', deviceId: string, { id }: CommandMessage, reason: string): void {
    this.#options.outcomes.inc({ outcome });
    const fields = { deviceId, commandId: id, reason: reason.slice(0, loggedCharacters) };
    this.#options.logger.warn(fields, 'outcome of a command for flespi unknown');
  }

  /** Refuses a command that was not and will not be executed. */
  #refuse(deviceId: string, { id }: CommandMessage, reason: string): void {
    const { acknowledge, outcomes, logger } = this.#options;
    outcomes.inc({ outcome: 'not_sent' });
    logger.warn({ deviceId, commandId: id, reason: reason.slice(0, loggedCharacters) }, 'command for flespi refused');
    acknowledge(deviceId, { id, ok: false, reason: reasonOf(reason) });
  }
}

/** The outcome of a command that was sent to flespi. */
type FlespiOutcome =
  | { readonly kind: 'answered'; readonly answer: string }
  /** The device was not told, or flespi says that it refused. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The device may have acted. */
  | { readonly kind: 'unknown'; readonly reason: string };

interface FlespiRequest {
  /** Of flespi, without a path. */
  readonly url: string;
  readonly token: string;
  /** `configuration.ident` of the device at flespi. */
  readonly ident: string;
  readonly command: FlespiCommand['flespi'];
  /** Wall-clock time after which the device must not get the command. */
  readonly expiresAtMs: number;
  /** Time to wait for flespi's answer. */
  readonly waitMs: number;
}

const maximumAnswerBytes = 64 * 1024;
/** Reasons of flespi that leave open whether the device acted; "with timeout pending" names a command that was never delivered. */
const leavesOpen = /timed out|timeout(?! pending)|no (response|answer|reply)|not (respond|answer|repl)/i;

const tooLate: FlespiOutcome = { kind: 'refused', reason: 'less than a second is left to send the command' };

/**
 * Sends a command in real time to a device that is connected to flespi and waits for the answer of the device (flespi's
 * REST API, `POST /gw/devices/{selector}/commands`; https://flespi.com/kb/send-device-commands-api). Real-time commands
 * are not queued: flespi does not deliver them later to a disconnected device. Never throws.
 */
export async function sendToFlespi(request: FlespiRequest): Promise<FlespiOutcome> {
  const { url, token, ident, command, expiresAtMs, waitMs } = request;
  const secondsLeft = () => Math.min(maxWaitSeconds, Math.floor((expiresAtMs - Date.now()) / 1000));
  if (secondsLeft() < 1) return tooLate;
  const target = new URL(`/gw/devices/configuration.ident=${encodeURIComponent(ident)}/commands`, url);
  const post = (target.protocol === 'https:' ? requestHttps : requestHttp)(target, {
    method: 'POST',
    headers: { authorization: `FlespiToken ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(waitMs),
  });
  // `once` listens only until the response begins, but the request also emits the errors of its connection afterwards.
  post.on('error', () => undefined);
  const answered = once(post, 'response') as Promise<[IncomingMessage]>;
  let isSent = false;
  try {
    await Promise.race([connection(post, AbortSignal.timeout(expiresAtMs - Date.now())), answered]);
    // Connecting may take seconds; deduct them from the time that flespi waits for the device.
    const timeout = secondsLeft();
    if (timeout < 1) return tooLate;
    isSent = true;
    post.end(JSON.stringify([{ ...command, timeout }]));
    const [response] = await answered;
    const text = await readText({ body: response }, maximumAnswerBytes);
    return text === undefined
      ? { kind: 'unknown', reason: 'the answer is too long' }
      : readOutcome(response.statusCode ?? 0, text);
  } catch (error) {
    const reason = describeFailure(error);
    return isSent
      ? { kind: 'unknown', reason }
      : { kind: 'refused', reason: `flespi cannot be reached (${reason}); nothing was sent` };
  } finally {
    if (!isSent) post.destroy();
  }
}

/** Waits until a request is connected. @throws if connecting fails or the signal aborts */
async function connection(post: ClientRequest, signal: AbortSignal): Promise<void> {
  const [socket] = await once(post, 'socket', { signal });
  if (socket.connecting) await once(socket, post.protocol === 'https:' ? 'secureConnect' : 'connect', { signal });
}

/** Returns the code of a failed request, which holds no secret. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  if (error.name === 'AbortError') return 'no answer in time';
  return 'code' in error ? String(error.code) : error.name;
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

/** Parses the answer of flespi. */
function readOutcome(status: number, text: string): FlespiOutcome {
  const { result, errors } = parseAnswer(text);
  const named = readReason(errors);
  const reason = named ?? `flespi answered with HTTP ${status}`;
  if (status >= 500 || status === 408) return { kind: 'unknown', reason };
  // If there is also a result, one of several devices with the ident may have acted.
  const isOpen = leavesOpen.test(reason) || (Array.isArray(result) && result.length > 0);
  if (status >= 300 || named !== undefined) return { kind: isOpen ? 'unknown' : 'refused', reason };
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

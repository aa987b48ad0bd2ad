import { setTimeout as delay } from 'node:timers/promises';
import type { CommandAcknowledgement, CommandMessage } from '@odograph/contracts/commands';
import type { FlespiCommand } from '@odograph/contracts/device-models';
import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';
import { type Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { sendToFlespi } from './flespi-api.ts';
import type { DeviceBehindSource } from './queries.ts';
import { judgeAnswer, reasonOf } from './rules.ts';

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

/** flespi waits no longer for a device in real time (https://flespi.com/kb/commands-and-settings). */
const longestWaitSeconds = 15;
/** How long after `expiresAt` flespi's answer is awaited: it corrects the outcome `unknown`. */
const lateAnswerMs = 10_000;
/** Characters of an answer in the log. */
const loggedCharacters = 200;

/**
 * Sends commands to devices behind flespi, and turns the answers into acknowledgements. Every gateway receives every command, so
 * one claims it first. flespi drops a command that the device has not answered within the remaining time.
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

  /** Waits for the answers of flespi, at most for a time. */
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
    const remainingMs = message.expiresAt * 1000 - Date.now();
    const timeoutSeconds = Math.min(longestWaitSeconds, Math.floor(remainingMs / 1000));
    if (timeoutSeconds < 1) {
      this.#refuse(deviceId, message, 'less than a second is left to send the command');
      return;
    }
    const outcome = await sendToFlespi({
      ...{ url, token, ident, command: command.flespi, timeoutSeconds },
      waitMs: remainingMs + lateAnswerMs,
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

  /** Refuses a command that was not executed and will not be. */
  #refuse(deviceId: string, { id }: CommandMessage, reason: string): void {
    const { acknowledge, outcomes, logger } = this.#options;
    outcomes.inc({ outcome: 'not_sent' });
    logger.warn({ deviceId, commandId: id, reason: reason.slice(0, loggedCharacters) }, 'command for flespi refused');
    acknowledge(deviceId, { id, ok: false, reason: reasonOf(reason) });
  }
}

import { encodeCommand } from '@odograph/codec/teltonika/commands';
import type { CommandAcknowledgement, CommandMessage } from '@odograph/contracts/commands';
import type { DeviceCommands, TextCommand } from '@odograph/contracts/device-models';
import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';
import type { GatewaySession } from '../shared/devices.ts';
import { judgeAnswer, reasonOf } from './queries.ts';

/** The members of a device connection that commands use. */
export type CommandedSession = Pick<GatewaySession, 'deviceId' | 'send' | 'onAnswer' | 'onClose' | 'reset'>;

export interface TeltonikaCommandsOptions {
  findSession(deviceId: string): CommandedSession | undefined;
  /** Finds the command texts of a device by action. @throws while the database is unavailable */
  findCommands(deviceId: string): Promise<DeviceCommands>;
  acknowledge(deviceId: string, acknowledgement: CommandAcknowledgement): void;
  readonly outcomes: Counter<'outcome'>;
  readonly logger: Logger;
}

/** A command that was written to a device. */
interface SentCommand {
  readonly id: string;
  readonly command: TextCommand;
  readonly timer: NodeJS.Timeout;
}

/** The commands of one connection, which are sent one at a time. */
interface Desk {
  readonly waiting: CommandMessage[];
  sent: SentCommand | undefined;
  /** Looks up the command text. */
  isPreparing: boolean;
}

const maxWaiting = 8;
const connectionEnded = 'the connection ended before the command could be sent';

/**
 * Sends commands to Teltonika devices in Codec 12 and turns their answers into acknowledgements. An answer does not
 * identify its command, and a device does not know `expiresAt`. Therefore one command is in flight at a time, and a
 * connection without a timely answer is reset. The reset discards undelivered data, so that no late answer can be
 * attributed to another command.
 */
export class TeltonikaCommands {
  readonly #options: TeltonikaCommandsOptions;
  readonly #desks = new WeakMap<CommandedSession, Desk>();

  constructor(options: TeltonikaCommandsOptions) {
    this.#options = options;
  }

  /** Sends a command in its turn unless it has expired; refuses it if the session of the device has ended. */
  receive(deviceId: string, message: CommandMessage): void {
    const session = this.#options.findSession(deviceId);
    if (!session) {
      this.#refuse({ deviceId }, message, connectionEnded);
      return;
    }
    const desk = this.#deskOf(session);
    if (desk.waiting.length >= maxWaiting) {
      this.#refuse(session, message, 'too many commands wait for the device');
      return;
    }
    desk.waiting.push(message);
    void this.#sendNext(session, desk);
  }

  #deskOf(session: CommandedSession): Desk {
    const known = this.#desks.get(session);
    if (known) return known;
    const desk: Desk = { waiting: [], sent: undefined, isPreparing: false };
    this.#desks.set(session, desk);
    session.onAnswer((text, isRefused) => this.#answer(session, desk, text, isRefused));
    session.onClose(() => {
      clearTimeout(desk.sent?.timer);
      desk.sent = undefined;
      for (const message of desk.waiting.splice(0)) this.#refuse(session, message, connectionEnded);
    });
    return desk;
  }

  async #sendNext(session: CommandedSession, desk: Desk): Promise<void> {
    if (desk.sent || desk.isPreparing) return;
    const message = desk.waiting.shift();
    if (!message) return;
    desk.isPreparing = true;
    const command = await this.#findCommand(session, message);
    desk.isPreparing = false;
    if (command) this.#send(session, desk, message, command);
    await this.#sendNext(session, desk);
  }

  /** Finds the command text; without one, refuses the command because it will not be sent. */
  async #findCommand(session: CommandedSession, message: CommandMessage): Promise<TextCommand | undefined> {
    const { findCommands, logger } = this.#options;
    const { deviceId } = session;
    try {
      const command = (await findCommands(deviceId))[message.action];
      if (command && 'text' in command) return command;
      this.#refuse(session, message, 'the device model has no command for this action');
      return undefined;
    } catch (error) {
      logger.warn({ err: error, deviceId }, 'device model not read');
      this.#refuse(session, message, 'the platform could not read the device model; nothing was sent');
      return undefined;
    }
  }

  #send(session: CommandedSession, desk: Desk, message: CommandMessage, command: TextCommand): void {
    const { id, expiresAt } = message;
    const { outcomes, logger } = this.#options;
    const { deviceId } = session;
    const remainingMs = expiresAt * 1000 - Date.now();
    // Another connection of the device may have replaced this one.
    const isLive = this.#options.findSession(deviceId) === session;
    if (!isLive || remainingMs <= 0) {
      this.#refuse(session, message, isLive ? 'the command expired before it could be sent' : connectionEnded);
      return;
    }
    const timer = setTimeout(() => {
      outcomes.inc({ outcome: 'unanswered' });
      logger.warn({ deviceId, commandId: id }, 'connection closed: command not answered');
      session.reset();
    }, remainingMs);
    desk.sent = { id, command, timer };
    session.send(encodeCommand(command.text));
  }

  /** @returns whether the text answers the command in flight; otherwise it may be serial data */
  #answer(session: CommandedSession, desk: Desk, text: string, isRefused: boolean): boolean {
    const { acknowledge, outcomes, logger } = this.#options;
    const { sent } = desk;
    if (!sent) return false;
    const { deviceId } = session;
    const verdict = judgeAnswer(sent.command, text, isRefused);
    if (verdict === undefined) {
      logger.warn({ deviceId, commandId: sent.id }, 'answer unknown to the device model');
      outcomes.inc({ outcome: 'unknown_answer' });
      acknowledge(deviceId, { id: sent.id, ok: false, reason: reasonOf(text), outcome: 'unknown' });
      return false;
    }
    clearTimeout(sent.timer);
    desk.sent = undefined;
    const isDone = verdict === 'success';
    outcomes.inc({ outcome: isDone ? 'acknowledged' : 'refused' });
    const refusal = { id: sent.id, ok: false, reason: reasonOf(text) };
    acknowledge(deviceId, isDone ? { id: sent.id, ok: true } : refusal);
    void this.#sendNext(session, desk);
    return true;
  }

  /** Refuses a command that was not and will not be sent. */
  #refuse({ deviceId }: Pick<CommandedSession, 'deviceId'>, { id }: CommandMessage, reason: string): void {
    const { acknowledge, outcomes, logger } = this.#options;
    outcomes.inc({ outcome: 'not_sent' });
    logger.warn({ deviceId, commandId: id, reason }, 'command not sent');
    acknowledge(deviceId, { id, ok: false, reason });
  }
}

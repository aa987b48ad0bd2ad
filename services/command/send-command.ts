import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { commandAccount } from '@odograph/contracts/caller';
import type { CommandMessage, DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import { deviceTopic } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import type { VehicleAct } from '@odograph/database/vehicle-access';
import type { KeyListMessage } from '@odograph/keyless/key-list';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { type Deadline, deadlineIn, within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import { deriveSecret } from '@odograph/runtime/secrets';
import { connect, type MqttClient } from 'mqtt';
import type { CommandEvents, Watch } from './command-events.ts';
import {
  type Command,
  endCommand,
  endOverdueCommands,
  findCommand,
  findCommandByKey,
  insertCommand,
  isNext,
  markSent,
} from './commands.ts';
import {
  type CommandRequest,
  findTarget,
  hasEnded,
  type Outcome,
  requireDevice,
  type TargetDevice,
  unreachable,
} from './rules.ts';

/** The parts that the command path uses. */
export interface CommandContext {
  readonly db: Database;
  readonly events: CommandEvents;
  readonly changes: Pick<ChangeAnnouncer, 'announceSoon'>;
  readonly publisher: CommandPublisher;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  /** Tests whether the device has a live session. @throws while Redis is unavailable */
  isPresent(deviceId: string): Promise<boolean>;
}

/** A command and its end; `repeated` when an earlier request with the same idempotency key made it. */
export interface CommandResult {
  readonly commandId: string;
  readonly outcome: Outcome;
  readonly repeated: boolean;
}

/** A command is not sent in the last tenth of its time, in which its outcome could no longer arrive. */
const reservedShare = 0.1;
/** Timeout for reading the presence of a device from Redis, and for the broker to accept a command. */
const stepTimeoutMs = 2000;
/** Announcements can be lost, so a waiting request reads the row this often. */
const pollIntervalMs = 500;

/**
 * Sends a command to the device of a vehicle and waits for its end, all within `ackTimeoutMs`; see "The command path" in
 * docs/architecture.md.
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED; COMMUNICATION_FAILED when it was not sent; IDEMPOTENCY_KEY_REUSED
 */
export async function sendCommand(context: CommandContext, request: CommandRequest): Promise<CommandResult> {
  const deadline = deadlineIn(context.ackTimeoutMs);
  const [target, earlier] = await Promise.all([
    findTarget(context.db, request.caller, request.vehicleId, actFor(request.action)),
    findEarlier(context, request),
  ]);
  const { vehicleId } = target;
  if (earlier) return awaitEarlier(context, request, vehicleId, earlier);
  const device = requireDevice(target, request.action);
  await requireSession(context, device);
  const deviceId = device.id;

  const id = randomUUID();
  const watch = context.events.watch(vehicleId, id);
  try {
    const remainingMs = deadline.remainingMs();
    const command = await insertCommand(context.db, { ...request, id, vehicleId, deviceId, remainingMs });
    if (!command) return await awaitEarlier(context, request, vehicleId, await findEarlier(context, request));
    context.changes.announceSoon({ commandIds: [id] });
    return { commandId: id, outcome: await carryOut(context, request, command, watch, deadline), repeated: false };
  } finally {
    watch.stop();
  }
}

/** Takes an inserted command to its end. A failure on the way ends the command before it is thrown. */
async function carryOut(
  context: CommandContext,
  request: CommandRequest,
  command: Command,
  watch: Watch,
  deadline: Deadline,
): Promise<Outcome> {
  try {
    const sent = command.state === 'sent' ? command : await awaitTurn(context, request, command, watch, deadline);
    await publish(context, sent, deadline);
    return await awaitEnd(context, command.id, watch, deadline);
  } catch (error) {
    const cause = error instanceof Failure ? (error.details.reason ?? error.code) : 'PLATFORM_UNAVAILABLE';
    const outcome = await end(context, command.id, cause);
    // It has ended in another way before, perhaps by an acknowledgement.
    if (outcome.cause !== cause) return outcome;
    throw error;
  }
}

/**
 * Requires a live session of the device. One behind a source has none: the other system refuses a command while it is not connected.
 * @throws Failure COMMUNICATION_FAILED with DEVICE_OFFLINE or PLATFORM_UNAVAILABLE
 */
async function requireSession(context: CommandContext, device: TargetDevice): Promise<void> {
  if (!context.publisher.isConnected) throw unreachable('PLATFORM_UNAVAILABLE');
  if (device.isBehindSource) return;
  let isPresent: boolean;
  try {
    isPresent = await within(stepTimeoutMs, context.isPresent(device.id));
  } catch (error) {
    throw unreachable('PLATFORM_UNAVAILABLE', undefined, { cause: error });
  }
  if (!isPresent) throw unreachable('DEVICE_OFFLINE');
}

/**
 * Waits until a pending command is the next of its vehicle, and marks it as sent.
 * @throws Failure COMMUNICATION_FAILED when its turn does not come in time, or when it may not be sent any more
 */
async function awaitTurn(
  context: CommandContext,
  request: CommandRequest,
  command: Command,
  watch: Watch,
  deadline: Deadline,
): Promise<Command> {
  const reservedMs = context.ackTimeoutMs * reservedShare;
  for (let isNotified = false; !watch.end() && deadline.remainingMs() > reservedMs; ) {
    // The end of a command of a crashed process is not announced.
    if (!isNotified) context.events.announce(await endOverdueCommands(context.db, command.vehicleId));
    if (await isNext(context.db, command.id)) {
      await requireUnchanged(context, request, command.deviceId);
      const sent = await markSent(context.db, command.id);
      if (sent) {
        context.changes.announceSoon({ commandIds: [sent.id] });
        return sent;
      }
    }
    isNotified = await watch.changed(Math.min(Math.max(deadline.remainingMs() - reservedMs, 0), pollIntervalMs));
  }
  throw unreachable('VEHICLE_BUSY');
}

/** A driver who may only lock and unlock must not start the vehicle, nor may their phone (docs/keyless.md, "Token"). */
function actFor(action: DeviceAction): VehicleAct {
  return action === 'START' || action === 'IMMOBILIZE' ? 'drive' : 'use';
}

/** Checks the rules again: while the command waited, the vehicle may have driven off or its link may have changed. */
async function requireUnchanged(context: CommandContext, request: CommandRequest, deviceId: string): Promise<void> {
  const target = await findTarget(context.db, request.caller, request.vehicleId, actFor(request.action));
  const device = requireDevice(target, request.action);
  if (device.id !== deviceId) throw unreachable('NO_DEVICE', 'the device of the vehicle changed');
  await requireSession(context, device);
}

/** @throws Failure COMMUNICATION_FAILED with PLATFORM_UNAVAILABLE */
async function publish(context: CommandContext, command: Command, deadline: Deadline): Promise<void> {
  const { id, deviceId, expiresAt } = command;
  const message = { id, action: command.action as DeviceAction, expiresAt };
  try {
    if (deadline.remainingMs() === 0) throw new Error('deadline passed before publishing');
    await within(stepTimeoutMs, context.publisher.publish(deviceId, message));
  } catch (error) {
    context.logger.warn({ err: error, commandId: id }, 'command not published');
    throw unreachable('PLATFORM_UNAVAILABLE', undefined, { cause: error });
  }
}

/** Waits for the end of a command, and ends it at the deadline. */
async function awaitEnd(context: CommandContext, id: string, watch: Watch, deadline: Deadline): Promise<Outcome> {
  for (;;) {
    const ended = watch.end();
    if (ended) return ended;
    const remainingMs = deadline.remainingMs();
    if (remainingMs === 0) return end(context, id);
    if (await watch.changed(Math.min(remainingMs, pollIntervalMs))) continue;
    const command = await findCommand(context.db, id).catch(() => undefined);
    if (command && hasEnded(command)) return command;
  }
}

/**
 * Ends a command that is still active: sent -> unknown, pending -> expired.
 * @param cause the `reason` of the answer; left out after the deadline
 * @returns its end, which may have come before
 */
async function end({ db, events, logger }: CommandContext, id: string, cause?: string): Promise<Outcome> {
  try {
    const ended = await endCommand(db, id, cause);
    if (ended) events.announce([ended]);
    return ended ?? (await findCommand(db, id)) ?? { state: 'unknown' };
  } catch (error) {
    // The sweep ends the row later; the outcome is not known here.
    logger.error({ err: error, commandId: id }, 'command not ended');
    return { state: 'unknown', ...(cause === undefined ? {} : { cause }) };
  }
}

async function findEarlier(
  { db }: CommandContext,
  { caller, idempotencyKey }: CommandRequest,
): Promise<Command | undefined> {
  return idempotencyKey === undefined ? undefined : findCommandByKey(db, caller, idempotencyKey);
}

/**
 * Waits for the end of a command that an earlier request made, perhaps at another replica.
 * @throws Failure IDEMPOTENCY_KEY_REUSED when the key belongs to another action or vehicle
 */
async function awaitEarlier(
  context: CommandContext,
  request: CommandRequest,
  vehicleId: number,
  earlier: Command | undefined,
): Promise<CommandResult> {
  if (!earlier) throw new Error('a command was neither inserted nor found');
  if (earlier.action !== request.action || earlier.vehicleId !== vehicleId) {
    throw new Failure('IDEMPOTENCY_KEY_REUSED');
  }
  const { id } = earlier;
  const watch = context.events.watch(vehicleId, id);
  try {
    const command = (await findCommand(context.db, id)) ?? earlier;
    const outcome = hasEnded(command) ? command : await awaitEnd(context, id, watch, deadlineIn(command.remainingMs));
    return { commandId: id, outcome, repeated: true };
  } finally {
    watch.stop();
  }
}

/** The platform's own session at the MQTT broker; no other one may publish commands and key lists. */
export class CommandPublisher {
  readonly #client: MqttClient;

  /** @param adminToken setting from whose newest token the account's password is derived */
  constructor(url: string, adminToken: string, logger: Logger) {
    const client = connect(url, {
      manualConnect: true,
      clientId: `${commandAccount}-${randomUUID()}`,
      username: commandAccount,
      password: deriveSecret(adminTokensOf(adminToken)[0], commandAccount),
      protocolVersion: 4,
      keepalive: 15,
      connectTimeout: 5000,
      reconnectPeriod: 500,
      reconnectOnConnackError: true,
      resubscribe: false,
      // A command that cannot go out now must not go out later.
      queueQoSZero: false,
    });
    client.on('error', (error) => logger.warn({ reason: error.message }, 'no connection to the MQTT broker'));
    client.on('connect', () => {
      // Nagle's algorithm would delay a small command until the broker's TCP acknowledges the previous one.
      if (client.stream instanceof Socket) client.stream.setNoDelay(true);
      logger.info('connected to the MQTT broker');
    });
    this.#client = client;
  }

  get isConnected(): boolean {
    return this.#client.connected;
  }

  /** Connects, and from then on always reconnects; resolves with the first connection, or after `timeoutMs`. */
  open(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#client.once('connect', () => {
        clearTimeout(timer);
        resolve();
      });
      this.#client.connect();
    });
  }

  /** Publishes a command to the device's live session; it is not kept for a later one. */
  async publish(deviceId: string, message: CommandMessage): Promise<void> {
    if (!this.isConnected) throw new Error('not connected to the MQTT broker');
    await this.#client.publishAsync(deviceTopic(deviceId, 'commands'), JSON.stringify(message), { qos: 0 });
  }

  /** Publishes a key list as a retained message, for the live session and the next one. */
  async publishKeyList(deviceId: string, message: KeyListMessage): Promise<void> {
    const retained = { qos: 1, retain: true } as const;
    await this.#client.publishAsync(deviceTopic(deviceId, 'keys'), JSON.stringify(message), retained);
  }

  /** Calls `listener` after each connection, including the first. */
  onConnect(listener: () => void): void {
    this.#client.on('connect', listener);
  }

  close(): Promise<void> {
    return this.#client.endAsync(true);
  }
}

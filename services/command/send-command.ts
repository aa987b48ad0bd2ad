import { randomUUID } from 'node:crypto';
import type { DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { VehicleAct } from '@odograph/database/vehicle-access';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { type Deadline, deadlineIn, within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import type { DeviceMessenger } from '@odograph/sessions/presence';
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
  readonly messenger: DeviceMessenger;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
}

/** A command and its outcome; `repeated` when an earlier request with the same idempotency key created it. */
export interface CommandResult {
  readonly commandId: string;
  readonly outcome: Outcome;
  readonly repeated: boolean;
}

/** A command is not sent in the last tenth of its timeout because its acknowledgement could not arrive in time. */
const reservedShare = 0.1;
/** Timeout for each request to Redis: reading the presence of a device, publishing a command. */
const stepTimeoutMs = 2000;
/** Announcements can be lost, so a waiting request reads the row this often. */
const pollIntervalMs = 500;

/**
 * Sends a command to the device of a vehicle and waits for its outcome, all within `ackTimeoutMs`; see "The command path"
 * in docs/architecture.md.
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
    const outcome = await carryOut(context, { request, device, command, watch, deadline });
    return { commandId: id, outcome, repeated: false };
  } finally {
    watch.stop();
  }
}

/** An inserted command in flight. */
interface InsertedCommand {
  readonly request: CommandRequest;
  readonly device: TargetDevice;
  readonly command: Command;
  readonly watch: Watch;
  readonly deadline: Deadline;
}

/** Carries out an inserted command. A failure ends the command before it is thrown. */
async function carryOut(context: CommandContext, inserted: InsertedCommand): Promise<Outcome> {
  const { device, command, watch, deadline } = inserted;
  try {
    const sent = command.state === 'sent' ? command : await awaitTurn(context, inserted);
    await publish(context, device, sent, deadline);
    return await awaitEnd(context, command.id, watch, deadline);
  } catch (error) {
    const cause = error instanceof Failure ? (error.details.reason ?? error.code) : 'PLATFORM_UNAVAILABLE';
    const outcome = await end(context, command.id, cause);
    // The command has already ended, possibly with an acknowledgement.
    if (outcome.cause !== cause) return outcome;
    throw error;
  }
}

/**
 * Requires a live session of the device. A device behind a source has none; the other system refuses commands for it
 * while it is not connected.
 * @throws Failure COMMUNICATION_FAILED with DEVICE_OFFLINE or PLATFORM_UNAVAILABLE
 */
async function requireSession(context: CommandContext, device: TargetDevice): Promise<void> {
  if (device.isBehindSource) return;
  let isPresent: boolean;
  try {
    isPresent = await within(stepTimeoutMs, context.messenger.isPresent(device.id));
  } catch (error) {
    throw unreachable('PLATFORM_UNAVAILABLE', undefined, { cause: error });
  }
  if (!isPresent) throw unreachable('DEVICE_OFFLINE');
}

/**
 * Waits until a pending command is the next one of its vehicle, and marks it as sent.
 * @throws Failure COMMUNICATION_FAILED when its turn does not come in time, or when it may no longer be sent
 */
async function awaitTurn(
  context: CommandContext,
  { request, command, watch, deadline }: InsertedCommand,
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

/**
 * Sends a command to the broker or gateway that holds the session of the device, or to all gateways for a device behind
 * a source.
 * @throws Failure COMMUNICATION_FAILED with DEVICE_OFFLINE or PLATFORM_UNAVAILABLE
 */
async function publish(
  { messenger, logger }: CommandContext,
  device: TargetDevice,
  command: Command,
  deadline: Deadline,
): Promise<void> {
  const { id, deviceId, expiresAt } = command;
  const message = {
    kind: 'command',
    deviceId,
    command: { id, action: command.action as DeviceAction, expiresAt },
  } as const;
  let result: Awaited<ReturnType<DeviceMessenger['send']>>;
  try {
    if (deadline.remainingMs() === 0) throw new Error('deadline passed before publishing');
    const sending = device.isBehindSource ? messenger.sendToGateways(message) : messenger.send(message);
    result = await within(stepTimeoutMs, sending);
  } catch (error) {
    logger.warn({ err: error, commandId: id }, 'command not published');
    throw unreachable('PLATFORM_UNAVAILABLE', undefined, { cause: error });
  }
  if (result === 'offline') throw unreachable('DEVICE_OFFLINE');
  if (result === 'unreachable') throw unreachable('PLATFORM_UNAVAILABLE');
}

/** Waits for the outcome of a command, and ends the command at the deadline. */
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
 * @returns its outcome, which may already have been recorded
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
 * Waits for the outcome of a command that an earlier request created, possibly at another replica.
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

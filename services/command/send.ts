import type { DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import { type CommandPath, end, pollMs } from './await-end.ts';
import type { Watch } from './command-events.ts';
import { type Deadline, within } from './deadline.ts';
import { type Command, endOverdueCommands, findTarget, isNext, markSent } from './queries.ts';
import { deviceFor, type Order, type Outcome, unreachable } from './rules.ts';

/** A command that would reach the device in the last tenth of its time is not sent: its outcome could not be known. */
const reservedShare = 0.1;
/** How long Redis may think about presence, and the socket to the broker may stay full. */
const askTimeoutMs = 2000;

/** @throws Failure COMMUNICATION_FAILED with DEVICE_OFFLINE or PLATFORM_UNAVAILABLE */
export async function requireSession(path: CommandPath, deviceId: string): Promise<void> {
  if (!path.publisher.isConnected()) throw unreachable('PLATFORM_UNAVAILABLE');
  let present: boolean;
  try {
    present = await within(askTimeoutMs, path.isPresent(deviceId));
  } catch (error) {
    throw unreachable('PLATFORM_UNAVAILABLE', undefined, { cause: error });
  }
  if (!present) throw unreachable('DEVICE_OFFLINE');
}

/** What let the command in must still hold when it goes out: a vehicle drives off, a device moves to another vehicle. */
async function requireUnchanged(path: CommandPath, order: Order, deviceId: string): Promise<void> {
  const target = await findTarget(path.db, order.caller, order.vehicleId, 'use');
  if (deviceFor(target, order.action) !== deviceId) throw unreachable('NO_DEVICE', 'the device of the vehicle changed');
  await requireSession(path, deviceId);
}

async function markSentInTurn(path: CommandPath, order: Order, command: Command): Promise<Command | undefined> {
  if (!(await isNext(path.db, command.id))) return undefined;
  await requireUnchanged(path, order, command.deviceId);
  return markSent(path.db, command.id);
}

/**
 * Waits until a pending command may go out, and marks it as sent.
 * @returns undefined when that did not come to pass in time
 * @throws Failure when the command may not go out any more; it is ended then
 */
export async function awaitTurn(
  path: CommandPath,
  order: Order,
  command: Command,
  watch: Watch,
  deadline: Deadline,
): Promise<Command | undefined> {
  const reservedMs = path.ackTimeoutMs * reservedShare;
  try {
    for (let heard = false; !watch.end() && deadline.remainingMs() > reservedMs; ) {
      // Nobody tells of a command whose process is gone.
      if (!heard) path.events.announce(await endOverdueCommands(path.db, command.vehicleId));
      const sent = await markSentInTurn(path, order, command);
      if (sent) return sent;
      heard = await watch.changed(Math.min(Math.max(deadline.remainingMs() - reservedMs, 0), pollMs));
    }
    return undefined;
  } catch (error) {
    const cause = error instanceof Failure ? (error.details.reason ?? error.code) : 'PLATFORM_UNAVAILABLE';
    await end(path, command.id, cause);
    throw error;
  }
}

/**
 * Publishes a command whose row says `sent`.
 * @returns how it ended when it could not go out
 */
export async function send(path: CommandPath, command: Command, deadline: Deadline): Promise<Outcome | undefined> {
  const { id, deviceId, expiresAt } = command;
  const message = { id, action: command.action as DeviceAction, expiresAt };
  try {
    if (deadline.remainingMs() === 0) throw new Error('the time was over before the command went out');
    await within(askTimeoutMs, path.publisher.publish(deviceId, message));
    return undefined;
  } catch (error) {
    path.logger.warn({ err: error, commandId: id }, 'a command could not be published');
    return end(path, id, 'PLATFORM_UNAVAILABLE');
  }
}

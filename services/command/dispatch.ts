import { randomUUID } from 'node:crypto';
import { invalidParameter } from '@odograph/contracts/failures';
import { awaitEnd, type CommandPath, end } from './await-end.ts';
import type { Watch } from './command-events.ts';
import { type Deadline, deadlineIn } from './deadline.ts';
import { type Command, findCommand, findCommandByKey, findTarget, insertCommand } from './queries.ts';
import { deviceFor, hasEnded, type Order, type Outcome } from './rules.ts';
import { awaitTurn, requireSession, send } from './send.ts';

/** How a command ended, and which it was; `repeated` when an earlier request with the same key made it. */
export interface Dispatched {
  readonly commandId: string;
  readonly outcome: Outcome;
  readonly repeated: boolean;
}

/**
 * Makes a command, sends it in its turn, and waits for its end, all within `ackTimeoutMs`; see "The command path" in
 * docs/architecture.md.
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED; COMMUNICATION_FAILED when it was not even sent; INVALID_PARAMETER for a key that
 *   belongs to another command
 */
export async function dispatch(path: CommandPath, order: Order): Promise<Dispatched> {
  const deadline = deadlineIn(path.ackTimeoutMs);
  const [target, earlier] = await Promise.all([
    findTarget(path.db, order.caller, order.vehicleId, 'use'),
    findEarlier(path, order),
  ]);
  const { vehicleId } = target;
  if (earlier) return follow(path, sameOrder(earlier, order, vehicleId));
  const deviceId = deviceFor(target, order.action);
  await requireSession(path, deviceId);

  const id = randomUUID();
  const watch = path.events.watch(vehicleId, id);
  try {
    const remainingMs = deadline.remainingMs();
    const command = await insertCommand(path.db, { ...order, id, vehicleId, deviceId, remainingMs });
    if (!command) return await followTaken(path, order, vehicleId);
    return { commandId: id, outcome: await carryOut(path, order, command, watch, deadline), repeated: false };
  } finally {
    watch.stop();
  }
}

async function carryOut(
  path: CommandPath,
  order: Order,
  command: Command,
  watch: Watch,
  deadline: Deadline,
): Promise<Outcome> {
  const sent = command.state === 'sent' ? command : await awaitTurn(path, order, command, watch, deadline);
  if (!sent) return end(path, command.id);
  return (await send(path, sent, deadline)) ?? awaitEnd(path, command.id, watch, deadline);
}

async function findEarlier({ db }: CommandPath, { caller, idempotencyKey }: Order): Promise<Command | undefined> {
  return idempotencyKey === undefined ? undefined : findCommandByKey(db, caller, idempotencyKey);
}

/** @throws Failure INVALID_PARAMETER when the key was given to another action or vehicle */
function sameOrder(earlier: Command, { action }: Order, vehicleId: number): Command {
  if (earlier.action === action && earlier.vehicleId === vehicleId) return earlier;
  throw invalidParameter('Idempotency-Key', 'belongs to another request');
}

/** Another request with the same key came first by a moment. */
async function followTaken(path: CommandPath, order: Order, vehicleId: number): Promise<Dispatched> {
  const earlier = await findEarlier(path, order);
  if (!earlier) throw new Error('a command was neither made nor there');
  return follow(path, sameOrder(earlier, order, vehicleId));
}

/** Waits for the end of a command that another request made, perhaps at another replica. */
async function follow(path: CommandPath, { id, vehicleId }: Command): Promise<Dispatched> {
  const watch = path.events.watch(vehicleId, id);
  try {
    const command = await findCommand(path.db, id);
    if (!command) throw new Error('a command has disappeared');
    const outcome = hasEnded(command) ? command : await awaitEnd(path, id, watch, deadlineIn(command.remainingMs));
    return { commandId: id, outcome, repeated: true };
  } finally {
    watch.stop();
  }
}

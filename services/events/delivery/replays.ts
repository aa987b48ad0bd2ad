import { parseCursor } from '@odograph/event-list/cursor';
import { readEvents } from '@odograph/event-list/read-events';
import type { DeliveryContext, PostEvent } from './delivery-context.ts';
import {
  type DeliveredWebhook,
  endReplay,
  findRequestedReplays,
  logAttempts,
  type RequestedReplay,
} from './queries.ts';

/**
 * Sends the dead letters of a webhook that were asked for again, one after the other and each once: what fails stays a dead
 * letter. One whose event is no longer in the list is removed.
 */
export async function replayDeadLetters(
  context: DeliveryContext,
  webhook: DeliveredWebhook,
  post: PostEvent,
): Promise<void> {
  for (const replay of await findRequestedReplays(context.db, webhook.id)) {
    const error = await replayOne(context, webhook, post, replay);
    await endReplay(context.db, webhook.id, replay.eventId, error);
  }
}

/** @returns why it failed; undefined if it did not */
async function replayOne(
  { db, metrics, clock, logger }: DeliveryContext,
  { id, applicationId }: DeliveredWebhook,
  post: PostEvent,
  { eventId, type, vehicleId, position }: RequestedReplay,
): Promise<string | undefined> {
  const ofVehicle = vehicleId === null ? {} : { vehicleIds: [vehicleId] };
  const after = parseCursor(position);
  const page = await readEvents(db, { applicationId, after, limit: 1, types: new Set([type]), ...ofVehicle }).catch(
    () => undefined,
  );
  const event = page?.events.find((one) => one.id === eventId);
  if (!event) {
    logger.info({ webhookId: id, eventId }, 'dead letter dropped: its event is no longer in the list');
    return undefined;
  }
  const { outcome, status, durationMs, error } = await post(event);
  metrics.attempts.inc({ outcome });
  await logAttempts(db, id, [
    { at: clock(), eventId, type, vehicleId: event.vehicleId, attempt: 1, status, durationMs, error },
  ]);
  return error;
}

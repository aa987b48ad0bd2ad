import { randomUUID } from 'node:crypto';
import type { Database } from '@odograph/database/database';
import type { Clock } from '@odograph/http/http';
import { type Sealer, webhookSecretContext } from '@odograph/runtime/sealing';
import type { AddressRules } from './addresses.ts';
import { mostInFlight, type PostEvent } from './delivery-context.ts';
import { type DeliveredWebhook, loadWebhook, logAttempts } from './queries.ts';
import { type Attempt, Receiver } from './receiver.ts';
import { signHeaders, signingKey } from './signature.ts';

/** What deliveries of all webhooks have in common. */
export interface PostOptions {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly addresses: AddressRules;
  /** For a whole attempt. */
  readonly timeLimitMs: number;
}

/** Opens the connections to the receiver of a webhook. @throws Failure INTERNAL_ERROR for a secret that no key opens */
export function openReceiver(
  webhook: DeliveredWebhook,
  { sealer, clock, addresses, timeLimitMs }: Omit<PostOptions, 'db'>,
): { post: PostEvent; close(): Promise<void> } {
  const { id, url, sealedSecret, sealedPreviousSecret, previousSecretUntil } = webhook;
  const open = (sealed: Buffer) => signingKey(sealer.open(sealed, webhookSecretContext(id)).toString());
  const current = open(sealedSecret);
  const previous = sealedPreviousSecret && sealer.canOpen(sealedPreviousSecret) ? [open(sealedPreviousSecret)] : [];
  const receiver = new Receiver(url, { ...addresses, connections: mostInFlight, timeLimitMs });
  const post: PostEvent = (event) => {
    const now = clock();
    const isRotating = previousSecretUntil !== undefined && now < previousSecretUntil;
    const keys = isRotating ? [current, ...previous] : [current];
    return receiver.post(signHeaders(keys, event.id, now, event.json), event.json);
  };
  return { post, close: () => receiver.close() };
}

/** Posts an event of type webhook.test once, whatever the state of the webhook, and logs the attempt. */
export async function sendTestEvent(
  options: PostOptions,
  webhookId: string,
): Promise<{ eventId: string; attempt: Attempt }> {
  const webhook = await loadWebhook(options.db, webhookId);
  if (!webhook) throw new Error('the webhook was deleted');
  const [eventId, type, time] = [`test-${randomUUID()}`, 'webhook.test', options.clock()];
  const json = JSON.stringify({ id: eventId, type, time: time.toISOString(), appId: webhook.appId, data: {} });
  const receiver = openReceiver(webhook, options);
  try {
    const attempt = await receiver.post({ id: eventId, json });
    const { status, durationMs, error } = attempt;
    const logged = { at: options.clock(), eventId, type, vehicleId: undefined, attempt: 1, status, durationMs, error };
    await logAttempts(options.db, webhookId, [logged]);
    return { eventId, attempt };
  } finally {
    await receiver.close();
  }
}

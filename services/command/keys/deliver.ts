import { randomUUID } from 'node:crypto';
import { keyListChannel } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import { type KeyListMessage, signKeyList } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { within } from '@odograph/runtime/clock';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import type { Sealer } from '@odograph/runtime/sealing';
import { claimDue, markPublished, readList, republishAll, republishUnconfirmed } from './queries.ts';

/** Publishes retained key lists at the broker. */
export interface KeyListPublisher {
  isConnected(): boolean;
  /** Resolves with the PUBACK. */
  publishKeyList(deviceId: string, message: KeyListMessage): Promise<void>;
  /** Calls `listener` after each connection, including the first. */
  onConnect(listener: () => void): void;
}

export interface KeyListDelivery {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly publisher: KeyListPublisher;
  readonly logger: Logger;
}

const listsPerClaim = 20;
const publishTimeoutMs = 5000;
const pollMs = 1000;

async function publish({ db, sealer, publisher }: KeyListDelivery, deviceId: string, claim: string): Promise<void> {
  const due = await readList(db, sealer, deviceId);
  if (!due) return;
  const { deviceKey, ...list } = due;
  const message = signKeyList(nodeCrypto, { deviceId, deviceKey }, list);
  await within(publishTimeoutMs, publisher.publishKeyList(deviceId, message));
  await markPublished(db, deviceId, claim, list.version);
}

/**
 * Publishes every key list that is due. A list is complete and has a version, so publishing it twice, here or in another
 * replica, is harmless; after a crash it is still due.
 */
export async function deliverDue(delivery: KeyListDelivery): Promise<void> {
  const { db, sealer, publisher, logger } = delivery;
  while (publisher.isConnected()) {
    const claim = randomUUID();
    const deviceIds = await claimDue(db, sealer, claim, listsPerClaim);
    const outcomes = await Promise.allSettled(deviceIds.map((deviceId) => publish(delivery, deviceId, claim)));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    if (failed.length > 0) {
      logger.warn({ err: failed[0]?.reason, lists: failed.length }, 'key lists not published; retrying');
    }
    if (deviceIds.length < listsPerClaim) return;
  }
}

/** Runs `work` one at a time; calls during a run cause one more run after it. */
function createRuns(work: () => Promise<void>, logger: Logger) {
  let running: Promise<void> | undefined;
  let again = false;
  const run = async (): Promise<void> => {
    do {
      again = false;
      await work().catch((err: unknown) => logger.warn({ err }, 'key lists not delivered; retrying'));
    } while (again);
    running = undefined;
  };
  return {
    request(): void {
      again = true;
      running ??= run();
    },
    ended: () => running ?? Promise.resolve(),
  };
}

/**
 * Delivers key lists when they are announced on Redis, and polls every second for lost announcements.
 * @returns a function that stops the delivery
 */
export function startKeyDelivery(
  delivery: KeyListDelivery,
  { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix }: Pick<ResolvedConfig, 'REDIS_URL' | 'QUEUE_PREFIX'>,
): () => Promise<void> {
  const { db, sealer, publisher, logger } = delivery;
  let connections = 0;
  let republished = 0;
  const runs = createRuns(async () => {
    const connection = connections;
    if (connection > republished) {
      await republishAll(db, sealer);
      republished = connection;
    }
    await republishUnconfirmed(db);
    await deliverDue(delivery);
  }, logger);

  publisher.onConnect(() => {
    connections += 1;
    runs.request();
  });
  const subscriber = connectRedis(redisUrl, logger);
  subscriber.on('ready', () => {
    subscriber
      .subscribe(keyListChannel(prefix))
      .catch((err: unknown) => logger.warn({ err }, 'announcements of key lists unavailable; polling'));
  });
  subscriber.on('message', runs.request);
  const timer = setInterval(runs.request, pollMs);
  return async () => {
    clearInterval(timer);
    subscriber.disconnect();
    await runs.ended();
  };
}

import { keyListChannel } from '@odograph/contracts/key-lists';
import type { Tables } from '@odograph/database/tables';
import type { Clock } from '@odograph/http/request-context';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import type { Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';

/** What keyless access works with. */
export interface Keyless {
  readonly db: Kysely<Tables>;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** Wakes whoever publishes lists of keys; to be called after the change is committed. */
  announce(): void;
}

/** Says on Redis that a list of keys has changed. What is lost on the way is found by the publisher's poll. */
export function createAnnounce(redis: Redis, prefix: string, logger: Logger): () => void {
  return () => {
    redis.publish(keyListChannel(prefix), '').catch((err: unknown) => {
      logger.debug({ err }, 'a changed list of keys was not announced');
    });
  };
}

import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { application, platform } from '../application.fixture.ts';
import { EventClient } from './event-client.fixture.ts';

/** Announces changes as the other services do. */
export let changes: ChangeAnnouncer;
let redis: Redis;
const clients: EventClient[] = [];

/** Connects `changes` for the tests of a file, and closes the streams after each of them. */
export function setUpStreams(): void {
  beforeAll(() => {
    const logger = createLogger('silent');
    redis = connectRedis(platform.config.REDIS_URL, logger);
    changes = new ChangeAnnouncer(redis, { ...platform, logger, onStop: () => undefined });
  });
  afterAll(() => redis.disconnect());
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
}

/** Opens a stream that is closed after the test. */
export async function openStream(
  query = '',
  headers: Record<string, string> = { 'x-service-token': application.token },
  lastEventId?: string,
): Promise<EventClient> {
  const client = new EventClient(platform.httpUrl, query, headers);
  client.lastEventId = lastEventId;
  clients.push(client);
  return client.open();
}

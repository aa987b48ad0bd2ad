import type { ResolvedConfig } from '@odograph/runtime/config';
import { LastWrite } from '@odograph/runtime/last-write';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import type { Http } from './http.ts';
import { isRead } from './session-cookie.ts';

export interface Host {
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  onStop(name: string, close: () => unknown): void;
}

/** Uploads are stored after their answer, so reads need not see them. */
const uploads = '/in/';

/**
 * Records each write before its answer if reads may go to standbys, so that later reads see it. Call it before adding
 * routes.
 */
export function recordWrites(http: Http, { config, logger, onStop }: Host): void {
  if (config.QUERY_DATABASE_URL === undefined) return;
  const redis = connectRedis(config.REDIS_URL, logger);
  onStop('record of writes', () => redis.disconnect());
  const lastWrite = new LastWrite(redis, config.QUEUE_PREFIX, logger);
  http.addHook('onSend', async (request, reply) => {
    // A failure of the server may come after the commit. A page that signs in sets a cookie.
    const isDone = reply.statusCode < 400 || reply.statusCode >= 500;
    const mayHaveWritten = isDone && (!isRead(request) || reply.hasHeader('set-cookie'));
    if (mayHaveWritten && !request.url.startsWith(uploads)) await lastWrite.record();
  });
}

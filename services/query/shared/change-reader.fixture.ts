import { on } from 'node:events';
import { changesKey } from '@odograph/contracts/events';
import type { Server } from '@odograph/runtime/redis';

/** Resolves when a reader waits in Redis for changes. */
export async function untilReaderWaits(redis: Server, prefix: string): Promise<void> {
  const monitor = await redis.monitor();
  for await (const [, [command, ...parameters]] of on(monitor, 'monitor')) {
    if (command === 'xread' && parameters.includes(changesKey(prefix))) break;
  }
  monitor.disconnect();
}

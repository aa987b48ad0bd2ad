import { createRedisServer } from 'js-redis-server';
import { runChild } from '../process/child-service.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { ensurePassword } from '../process/password.ts';

await runChild(async ({ dataDirectory, port }) => {
  const unlock = await lockDirectory(dataDirectory, process.ppid);
  try {
    const server = await createRedisServer({ port, logger: console });
    // createRedisServer has no option for the password; no client is connected yet.
    Object.assign(server.state, { requirepass: ensurePassword(dataDirectory) });
    const stop = async (): Promise<void> => {
      await server.close();
      unlock();
    };
    return { port: server.port, durable: false, stop, abandon: unlock };
  } catch (error) {
    unlock();
    throw error;
  }
});

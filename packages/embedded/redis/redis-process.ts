import { createRedisServer } from 'js-redis-server';
import { type ChildArguments, type ChildService, runChild } from '../process/child-service.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { ensurePassword } from '../process/password.ts';
import { endRedisServer, RedisMissingError, startRedisServer } from './redis-server.ts';

async function serveDurably(options: ChildArguments, unlock: () => void): Promise<ChildService> {
  const { server, port } = await startRedisServer(options.dataDirectory, options.port);
  // This process is useless without its server; the parent restarts both.
  const endWithServer = (): void => {
    console.log('redis-server exited unexpectedly');
    unlock();
    process.exit(70);
  };
  server.once('exit', endWithServer);
  async function stop(): Promise<void> {
    server.off('exit', endWithServer);
    await endRedisServer(server);
    unlock();
  }
  return { port, durable: true, stop, abandon: unlock };
}

async function serveFromMemory(options: ChildArguments, unlock: () => void): Promise<ChildService> {
  const server = await createRedisServer({ port: options.port, logger: console });
  // createRedisServer has no option for the password; no client is connected yet.
  Object.assign(server.state, { requirepass: ensurePassword(options.dataDirectory) });
  const stop = async (): Promise<void> => {
    await server.close();
    unlock();
  };
  return { port: server.port, durable: false, stop, abandon: unlock };
}

await runChild(async (options: ChildArguments) => {
  const unlock = await lockDirectory(options.dataDirectory, process.ppid);
  try {
    return await serveDurably(options, unlock);
  } catch (error) {
    if (error instanceof RedisMissingError) return await serveFromMemory(options, unlock);
    unlock();
    throw error;
  }
});

import type { ChildArguments } from '../process/child-messages.ts';
import { runChild } from '../process/child-service.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { startTimescaleServer } from './timescale-server.ts';

await runChild(async (options: ChildArguments) => {
  const unlock = await lockDirectory(options.dataDirectory, process.ppid);
  const server = await startTimescaleServer({
    ...options,
    onBroken: (error) => {
      console.error(error);
      process.exit(70);
    },
  });
  const stop = (): void => {
    server.close();
    unlock();
  };
  return { port: server.port, durable: true, stop, abandon: unlock };
});

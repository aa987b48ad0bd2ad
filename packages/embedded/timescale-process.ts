import { runChild } from './child-lifetime.ts';
import type { ChildArguments } from './child-messages.ts';
import { lockDirectory } from './directory-lock.ts';
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

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { changesKey } from '@odograph/contracts/events';

/**
 * Resolves when a reader waits in Redis for changes. Reads MONITOR itself: ioredis fails if the first command of another client
 * arrives together with the reply.
 */
export async function untilReaderWaits(redisUrl: string, prefix: string): Promise<void> {
  const { hostname, port, password } = new URL(redisUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  if (password !== '') socket.write(`AUTH ${password}\r\n`);
  socket.write('MONITOR\r\n');
  for await (const line of createInterface({ input: socket })) {
    if (/ "xread" /i.test(line) && line.includes(`"${changesKey(prefix)}"`)) break;
  }
  socket.destroy();
}

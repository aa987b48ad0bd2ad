// A reference: aedes alone, in a child process.
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { readSettings, serveParent } from './child-script.ts';

const { port } = readSettings<{ port: number }>();
const aedes = await Aedes.createBroker();
const server = createServer((socket) => {
  socket.setNoDelay(true);
  aedes.handle(socket);
});
server.listen({ port, host: '127.0.0.1', backlog: 4096 }, () => serveParent({}));

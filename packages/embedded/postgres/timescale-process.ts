import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type ChildArguments, runChild } from '../process/child-service.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { ensurePassword } from '../process/password.ts';
import { Connection } from './connection.ts';
import { openEngine } from './engine.ts';
import { Session } from './session.ts';
import type { LoadedStatements } from './statements.ts';

const reportedSettings = [
  'server_version',
  'server_encoding',
  'client_encoding',
  'DateStyle',
  'TimeZone',
  'IntervalStyle',
];
const reportedSwitches = ['integer_datetimes', 'standard_conforming_strings', 'in_hot_standby'];
const allowedConnections = 500;

interface TimescaleServer {
  port: number;
  /** Accepts no more connections, ends the open ones, and checkpoints. */
  close(): void;
}

/** Exits after a fatal error of the engine, so that the parent restarts it on the same data. */
function endBroken(error: unknown): void {
  console.error(error);
  process.exit(70);
}

/**
 * Opens the embedded database and listens on 127.0.0.1.
 *
 * `@electric-sql/pglite-socket` (0.2.9) cannot serve it: its queue gives the session to the next client after each message
 * unless a transaction is open, so Parse, Bind and Execute of two clients interleave. Its clients share settings, roles and
 * prepared statements. A COPY FROM STDIN gets no data, because each message is executed alone. It checks no password, holds
 * answers that a client does not read in memory, and does not flush commits to disk.
 * @throws EADDRINUSE when the port is taken
 */
async function startTimescaleServer(options: ChildArguments): Promise<TimescaleServer> {
  const engine = await openEngine(options.dataDirectory);
  const session = new Session(engine, { ...options, onBroken: endBroken });
  const loaded: LoadedStatements = new Map();
  const password = ensurePassword(options.dataDirectory);
  const names = [...reportedSettings, ...reportedSwitches];
  const values = names.map((name) => [name, engine.query(`show ${name}`)[0]?.[0] ?? ''] as const);
  const serverParameters = new Map([...values, ['session_authorization', 'postgres'], ['is_superuser', 'on']]);
  const sockets = new Set<Socket>();
  let lastId = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    new Connection(++lastId, socket, { engine, session, loaded, password, serverParameters });
  });
  server.maxConnections = allowedConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const close = (): void => {
    session.close();
    server.close();
    for (const socket of sockets) socket.destroy();
    engine.close();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

await runChild(async (options) => {
  const unlock = await lockDirectory(options.dataDirectory, process.ppid);
  const server = await startTimescaleServer(options);
  const stop = (): void => {
    server.close();
    unlock();
  };
  return { port: server.port, durable: true, stop, abandon: unlock };
});

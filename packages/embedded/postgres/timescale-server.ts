import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Connection } from './connection.ts';
import { openEngine } from './engine.ts';
import { Session } from './session.ts';
import type { LoadedStatements } from './statements.ts';

const REPORTED = ['server_version', 'server_encoding', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle'];
const REPORTED_SWITCHES = ['integer_datetimes', 'standard_conforming_strings', 'in_hot_standby'];
const ALLOWED_CONNECTIONS = 500;

export interface TimescaleServerOptions {
  dataDirectory: string;
  /** 0 takes a free port. */
  port: number;
  idleTransactionTimeoutMs: number;
  /** The engine broke; the process must end. */
  onBroken(error: unknown): void;
}

export interface TimescaleServer {
  port: number;
  /** Takes no more connections, ends those there are, and checkpoints. */
  close(): void;
}

/** Opens the embedded database and listens on 127.0.0.1. Fails with EADDRINUSE when the port is taken. */
export async function startTimescaleServer(options: TimescaleServerOptions): Promise<TimescaleServer> {
  const engine = await openEngine(options.dataDirectory);
  const session = new Session(engine, options);
  const loaded: LoadedStatements = new Map();
  const names = [...REPORTED, ...REPORTED_SWITCHES];
  const values = names.map((name) => [name, engine.query(`show ${name}`)[0]?.[0] ?? ''] as const);
  const serverParameters = new Map([...values, ['session_authorization', 'postgres'], ['is_superuser', 'on']]);
  const sockets = new Set<Socket>();
  let lastId = 0;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    new Connection(++lastId, socket, { engine, session, loaded, serverParameters });
  });
  server.maxConnections = ALLOWED_CONNECTIONS;
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

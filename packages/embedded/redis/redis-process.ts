import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createRedisServer } from 'js-redis-server';
import { type ChildArguments, type ChildService, runChild } from '../process/child-service.ts';
import { lockDirectory } from '../process/directory-lock.ts';
import { ensurePassword } from '../process/password.ts';
import { identifyProcess, isRunning, type ProcessIdentity } from '../process/process-identity.ts';
import { endRedisServer, RedisMissingError, type RunningRedis, startRedisServer } from './redis-server.ts';

const restartDelayMs = 200;

function serverFile(dataDirectory: string): string {
  return join(dataDirectory, 'redis-process.json');
}

/** Kills a server that outlived its parent, because it would still write to the directory. */
async function endOrphan(dataDirectory: string): Promise<void> {
  const orphan = readIdentity(serverFile(dataDirectory));
  while (orphan !== undefined && isRunning(orphan)) {
    process.kill(orphan.pid, 'SIGKILL');
    await delay(20);
  }
}

function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

async function serveDurably(options: ChildArguments, unlock: () => void): Promise<ChildService> {
  let server = await startRecorded(options.dataDirectory, options.port);
  let stopping = false;
  const { port } = server;
  async function keepRunning(): Promise<void> {
    while (!stopping) {
      await untilEnded(server);
      if (stopping) return;
      console.log('redis-server exited unexpectedly; restarting');
      server = await restart(options.dataDirectory, port);
      if (stopping) await endRedisServer(server);
    }
  }
  // This process is useless without its server; the parent restarts both.
  const running = keepRunning().catch((error: unknown) => {
    console.error(error);
    unlock();
    process.exit(70);
  });
  async function stop(): Promise<void> {
    stopping = true;
    await endRedisServer(server);
    await running;
    rmSync(serverFile(options.dataDirectory), { force: true });
    unlock();
  }
  return { port, durable: true, stop, abandon: unlock };
}

async function startRecorded(dataDirectory: string, port: number): Promise<RunningRedis> {
  return await startRedisServer(dataDirectory, port, (server) => {
    if (server.pid === undefined) return;
    writeFileSync(serverFile(dataDirectory), JSON.stringify(identifyProcess(server.pid)));
    const end = (): void => void server.kill('SIGKILL');
    process.once('exit', end);
    server.once('exit', () => process.off('exit', end));
  });
}

/** Retries, because sockets of a killed server can hold the port for a moment. */
async function restart(dataDirectory: string, port: number): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startRecorded(dataDirectory, port);
    } catch (error) {
      if (attempt === 10) throw error;
      await delay(restartDelayMs);
    }
  }
}

function untilEnded(server: RunningRedis): Promise<void> {
  if (server.process.exitCode !== null || server.process.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => server.process.once('exit', () => resolve()));
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
  await endOrphan(options.dataDirectory);
  try {
    return await serveDurably(options, unlock);
  } catch (error) {
    if (error instanceof RedisMissingError) return await serveFromMemory(options, unlock);
    unlock();
    throw error;
  }
});

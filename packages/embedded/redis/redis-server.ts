import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../process/free-port.ts';
import { probeRedis } from './redis-probe.ts';

/** The settings with which Redis keeps every write, a file of its own. */
export const durableSettings = fileURLToPath(new URL('../../../infra/redis.conf', import.meta.url));

const PORT_ATTEMPTS = 10;
const PROBE_INTERVAL_MS = 20;

/** `redis-server` is not on the PATH. */
export class RedisMissingError extends Error {}

export interface RunningRedis {
  process: ChildProcess;
  pid: number;
  port: number;
}

/**
 * Starts `redis-server` with every write on disk before its answer, and waits until it has loaded its data. Port 0 takes a free one.
 * `onSpawn` hears of each process before it is ready. Throws RedisMissingError, an error with code EADDRINUSE for a taken port, or what the server said last.
 */
export async function startRedisServer(
  dataDirectory: string,
  port: number,
  onSpawn: (server: ChildProcess) => void,
): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnPort(dataDirectory, port === 0 ? await findFreePort() : port, onSpawn);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!taken || port !== 0 || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startOnPort(
  dataDirectory: string,
  port: number,
  onSpawn: (server: ChildProcess) => void,
): Promise<RunningRedis> {
  const server = spawn('redis-server', redisArguments(dataDirectory, port), {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A terminal's Ctrl-C must not reach it: uploads are still drained into it then.
    detached: true,
  });
  onSpawn(server);
  const lastLines = collectOutput(server);
  const ended = new Promise<Error>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? new RedisMissingError('redis-server is not on the PATH') : error),
    );
    server.once('close', () => resolve(endError(port, lastLines)));
  });
  const failure = await Promise.race([ended, untilReady(server, port)]);
  if (failure !== undefined) throw failure;
  return { process: server, pid: server.pid ?? 0, port };
}

async function untilReady(server: ChildProcess, port: number): Promise<undefined> {
  while (server.exitCode === null && server.signalCode === null) {
    if (server.pid !== undefined && (await probeRedis(port)) === server.pid) return undefined;
    await delay(PROBE_INTERVAL_MS);
  }
  return new Promise(() => undefined);
}

function redisArguments(dataDirectory: string, port: number): string[] {
  return [durableSettings, '--port', String(port), '--bind', '127.0.0.1', '--dir', dataDirectory];
}

function collectOutput(server: ChildProcess): string[] {
  const lines: string[] = [];
  const keep = (chunk: Buffer): void => {
    lines.push(...chunk.toString().split('\n').filter(Boolean));
    lines.splice(0, Math.max(0, lines.length - 20));
    for (const line of lines.slice(-1)) if (/ # /.test(line)) console.log(line);
  };
  server.stdout?.on('data', keep);
  server.stderr?.on('data', keep);
  return lines;
}

function endError(port: number, lines: readonly string[]): Error {
  const said = lines.join('\n');
  if (/address already in use/i.test(said)) {
    return Object.assign(new Error(`port ${port} of 127.0.0.1 is already in use`), { code: 'EADDRINUSE' });
  }
  return new Error(`redis-server ended: ${lines.at(-1) ?? 'without a word'}`);
}

/** Asks the server to end and waits for it; it has nothing left to write. */
export async function endRedisServer(server: RunningRedis): Promise<void> {
  if (server.process.exitCode !== null || server.process.signalCode !== null) return;
  server.process.kill('SIGTERM');
  const timer = setTimeout(() => server.process.kill('SIGKILL'), 3000);
  await once(server.process, 'exit');
  clearTimeout(timer);
}

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensurePassword } from '../process/password.ts';
import { identifyProcess, isRunning, type ProcessIdentity } from '../process/process-identity.ts';
import type { StartedProcess } from '../process/supervise.ts';

/** Redis configuration that syncs every write to disk before the answer. */
export const durableSettings = fileURLToPath(new URL('../../../infra/redis.conf', import.meta.url));

const portAttempts = 10;
/** Below the ephemeral ports, so that no outgoing connection takes a chosen port. */
const [firstPort, portAfterLast] = [15_000, 32_000];

/** Thrown when `redis-server` is not on the PATH. */
export class RedisMissingError extends Error {}

/** Kills a server that outlived its parent, because it would still write to the directory. */
async function endOrphan(identityFile: string): Promise<void> {
  const orphan = readIdentity(identityFile);
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

/**
 * Starts `redis-server`, which syncs every write to disk before the answer, and waits until it has loaded its data. The caller
 * must hold the directory's lock.
 * @param port 0 for any free port
 * @param onLine called with each warning that the server prints
 * @throws RedisMissingError; an error with code EADDRINUSE for a busy port; otherwise an error with the server's last line
 */
export async function startRedisServer(
  dataDirectory: string,
  port: number,
  onLine: (line: string) => void = () => undefined,
): Promise<StartedProcess> {
  const identityFile = join(dataDirectory, 'redis-process.json');
  await endOrphan(identityFile);
  for (let attempt = 1; ; attempt++) {
    const chosen = port === 0 ? randomInt(firstPort, portAfterLast) : port;
    try {
      const server = await startOnPort(dataDirectory, chosen, identityFile, onLine);
      return { process: server, port: chosen, durable: true, stop: () => endRedisServer(server) };
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!taken || port !== 0 || attempt === portAttempts) throw error;
    }
  }
}

async function startOnPort(
  dataDirectory: string,
  port: number,
  identityFile: string,
  onLine: (line: string) => void,
): Promise<ChildProcess> {
  const password = ensurePassword(dataDirectory);
  const server = spawn('redis-server', ['-', '--port', String(port), '--bind', '127.0.0.1', '--dir', dataDirectory], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C in a terminal must not reach it, because the platform still drains uploads into it.
    detached: true,
  });
  // On standard input, so that no process list shows the password.
  server.stdin.on('error', () => undefined);
  server.stdin.end(`include "${durableSettings}"\nrequirepass ${password}\n`);
  if (server.pid !== undefined) {
    guardServer(server, server.pid);
    writeFileSync(identityFile, JSON.stringify(identifyProcess(server.pid)));
    server.once('exit', () => rmSync(identityFile, { force: true }));
  }
  await new Promise<void>((resolve, reject) => {
    const lastLines = collectOutput(server, resolve, onLine);
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new RedisMissingError('redis-server is not on the PATH') : error),
    );
    server.once('close', () => reject(endError(port, lastLines)));
  });
  return server;
}

/**
 * Starts a shell that kills the server when this process ends, even by `kill -9` of its process group: the shell runs in its
 * own group and waits on a pipe that closes with this process.
 */
function guardServer(server: ChildProcess, pid: number): void {
  const guard = spawn('sh', ['-c', 'read -r _; kill -9 "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', (error) => console.error(error));
  server.once('exit', () => guard.kill('SIGKILL'));
}

/** Keeps the last lines, passes warnings on, and calls `onReady` when the server has loaded its data. */
function collectOutput(
  server: ChildProcessWithoutNullStreams,
  onReady: () => void,
  onLine: (line: string) => void,
): string[] {
  const lines: string[] = [];
  const keep = (line: string): void => {
    if (lines.push(line) > 20) lines.shift();
    if (line.includes(' # ')) onLine(line);
    if (line.includes('Ready to accept connections')) onReady();
  };
  createInterface({ input: server.stdout }).on('line', keep);
  createInterface({ input: server.stderr }).on('line', keep);
  return lines;
}

function endError(port: number, lines: readonly string[]): Error {
  const said = lines.join('\n');
  if (/address already in use/i.test(said)) {
    return Object.assign(new Error(`port ${port} of 127.0.0.1 is already in use`), { code: 'EADDRINUSE' });
  }
  return new Error(`redis-server exited: ${lines.at(-1) ?? 'without output'}`);
}

/** Stops the server and waits for its exit. */
async function endRedisServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGTERM');
  const timer = setTimeout(() => server.kill('SIGKILL'), 3000);
  await once(server, 'exit');
  clearTimeout(timer);
}

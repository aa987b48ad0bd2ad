import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../process/free-port.ts';
import { ensurePassword } from '../process/password.ts';

/** Redis configuration that syncs every write to disk before the answer. */
export const durableSettings = fileURLToPath(new URL('../../../infra/redis.conf', import.meta.url));

const answerTimeoutMs = 2000;
const portAttempts = 10;
const probeIntervalMs = 20;

/** Thrown when `redis-server` is not on the PATH. */
export class RedisMissingError extends Error {}

export interface RunningRedis {
  process: ChildProcess;
  pid: number;
  port: number;
}

/**
 * Starts `redis-server`, which syncs every write to disk before the answer, and waits until it has loaded its data.
 * @param port 0 for any free port
 * @param onSpawn called with each process before it is ready
 * @throws RedisMissingError; an error with code EADDRINUSE for a busy port; otherwise an error with the server's last line
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
      if (!taken || port !== 0 || attempt === portAttempts) throw error;
    }
  }
}

async function startOnPort(
  dataDirectory: string,
  port: number,
  onSpawn: (server: ChildProcess) => void,
): Promise<RunningRedis> {
  const password = ensurePassword(dataDirectory);
  const server = spawn('redis-server', ['-', '--port', String(port), '--bind', '127.0.0.1', '--dir', dataDirectory], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C in a terminal must not reach it, because the platform still drains uploads into it.
    detached: true,
  });
  // On standard input, so that no process list shows the password.
  server.stdin.on('error', () => undefined);
  server.stdin.end(`include "${durableSettings}"\nrequirepass ${password}\n`);
  guardServer(server);
  onSpawn(server);
  const lastLines = collectOutput(server);
  const ended = new Promise<Error>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? new RedisMissingError('redis-server is not on the PATH') : error),
    );
    server.once('close', () => resolve(endError(port, lastLines)));
  });
  const failure = await Promise.race([ended, untilReady(server, port, password)]);
  if (failure !== undefined) throw failure;
  return { process: server, pid: server.pid ?? 0, port };
}

async function untilReady(server: ChildProcess, port: number, password: string): Promise<undefined> {
  while (server.exitCode === null && server.signalCode === null) {
    if (server.pid !== undefined && (await probeRedis(port, password)) === server.pid) return undefined;
    await delay(probeIntervalMs);
  }
  return new Promise(() => undefined);
}

/** Reads the process id of the Redis server on the port; undefined until the server has loaded its data. */
async function probeRedis(port: number, password: string): Promise<number | undefined> {
  const answer = await ask(
    port,
    `AUTH ${password}\r\nINFO server\r\nPING\r\n`,
    /\+PONG|-LOADING|-NOAUTH|-WRONGPASS|-ERR/,
  );
  const processId = /process_id:(\d+)/.exec(answer)?.[1];
  return answer.includes('+PONG') && processId !== undefined ? Number(processId) : undefined;
}

function ask(port: number, commands: string, complete: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(commands));
    socket.setTimeout(answerTimeoutMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (complete.test(answer)) socket.end();
    });
    // A refused connection means that the server is not up yet, as an empty answer does.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}

/**
 * Starts a shell that kills the server when this process ends, even by `kill -9` of its process group: the shell runs in its
 * own group and waits on a pipe that closes with this process.
 */
function guardServer(server: ChildProcess): void {
  if (server.pid === undefined) return;
  const guard = spawn('sh', ['-c', 'read -r _; kill -9 "$1"', 'sh', String(server.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', (error) => console.error(error));
  server.once('exit', () => guard.kill('SIGKILL'));
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
  return new Error(`redis-server exited: ${lines.at(-1) ?? 'without output'}`);
}

/** Stops the server and waits for its exit. */
export async function endRedisServer(server: RunningRedis): Promise<void> {
  if (server.process.exitCode !== null || server.process.signalCode !== null) return;
  server.process.kill('SIGTERM');
  const timer = setTimeout(() => server.process.kill('SIGKILL'), 3000);
  await once(server.process, 'exit');
  clearTimeout(timer);
}

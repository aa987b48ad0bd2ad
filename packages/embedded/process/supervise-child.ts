import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ChildArguments, ChildMessage, ParentMessage } from './child-service.ts';
import { readPassword } from './password.ts';

/** Options of every embedded engine. */
export interface EngineOptions {
  /** Holds the data of the engine; created when it is missing. */
  dataDirectory: string;
  /** Port of 127.0.0.1; 0 or undefined for any free port. */
  port?: number;
  /** Called with each line that the engine's process prints. */
  onLine?: (line: string) => void;
}

/** A child process that listens on a port and is restarted on that port when it ends unexpectedly. */
export interface SupervisedChild {
  port: number;
  password: string;
  durable: boolean;
  stop(): Promise<void>;
}

interface StartedChild {
  process: ChildProcess;
  port: number;
  durable: boolean;
}

/** Runs TypeScript on older versions of Node.js. */
const runner = fileURLToPath(new URL('../../../scripts/run.mjs', import.meta.url));
const stopGraceMs = 10_000;
const maxRestartDelayMs = 5000;

/** Starts a module as a child process and restarts it until `stop`. @throws the child's message when the first start fails */
export async function superviseChild(
  module: URL,
  { dataDirectory, port: wanted = 0, onLine = () => undefined }: EngineOptions,
  idleTransactionTimeoutMs = 0,
): Promise<SupervisedChild> {
  const options = { dataDirectory: resolve(dataDirectory), idleTransactionTimeoutMs };
  let child = await startChild(module, { ...options, port: wanted }, onLine);
  const { port, durable } = child;
  const stopping = new AbortController();

  async function restart(delayMs: number): Promise<void> {
    await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    if (stopping.signal.aborted) return;
    try {
      child = await startChild(module, { ...options, port }, onLine);
    } catch (error) {
      onLine(`restart failed: ${error instanceof Error ? error.message : String(error)}`);
      await restart(nextDelay(delayMs));
    }
  }
  async function keepRunning(): Promise<void> {
    for (let delayMs = 0; !stopping.signal.aborted; ) {
      const startedAt = performance.now();
      await ended(child.process);
      if (stopping.signal.aborted) return;
      const { exitCode, signalCode } = child.process;
      onLine(`ended unexpectedly (${signalCode ?? `exit code ${exitCode}`}), restarting`);
      delayMs = performance.now() - startedAt > maxRestartDelayMs ? 0 : nextDelay(delayMs);
      await restart(delayMs);
    }
    await stopChild(child.process);
  }
  const running = keepRunning();
  async function stop(): Promise<void> {
    stopping.abort();
    await stopChild(child.process);
    await running;
  }
  return { port, password: readPassword(options.dataDirectory), durable, stop };
}

const nextDelay = (delayMs: number): number => Math.min(maxRestartDelayMs, 2 * delayMs + 100);

async function startChild(module: URL, options: ChildArguments, onLine: (line: string) => void): Promise<StartedChild> {
  const path = fileURLToPath(module);
  const [program, ...rest] = runsTypeScript() ? [path] : [runner, path];
  const child = fork(program, [...rest, JSON.stringify(options)], {
    // Optimizing the WebAssembly of the database takes 2 s of CPU time at each start and does not speed up statements.
    execArgv: ['--liftoff-only'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', onLine);
  }
  const answer = await firstAnswer(child);
  if (answer.kind === 'failed') {
    await ended(child);
    throw Object.assign(new Error(answer.message), answer.portTaken ? { code: 'EADDRINUSE' } : {});
  }
  return { process: child, port: answer.port, durable: answer.durable };
}

function firstAnswer(child: ChildProcess): Promise<ChildMessage> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as ChildMessage));
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`exited during its start (${signal ?? `exit code ${code}`})`)),
    );
  });
}

async function stopChild(child: ChildProcess): Promise<void> {
  const message: ParentMessage = { kind: 'stop' };
  if (child.connected) child.send(message, () => undefined);
  const timer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
  await ended(child);
  clearTimeout(timer);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Node.js runs TypeScript since 22.18; the types used here are those of Node.js 20. */
function runsTypeScript(): boolean {
  return 'typescript' in process.features && Boolean(process.features.typescript);
}

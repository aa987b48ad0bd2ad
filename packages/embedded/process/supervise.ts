import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
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

/** A process that listens on a port. */
export interface StartedProcess {
  process: ChildProcess;
  port: number;
  durable: boolean;
  /** Shuts down in order and resolves when the process has ended. */
  stop(): Promise<void>;
}

/** A process that is restarted on its port when it ends unexpectedly. */
export interface SupervisedProcess {
  port: number;
  durable: boolean;
  stop(): Promise<void>;
}

/** Bundles a module; missing in the image, whose Node.js runs TypeScript. */
const runner = fileURLToPath(new URL('../../../scripts/run.mjs', import.meta.url));
const stopGraceMs = 10_000;
const maxRestartDelayMs = 5000;

/** Starts a process and restarts it on the same port until `stop`. @throws the error of the first start */
export async function supervise(
  start: (port: number) => Promise<StartedProcess>,
  { port: wanted = 0, onLine = () => undefined }: Pick<EngineOptions, 'port' | 'onLine'>,
): Promise<SupervisedProcess> {
  let started = await start(wanted);
  const { port, durable } = started;
  const stopping = new AbortController();

  async function restart(delayMs: number): Promise<void> {
    await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    if (stopping.signal.aborted) return;
    try {
      started = await start(port);
    } catch (error) {
      onLine(`restart failed: ${error instanceof Error ? error.message : String(error)}`);
      await restart(nextDelay(delayMs));
    }
  }
  async function keepRunning(): Promise<void> {
    for (let delayMs = 0; !stopping.signal.aborted; ) {
      const startedAt = performance.now();
      await ended(started.process);
      if (stopping.signal.aborted) return;
      const { exitCode, signalCode } = started.process;
      onLine(`ended unexpectedly (${signalCode ?? `exit code ${exitCode}`}), restarting`);
      delayMs = performance.now() - startedAt > maxRestartDelayMs ? 0 : nextDelay(delayMs);
      await restart(delayMs);
    }
    await started.stop();
  }
  const running = keepRunning();
  async function stop(): Promise<void> {
    stopping.abort();
    await started.stop();
    await running;
  }
  return { port, durable, stop };
}

/** Runs a module that calls `runChild` as a supervised child process. @throws the child's message when the first start fails */
export async function superviseChild(
  module: URL,
  { dataDirectory, port, onLine = () => undefined }: EngineOptions,
  idleTransactionTimeoutMs = 0,
): Promise<SupervisedProcess & { password: string }> {
  const options = { dataDirectory: resolve(dataDirectory), idleTransactionTimeoutMs };
  const start = (on: number) => startChild(module, { ...options, port: on }, onLine);
  const supervised = await supervise(start, { ...(port !== undefined && { port }), onLine });
  return { ...supervised, password: readPassword(options.dataDirectory) };
}

const nextDelay = (delayMs: number): number => Math.min(maxRestartDelayMs, 2 * delayMs + 100);

async function startChild(
  module: URL,
  options: ChildArguments,
  onLine: (line: string) => void,
): Promise<StartedProcess> {
  const path = fileURLToPath(module);
  const [program, ...rest] = existsSync(runner) ? ([runner, path] as const) : ([path] as const);
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
  return { process: child, port: answer.port, durable: answer.durable, stop: () => stopChild(child) };
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

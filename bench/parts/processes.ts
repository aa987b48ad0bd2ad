import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@odograph/runtime/config';
import { freePort } from '@odograph/testkit/free-port';
import type { Engines } from './engines.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const adminToken = 'admin-token-of-the-benchmarks';
const timeoutMs = 60_000;

export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** A process that a benchmark measures; it stops with the engines at the latest. */
export interface Process {
  usage(): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

/** A script of this folder in a child process. */
export interface ScriptProcess extends Process {
  /** Sends a message and resolves with the next one received. */
  ask<Answer>(message: object): Promise<Answer>;
}

export interface ServiceProcess extends Process {
  readonly httpUrl: string;
  readonly mqttPort: number;
}

async function nextMessage<Answer>(child: ChildProcess, name: string): Promise<Answer> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      once(child, 'message', { signal: ended.signal }).then(([message]) => message as Answer),
      once(child, 'exit', { signal: ended.signal }).then(([code]): never => {
        throw new Error(`${name} exited with ${code}`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}

/** Starts a script of this folder and resolves when it reports that it is ready. */
export async function startScript(engines: Engines, name: string, settings: object): Promise<ScriptProcess> {
  const file = join(import.meta.dirname, `${name}.ts`);
  const child = spawn(process.execPath, ['scripts/run.mjs', file, JSON.stringify(settings)], {
    cwd: root,
    env: childEnvironment({}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await nextMessage(child, basename(file));
  const ask = <Answer>(message: object): Promise<Answer> => {
    const answer = nextMessage<Answer>(child, name);
    child.send(message);
    return answer;
  };
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    if (child.connected) child.disconnect();
    await exited;
  };
  engines.onStop(name, stop);
  return { ask, usage: () => ask<ProcessUsage>({ kind: 'usage' }), stop };
}

/** Runs in the child: answers each message with the result of its handler, and exits when the parent disconnects. */
export function serveParent(handlers: Readonly<Record<string, (message: never) => unknown>>): void {
  const usage = (): ProcessUsage => {
    const { user, system } = process.cpuUsage();
    return { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
  };
  process.on('message', (message: { kind: string }) => {
    const handler = message.kind === 'usage' ? usage : handlers[message.kind];
    void Promise.resolve(handler?.(message as never)).then((answer) => process.send?.(answer ?? {}));
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ ready: true });
}

/** Reads the settings passed by the parent. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? '{}') as Settings;
}

/** Reads CPU time and memory from the kernel; Linux only (proc(5), /proc/pid/stat and statm). */
export async function readKernelUsage(pid: number): Promise<ProcessUsage> {
  const [stat, memory] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/statm`, 'utf8'),
  ]);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
    residentBytes: Number(memory.split(' ')[1]) * 4096,
  };
}

/** Sums a metric over its labels. */
function readMetric(text: string, name: string): number {
  const values = text.matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'gm'));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

async function readUsage(httpUrl: string): Promise<ProcessUsage> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  return {
    cpuSeconds: readMetric(text, 'process_cpu_seconds_total'),
    residentBytes: readMetric(text, 'process_resident_memory_bytes'),
  };
}

/** Starts services in a child process, as `npm start -- NAME…` does. */
export async function startServices(
  engines: Engines,
  names: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const [httpPort, mqttPort] = [await freePort(), await freePort()];
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const profiling = engines.profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${engines.profile}`];
  const child = spawn(process.execPath, [...profiling, ...scripts.start.split(' ').slice(1), ...names], {
    cwd: root,
    env: childEnvironment({
      DATABASE_URL: engines.databaseUrl,
      REDIS_URL: engines.redisUrl,
      QUEUE_PREFIX: engines.queuePrefix,
      DATA_DIR: join(engines.directory, 'data'),
      ADMIN_TOKEN: adminToken,
      HTTP_PORT: String(httpPort),
      MQTT_PORT: String(mqttPort),
      TELTONIKA_PORT: '0',
      HTTP_REQUESTS_PER_MINUTE: '100000000',
      LOG_LEVEL: 'warn',
      ...settings,
    }),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const name = `process of ${names.join(', ')}`;
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  engines.onStop(name, stop);
  const httpUrl = `http://127.0.0.1:${httpPort}`;
  const end = Date.now() + timeoutMs;
  for (let isReady = false; !isReady; ) {
    if (child.exitCode !== null) throw new Error(`the ${name} exited with ${child.exitCode}`);
    if (Date.now() > end) throw new Error(`the ${name} was not ready in time`);
    await delay(50);
    isReady = await fetch(`${httpUrl}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
  return { httpUrl, mqttPort, usage: () => readUsage(httpUrl), stop };
}

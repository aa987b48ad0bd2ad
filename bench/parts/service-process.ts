import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '@odograph/embedded/process/free-port';
import { childEnvironment } from '@odograph/runtime/config';
import { type ProcessUsage, root } from './child-script.ts';
import type { Engines } from './engines.ts';

export const adminToken = 'admin-token-of-the-benchmarks';
const timeoutMs = 60_000;

export interface ServiceProcess {
  readonly httpUrl: string;
  readonly mqttPort: number;
  usage(): Promise<ProcessUsage>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly settings?: Record<string, string>;
  /** Directory of the CPU profiles, which are written when the process exits; '' for none. */
  readonly profile?: string;
}

/** Sums a metric over its labels. */
function readMetric(text: string, name: string): number {
  return [...text.matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}

async function readUsage(httpUrl: string): Promise<ProcessUsage> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  return {
    cpuSeconds: readMetric(text, 'process_cpu_seconds_total'),
    residentBytes: readMetric(text, 'process_resident_memory_bytes'),
  };
}

/** Options of `npm start` for Node.js. */
function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ').slice(1);
}

/** Starts services in a child process, as `npm start -- NAME…` does; it stops with the engines at the latest. */
export async function startServices(
  engines: Engines,
  names: readonly string[],
  { settings = {}, profile = '' }: ServiceOptions = {},
): Promise<ServiceProcess> {
  const [httpPort, mqttPort] = [await findFreePort(), await findFreePort()];
  const profiling = profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const child = spawn(process.execPath, [...profiling, ...startArguments(), ...names], {
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
      MQTT_DEVICE_UPLOADS_PER_SECOND: '1000000',
      MQTT_DEVICE_BYTES_PER_SECOND: '1000000000',
      LOG_LEVEL: 'warn',
      ...settings,
    }),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  engines.onStop(`process of ${names.join(', ')}`, stop);
  const httpUrl = `http://127.0.0.1:${httpPort}`;
  const end = Date.now() + timeoutMs;
  for (let ready = false; !ready; ) {
    if (child.exitCode !== null) throw new Error(`the process of ${names.join(', ')} exited with ${child.exitCode}`);
    if (Date.now() > end) throw new Error(`the process of ${names.join(', ')} was not ready in time`);
    await delay(50);
    ready = await fetch(`${httpUrl}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
  return { httpUrl, mqttPort, usage: () => readUsage(httpUrl), stop };
}

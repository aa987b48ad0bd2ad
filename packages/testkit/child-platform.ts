import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { childEnvironment, type ResolvedConfig } from '@odograph/runtime/config';
import { clientsOf, type PlatformClients } from './api-client.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { testAdminToken, testEncryptionKeys } from './test-platform.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A start takes a few seconds, under load up to a minute. */
const startMs = 180_000;

export interface ChildPlatform extends PlatformClients {
  readonly httpUrl: string;
  readonly process: ChildProcess;
  /** Its output so far. */
  output(): string;
  /** Sends a signal and resolves with the exit code, null when the signal killed the process. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** Spawns `npm start -- ARGUMENTS` with its own environment; its output is piped. */
export function spawnServices(
  startArguments: readonly string[],
  environment: NodeJS.ProcessEnv,
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [join(root, 'scripts/run.mjs'), 'services/platform/main.ts', ...startArguments], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Builds the environment of a child process that shares the engines and queues of a test, with its own HTTP port. */
export async function settingsFrom(config: ResolvedConfig): Promise<Record<string, string>> {
  const { DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR, MQTT_PORT, TELTONIKA_PORT } = config;
  return {
    ...{ DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR },
    ...{ MQTT_PORT: String(MQTT_PORT), TELTONIKA_PORT: String(TELTONIKA_PORT) },
    ...{ HTTP_PORT: String(await freePort()), ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys },
  };
}

/**
 * Starts services in a child process, as `npm start -- NAME…` does, and resolves when /health answers 200.
 * @param settings environment variables; HTTP_PORT must be among them
 */
export async function spawnPlatform(
  services: readonly string[],
  settings: Record<string, string>,
): Promise<ChildPlatform> {
  // Tests share a database, and some seal values under other keys.
  const child = spawnServices([...services, '--allow-unreadable-values'], childEnvironment(settings));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const httpUrl = `http://127.0.0.1:${settings['HTTP_PORT']}`;
  const wellness = eventually(async () => {
    if (child.exitCode !== null) throw new Error(`the platform exited: ${text}`);
    const response = await fetch(`${httpUrl}/health`);
    if (!response.ok) throw new Error(`unhealthy: ${await response.text()}`);
  }, startMs);
  await wellness.catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    httpUrl,
    process: child,
    ...clientsOf(httpUrl, testAdminToken),
    output: () => text,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

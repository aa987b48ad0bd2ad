import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { childEnvironment, type ResolvedConfig } from '@odograph/runtime/config';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { testAdminToken, testEncryptionKeys } from './test-platform.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A start is a few seconds; a machine that has much else to do takes a minute. */
const startMs = 180_000;

export interface ChildPlatform {
  readonly httpUrl: string;
  readonly process: ChildProcess;
  /** Everything it wrote so far. */
  output(): string;
  /** Ends it by a signal and resolves with its exit code, null when the signal killed it. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** A process of services, all of them when none is named, with an environment of its own; its output is piped. */
export function spawnServices(
  services: readonly string[],
  environment: NodeJS.ProcessEnv,
): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [join(root, 'scripts/run.mjs'), 'services/platform/main.ts', ...services], {
    cwd: root,
    // Tests share a database, and some seal values under keys of their own.
    env: { ALLOW_UNREADABLE_VALUES: 'true', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** The environment in which services of their own process meet the other parts of one test, on an HTTP port of their own. */
export async function settingsFrom(config: ResolvedConfig): Promise<Record<string, string>> {
  const { DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR, MQTT_PORT } = config;
  return {
    ...{ DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR, MQTT_PORT: String(MQTT_PORT) },
    ...{ HTTP_PORT: String(await freePort()), ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys },
  };
}

/**
 * Starts services in a process of their own, as `npm start -- NAME…` does, and resolves when /health says they are well.
 * @param settings environment variables; HTTP_PORT must be among them
 */
export async function spawnPlatform(
  services: readonly string[],
  settings: Record<string, string>,
): Promise<ChildPlatform> {
  const child = spawnServices(services, childEnvironment(settings));
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
    if (child.exitCode !== null) throw new Error(`the platform ended: ${text}`);
    const response = await fetch(`${httpUrl}/health`);
    if (!response.ok) throw new Error(`not well: ${await response.text()}`);
  }, startMs);
  await wellness.catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return {
    httpUrl,
    process: child,
    output: () => text,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

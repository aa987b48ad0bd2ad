import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { durableSettings } from '@odograph/embedded/redis/redis-server';
import { freePort } from './free-port.ts';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/**
 * Starts a redis-server that the test may kill; its append-only file is in `directory`.
 * @param more further settings, as parameters of the program
 */
export async function spawnRedis(directory: string, port?: number, more: readonly string[] = []): Promise<RedisServer> {
  const chosen = port ?? (await freePort());
  const own = ['--port', String(chosen), '--bind', '127.0.0.1', '--dir', directory];
  // Sentinels make a server rewrite its settings file: use a copy.
  const settings = join(directory, 'redis.conf');
  await copyFile(durableSettings, settings);
  const child = spawn('redis-server', [settings, ...own, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let text = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('Ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error(`redis-server did not start: ${text}`)));
  });
  return {
    url: `redis://127.0.0.1:${chosen}`,
    port: chosen,
    async end(signal) {
      child.kill(signal);
      await exited;
    },
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Starts the embedded part in a process of its own, for tests that kill it. */
export async function startOwner(
  what: 'redis' | 'timescale',
  dataDirectory: string,
): Promise<{ process: ChildProcess; url: string }> {
  const module = fileURLToPath(new URL('./engine-owner-process.fixture.ts', import.meta.url));
  const owner = spawn(process.execPath, ['--import', 'tsx', module, what, dataDirectory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(owner.stdout, 'data')) as [Buffer];
  return { process: owner, url: url.toString().trim() };
}

/** The process that holds the data directory. */
export function holderPid(dataDirectory: string): number {
  const lock = JSON.parse(readFileSync(join(dataDirectory, 'lock.json'), 'utf8')) as { holder: { pid: number } };
  return lock.holder.pid;
}

/** Kills with SIGKILL and waits for the end. */
export async function killHard(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Starts an embedded engine under an owner process that a test can kill. */
export async function startOwner(
  engine: 'redis' | 'timescale',
  dataDirectory: string,
): Promise<{ process: ChildProcess; url: string }> {
  const runner = fileURLToPath(new URL('../../../scripts/run.mjs', import.meta.url));
  const module = fileURLToPath(new URL('./engine-owner-process.fixture.ts', import.meta.url));
  const owner = spawn(process.execPath, [runner, module, engine, dataDirectory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(owner.stdout, 'data')) as [Buffer];
  return { process: owner, url: url.toString().trim() };
}

/** The id of the process that holds the lock of the data directory. */
export function holderPid(dataDirectory: string): number {
  const lock = JSON.parse(readFileSync(join(dataDirectory, 'lock.json'), 'utf8')) as { holder: { pid: number } };
  return lock.holder.pid;
}

/** Sends SIGKILL and waits for the exit. */
export async function killHard(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

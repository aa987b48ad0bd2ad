import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.ts';

interface Holder {
  holder: ProcessIdentity;
  /** The process that started the holder; the holder ends with it. */
  parent: ProcessIdentity;
}

const orphanGraceMs = 3000;
const pollMs = 50;
const lockAttempts = 200;

/**
 * Locks `dataDirectory` for this process, a child of `parentPid` or `parentPid` itself; creates the directory when it
 * is missing. The lock of a dead process is replaced. A holder whose parent has died gets 3 s to exit and is then killed.
 * @returns a function that releases the lock
 * @throws Error that names the owner while a living process holds the lock
 */
export async function lockDirectory(dataDirectory: string, parentPid: number): Promise<() => void> {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const path = join(dataDirectory, 'lock.json');
  const mine = JSON.stringify({ holder: identifyProcess(process.pid), parent: identifyProcess(parentPid) });
  for (let attempt = 0; attempt < lockAttempts; attempt++) {
    if (createWhole(path, mine)) return () => rmSync(path, { force: true });
    const found = readOrUndefined(path);
    if (found === undefined) continue;
    await waitUntilGone(dataDirectory, found);
    removeIfStill(path, found);
  }
  throw new Error(`cannot lock the directory ${dataDirectory}: ${path} reappears after each removal`);
}

/** Creates a file with its whole content or not at all: linking is atomic even when several processes try. */
function createWhole(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    unlinkSync(draft);
  }
}

async function waitUntilGone(dataDirectory: string, content: string): Promise<void> {
  const found = readHolder(content);
  if (found === undefined) return;
  const giveUpAt = performance.now() + orphanGraceMs;
  while (isRunning(found.holder)) {
    if (isRunning(found.parent)) {
      throw new Error(
        `the directory ${dataDirectory} is in use by process ${found.parent.pid}; stop it first, or choose another directory`,
      );
    }
    if (performance.now() > giveUpAt) process.kill(found.holder.pid, 'SIGKILL');
    await delay(pollMs);
  }
}

/** Removes the stale lock, unless another process has already replaced it. */
function removeIfStill(path: string, content: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readOrUndefined(aside) !== content) {
    try {
      linkSync(aside, path);
    } catch {
      // A third process has created its lock meanwhile; the next attempt finds it.
    }
  }
  rmSync(aside, { force: true });
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function readHolder(content: string): Holder | undefined {
  try {
    return JSON.parse(content) as Holder;
  } catch {
    return undefined;
  }
}

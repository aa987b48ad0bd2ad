import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.ts';

interface Holder {
  holder: ProcessIdentity;
  /** The process that the holder works for, and ends with. */
  parent: ProcessIdentity;
}

const ORPHAN_GRACE_MS = 3000;
const POLL_MS = 50;
const ATTEMPTS = 200;

/**
 * Takes `dataDirectory` for this process, working for `parentPid`; makes the directory when it is missing. A lock of a process that
 * is gone is taken over; an orphan still on its way out is waited for, and ended after 3 s.
 * Throws a message for people while another living owner has it. Returns what gives the lock back.
 */
export async function lockDirectory(dataDirectory: string, parentPid: number): Promise<() => void> {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const path = join(dataDirectory, 'lock.json');
  const mine = JSON.stringify({ holder: identifyProcess(process.pid), parent: identifyProcess(parentPid) });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (createWhole(path, mine)) return () => rmSync(path, { force: true });
    const found = readOrUndefined(path);
    if (found === undefined) continue;
    await waitUntilGone(dataDirectory, found);
    removeIfStill(path, found);
  }
  throw new Error(`cannot lock the data directory ${dataDirectory}: ${path} keeps coming back`);
}

/** A link either has the whole content or fails, whoever else tries. */
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
  const giveUpAt = performance.now() + ORPHAN_GRACE_MS;
  while (isRunning(found.holder)) {
    if (isRunning(found.parent)) {
      throw new Error(
        `the data directory ${dataDirectory} is in use by process ${found.parent.pid}; stop that one first, or choose another directory`,
      );
    }
    if (performance.now() > giveUpAt) process.kill(found.holder.pid, 'SIGKILL');
    await delay(POLL_MS);
  }
}

/** Takes the stale file away, but not one that a faster process has put in its place. */
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
      // A third process has it now; it will be found there.
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

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eventually } from '@odograph/testkit/eventually';
import { expect } from 'vitest';

const preload = pathToFileURL(fileURLToPath(new URL('./stepped-clock-preload.fixture.mjs', import.meta.url)));

/** The time of day of processes that are started with its settings. */
export interface SteppedClock {
  /** Environment variables of the processes. */
  readonly settings: Readonly<Record<string, string>>;
  /** Sets it, for processes that may not run now. */
  set(offsetMs: number): Promise<void>;
  /** Sets it so far ahead of the true time, or behind it; resolves when a process that runs has seen it. */
  step(offsetMs: number): Promise<void>;
}

/** A clock that shows the true time until it is set. @param file where it is told; nobody else's */
export async function createSteppedClock(file: string): Promise<SteppedClock> {
  await writeFile(file, '0');
  const address = new URL(preload);
  address.searchParams.set('file', file);
  const set = (offsetMs: number) => writeFile(file, String(offsetMs));
  return {
    settings: { NODE_OPTIONS: `--import ${address.href}` },
    set,
    async step(offsetMs) {
      await set(offsetMs);
      await eventually(async () => expect(await readFile(`${file}.seen`, 'utf8')).toBe(String(offsetMs)), 30_000);
    },
  };
}

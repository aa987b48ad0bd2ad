import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eventually } from '@odograph/testkit/eventually';
import { expect } from 'vitest';

const preload = pathToFileURL(fileURLToPath(new URL('./stepped-clock-preload.fixture.mjs', import.meta.url)));

/** The wall clock of processes that are started with its settings. */
export interface SteppedClock {
  /** Environment variables of the processes. */
  readonly settings: Readonly<Record<string, string>>;
  /** Sets the clock without waiting, for processes that may not be running. */
  set(offsetMs: number): Promise<void>;
  /** Sets the offset to the true time; resolves when a running process has applied it. */
  step(offsetMs: number): Promise<void>;
}

/** Creates a clock that shows the true time until it is set. @param file passes the offset to the processes */
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

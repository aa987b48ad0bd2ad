import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSecret } from './secrets.ts';

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Makes a file with a random secret that only its owner can read; one that is there already stays. */
export async function createSecretFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'wx', 0o600);
  } catch (error) {
    if (isExisting(error)) return;
    throw error;
  }
  try {
    await file.writeFile(`${createSecret()}\n`);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

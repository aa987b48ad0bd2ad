import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A random secret of 256 bits in base64url; long enough for a plain SHA-256 to be stored. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes a random secret for storage. Not for passwords: they have too little entropy for a fast hash. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares in constant time; buffers of unequal length are unequal. */
export function equalSecrets(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

/** A secret for one purpose, made from a secret of several: holders of the one cannot compute the other. */
export function deriveSecret(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(purpose).digest('base64url');
}

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

/** Replaces the content of a secret file at once: readers see the old or the new secret. */
export async function replaceSecretFile(path: string, secret: string): Promise<void> {
  const unfinished = `${path}.unfinished`;
  await writeFile(unfinished, `${secret}\n`, { mode: 0o600, flush: true });
  await rename(unfinished, path);
}

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Creates a random secret of 256 bits in base64url; strong enough to be stored as a plain SHA-256. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns what appIds and tokens of a cell begin with, so that a load balancer can route by them; nothing in cell 0. */
export function prefixOfCell(cell: number, separator: '-' | '.'): string {
  return cell === 0 ? '' : `c${cell}${separator}`;
}

/** Creates a token of this cell. No token of cell 0 begins like one of another cell: base64url has no dot. */
export function createToken({ CELL }: { readonly CELL: number }): string {
  return `${prefixOfCell(CELL, '.')}${createSecret()}`;
}

/** Hashes a random secret for storage. Not for passwords: they have too little entropy for a fast hash. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares in constant time; buffers of unequal length are unequal. */
export function equalSecrets(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Derives a secret for one purpose, from which the original secret cannot be computed. */
export function deriveSecret(secret: string, purpose: string): string {
  return createHmac('sha256', secret).update(purpose).digest('base64url');
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

/** Creates a file with a random secret that only its owner can read, unless the file exists. */
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

/** Replaces the content of a secret file atomically. */
export async function replaceSecretFile(path: string, secret: string): Promise<void> {
  const unfinished = `${path}.unfinished`;
  await writeFile(unfinished, `${secret}\n`, { mode: 0o600, flush: true });
  await rename(unfinished, path);
}

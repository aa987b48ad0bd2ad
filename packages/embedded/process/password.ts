import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const passwordFile = (dataDirectory: string): string => join(dataDirectory, 'password');

/** Reads the password of the engine in `dataDirectory`, a directory that only its owner can read. */
export function readPassword(dataDirectory: string): string {
  return readFileSync(passwordFile(dataDirectory), 'utf8');
}

/** Creates the password on the first start; the caller holds the directory's lock. */
export function ensurePassword(dataDirectory: string): string {
  try {
    writeFileSync(passwordFile(dataDirectory), randomBytes(24).toString('base64url'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readPassword(dataDirectory);
}

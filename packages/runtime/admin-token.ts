import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createSecret } from './secrets.ts';

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function path(config: Config): string {
  return join(config.DATA_DIR, 'admin-token');
}

/**
 * The admin token: the setting, else the file in the data directory.
 * @throws when there is neither
 */
export async function readAdminToken(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN !== undefined) return config.ADMIN_TOKEN;
  const token = (await readFile(path(config), 'utf8')).trim();
  if (token.length < 16) throw new Error(`${path(config)} holds no admin token`);
  return token;
}

/** The admin token, made on the first start in a file that only its owner can read. */
export async function ensureAdminToken(config: Config): Promise<string> {
  try {
    return await readAdminToken(config);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  await mkdir(config.DATA_DIR, { recursive: true });
  const file = await open(path(config), 'wx', 0o600).catch(() => undefined);
  // Somebody else made it in between.
  if (!file) return readAdminToken(config);
  const token = createSecret();
  await file.writeFile(`${token}\n`);
  await file.sync();
  await file.close();
  return token;
}

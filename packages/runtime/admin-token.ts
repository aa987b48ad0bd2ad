import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createSecretFile } from './secrets.ts';

const shortestToken = 16;

/**
 * The admin token: the setting, else the file in the data directory.
 * @throws when there is neither
 */
export async function readAdminToken(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN !== undefined) return config.ADMIN_TOKEN;
  const path = join(config.DATA_DIR, 'admin-token');
  const token = (await readFile(path, 'utf8')).trim();
  if (token.length < shortestToken) throw new Error(`${path} holds no admin token`);
  return token;
}

/** The admin token, made on the first start in a file that only its owner can read. */
export async function ensureAdminToken(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN === undefined) await createSecretFile(join(config.DATA_DIR, 'admin-token'));
  return readAdminToken(config);
}

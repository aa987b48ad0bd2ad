import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createSecret, createSecretFile, replaceSecretFile } from './secrets.ts';

const form = /^[^,\s]{16,}(,[^,\s]{16,})?$/;
const pathOf = (config: Config) => join(config.DATA_DIR, 'admin-token');

/** Splits ADMIN_TOKEN into its tokens, newest first; all of them are accepted. */
export function adminTokensOf(adminToken: string): readonly [string, ...string[]] {
  const [newest = '', ...older] = adminToken.split(',');
  return [newest, ...older];
}

/**
 * Reads ADMIN_TOKEN, else the file in the data directory.
 * @throws Error when there is neither, or the file is malformed
 */
export async function readAdminToken(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN !== undefined) return config.ADMIN_TOKEN;
  const token = (await readFile(pathOf(config), 'utf8')).trim();
  if (!form.test(token)) throw new Error(`${pathOf(config)} contains no admin token`);
  return token;
}

/** Reads the admin token; creates it at the first start in a file that only its owner can read. */
export async function ensureAdminToken(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN === undefined) await createSecretFile(pathOf(config));
  return readAdminToken(config);
}

/**
 * Puts a new admin token in front of the current one in the file; services accept both after a restart.
 * @throws Error when ADMIN_TOKEN is set, or a rotation is in progress
 */
export async function rotateAdminToken(config: Config): Promise<void> {
  const tokens = adminTokensOf(await readOwnFile(config));
  if (tokens.length > 1) throw new Error('a rotation is in progress: finish it with --finish');
  await replaceSecretFile(pathOf(config), `${createSecret()},${tokens[0]}`);
}

/**
 * Drops the older token from the file; services refuse it after a restart.
 * @throws Error when ADMIN_TOKEN is set, or no rotation is in progress
 */
export async function finishAdminTokenRotation(config: Config): Promise<void> {
  const tokens = adminTokensOf(await readOwnFile(config));
  if (tokens.length === 1) throw new Error('no rotation is in progress');
  await replaceSecretFile(pathOf(config), tokens[0]);
}

async function readOwnFile(config: Config): Promise<string> {
  if (config.ADMIN_TOKEN === undefined) return readAdminToken(config);
  throw new Error('ADMIN_TOKEN is set: change it to NEW,OLD, restart every service, then to NEW and restart again');
}

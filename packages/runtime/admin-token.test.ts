import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  adminTokensOf,
  ensureAdminToken,
  finishAdminTokenRotation,
  readAdminToken,
  rotateAdminToken,
} from './admin-token.ts';
import { readConfig } from './config.ts';

it('rotates the token of the file: both are valid until the rotation is finished, then only the new one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-token-'));
  const config = readConfig({ DATA_DIR: directory });
  const old = await ensureAdminToken(config);
  await rotateAdminToken(config);
  const [newest, second] = adminTokensOf(await ensureAdminToken(config));
  expect(second).toBe(old);
  expect(newest).not.toBe(old);
  await expect(rotateAdminToken(config)).rejects.toThrow('--finish');
  await finishAdminTokenRotation(config);
  expect(await readAdminToken(config)).toBe(newest);
  expect((await stat(join(directory, 'admin-token'))).mode & 0o777).toBe(0o600);
  await expect(finishAdminTokenRotation(config)).rejects.toThrow('no rotation');
  await rm(directory, { recursive: true });
});

it('explains how to rotate a token from the settings', async () => {
  const config = readConfig({ ADMIN_TOKEN: 'a'.repeat(16) });
  await expect(rotateAdminToken(config)).rejects.toThrow('NEW,OLD');
});

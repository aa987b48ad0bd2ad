import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('a setting in a file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-config-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is read from the file that NAME_FILE names, without the newline at its end', async () => {
    const file = join(directory, 'admin-token');
    await writeFile(file, 'a-token-of-an-operator\n');
    expect(readConfig({ ADMIN_TOKEN_FILE: file }).ADMIN_TOKEN).toBe('a-token-of-an-operator');
  });

  it('is reported by its name when the file cannot be read', () => {
    expect(() => readConfig({ ADMIN_TOKEN_FILE: join(directory, 'missing') })).toThrow('ADMIN_TOKEN_FILE: ENOENT');
  });
});

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '@odograph/runtime/config';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { useDirectory } from '@odograph/testkit/scopes';
import { expect, it } from 'vitest';
import { openEngines } from './engines.ts';

const directory = useDirectory();

it('leaves no engine running when another one fails to start', { timeout: 60_000 }, async () => {
  await copyTemplate('empty', join(directory, 'timescaledb'));
  // A file instead of a directory: the embedded Redis cannot start.
  await writeFile(join(directory, 'redis'), '');
  await expect(openEngines(readConfig({ DATA_DIR: directory }))).rejects.toThrow();
  expect(existsSync(join(directory, 'timescaledb', 'lock.json'))).toBe(false);
});

import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';

const newEnough = 'import sys; sys.exit(sys.version_info < (3, 11))';
const hasPython = spawnSync('python3', ['-c', newEnough]).status === 0;
const source = fileURLToPath(new URL('../../clients/python', import.meta.url));

let platform: TestPlatform;
let application: TestApplication;
let directory: string;

beforeAll(async () => {
  if (!hasPython) return;
  platform = await startTestPlatform(await loadServices());
  application = await createApplication(platform.db);
  for (const _ of [1, 2, 3]) await createVehicle(platform.db, application);
  directory = mkdtempSync(join(tmpdir(), 'odograph-python-'));
  cpSync(source, directory, { recursive: true });
});
afterAll(async () => {
  await platform?.stop();
  if (directory !== undefined) rmSync(directory, { recursive: true });
});

/** Runs a Python program of the client. @returns what it wrote */
async function run(...parameters: string[]): Promise<string> {
  const { appId, appKey } = application;
  const settings = [`ODOGRAPH_URL=${platform.httpUrl}`, `APP_ID=${appId}`, `APP_KEY=${appKey}`];
  const child = spawn('env', [...settings, 'python3', ...parameters], { cwd: directory });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return stdout + stderr;
}

it.skipIf(!hasPython)(
  'the Python client is generated from the running platform, and passes its own tests on it',
  async () => {
    expect(await run('generate.py', `${platform.httpUrl}/docs/json`)).toMatch(/^\d{3} operations in /);
    expect(await run('-m', 'unittest', '-v', 'test_client.py')).toMatch(/Ran 8 tests in [\s\S]*\nOK/);
  },
  120_000,
);

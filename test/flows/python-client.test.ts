import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment } from '@odograph/runtime/config';
import { platformVersion } from '@odograph/runtime/platform-version';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';

const hasPip =
  spawnSync('python3', ['-c', 'import pip, sys; sys.exit(sys.version_info < (3, 11))'], { stdio: 'ignore' }).status ===
  0;
const tests = fileURLToPath(new URL('../../clients/python/test_client.py', import.meta.url));

describe.skipIf(!hasPip)('the Python client of a platform', () => {
  let platform: TestPlatform;
  let application: TestApplication;
  let directory: string;

  beforeAll(async () => {
    platform = await startTestPlatform(await loadServices());
    application = await createApplication(platform.db);
    for (const _ of [1, 2, 3]) await createVehicle(platform.db, application);
    directory = mkdtempSync(join(tmpdir(), 'odograph-python-'));
    const wheel = `${platform.httpUrl}/odograph-${platformVersion()}-py3-none-any.whl`;
    await run('-m', 'pip', 'install', '--no-index', '--no-cache-dir', '--quiet', '--target', directory, wheel);
  });
  afterAll(async () => {
    await platform?.stop();
    if (directory !== undefined) rmSync(directory, { recursive: true });
  });

  /** Runs Python with the installed client. @returns the output */
  async function run(...parameters: string[]): Promise<string> {
    const { appId, appKey } = application;
    const settings = { ODOGRAPH_URL: platform.httpUrl, APP_ID: appId, APP_KEY: appKey, PYTHONPATH: directory };
    const { stdout, stderr } = await promisify(execFile)('python3', parameters, { env: childEnvironment(settings) });
    return stdout + stderr;
  }

  it('is installed by pip, and passes its own tests on the platform', async () => {
    expect(await run('-P', tests, '--verbose')).toMatch(/Ran 10 tests in [\s\S]*\nOK/);
  });

  it('is complete: pip finds each file unchanged, and the licence', async () => {
    const check = `import hashlib, base64, importlib.metadata as m
d = m.distribution('odograph')
for f in d.files:
    content = f.read_binary()
    assert not f.hash or base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=') == f.hash.value.encode()
print(d.version, sorted(f.name for f in d.files if 'licenses' in str(f)))`;
    expect(await run('-c', check)).toContain("['LICENSE', 'NOTICE']");
  });
});

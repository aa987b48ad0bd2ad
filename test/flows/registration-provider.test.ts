import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { spawnPlatform } from '@odograph/testkit/child-platform';
import { createApplication } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { testAdminToken, testConfig } from '@odograph/testkit/test-platform';
import { describe, expect, it } from 'vitest';

describe('a provider of registration data', () => {
  it('never exposes its key in logs or answers, however it fails', async () => {
    const key = 'the-key-that-nobody-sees';
    const keys: unknown[] = [];
    const ends = [500, 302, 200, 0];
    const provider = createServer((request, response) => {
      keys.push(request.headers['authorization']);
      const status = ends[keys.length - 1] ?? 0;
      if (status === 0) request.socket.destroy();
      // A hostile provider echoes the key.
      else response.writeHead(status, { location: `http://127.0.0.1:1/${key}` }).end(`not JSON: ${key}`);
    }).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    const directory = await mkdtemp(join(tmpdir(), 'odograph-provider-'));
    const file = join(directory, 'provider.json');
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/{plate}`;
    await writeFile(file, JSON.stringify({ url, keyHeader: 'authorization', fields: { brand: 'make' } }));
    const config = await testConfig();
    const platform = await spawnPlatform(['registration'], {
      DATABASE_URL: config.DATABASE_URL,
      REDIS_URL: config.REDIS_URL,
      QUEUE_PREFIX: config.QUEUE_PREFIX,
      DATA_DIR: directory,
      ADMIN_TOKEN: testAdminToken,
      HTTP_PORT: String(await freePort()),
      LOG_LEVEL: 'trace',
      REGISTRATION_PROVIDER_KEY: `Bearer ${key}`,
      REGISTRATION_PROVIDER: file,
    });
    const db = openDatabase({ url: config.DATABASE_URL, name: 'test', size: 1 });
    const client = platform.as((await createApplication(db)).token);
    const answers = [];
    for (const plate of ['RH-001-RA', 'RH-002-RA', 'RH-003-RA', 'RH-004-RA']) {
      answers.push(await client.get(`/v1/siv/fr/${plate}`));
    }
    const health = await fetch(`${platform.httpUrl}/metrics`);
    const seen = JSON.stringify([answers, await health.text()]);
    await db.destroy();
    expect(await platform.end('SIGTERM')).toBe(0);
    provider.closeAllConnections();
    provider.close();
    await rm(directory, { recursive: true, force: true });

    expect(keys).toEqual(ends.map(() => `Bearer ${key}`));
    expect(answers.map(({ body }) => body.reason)).toEqual(ends.map(() => 'PROVIDER_UNAVAILABLE'));
    expect(platform.output().match(/"reason":"[^"]*"/g)).toEqual(
      ['status-500', 'redirect', 'malformed', 'unreachable'].map((reason) => `"reason":"${reason}"`),
    );
    expect(seen + platform.output()).not.toContain(key);
  }, 90_000);
});

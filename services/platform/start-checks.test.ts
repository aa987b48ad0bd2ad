import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@odograph/database/database';
import { childEnvironment, readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { spawnServices } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { watchRedisDurability } from './platform.ts';
import { checkBeforeStart, checkDatabase, checkRedis, requireSupported } from './start-checks.ts';

let directory: string;

beforeEach(async () => {
  directory = createTestDirectory();
});

/** Starts the platform as `npm start` does and collects what it prints. */
async function start(settings: Record<string, string>, services: readonly string[] = []) {
  const startedAt = performance.now();
  const engines = { DATABASE_URL: testDatabaseUrl(), REDIS_URL: inject('redisUrl'), DATA_DIR: directory };
  const secrets = { ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys };
  const given = { ...engines, ...secrets, LOG_LEVEL: 'silent', HTTP_PORT: '0', ...settings };
  const child = spawnServices([...services, '--allow-unreadable-values'], childEnvironment(given));
  const closed = once(child, 'close') as Promise<[number]>;
  const [[code], errors, log] = await Promise.all([closed, text(child.stderr), text(child.stdout)]);
  return { code, errors, log, seconds: (performance.now() - startedAt) / 1000 };
}

describe('a start that cannot succeed', { timeout: 90_000 }, () => {
  it('ends with 1 and one line without the password when PostgreSQL or Redis is not reachable', async () => {
    const engines = [
      ['PostgreSQL', 'DATABASE_URL', (port: number) => `postgres://user:planted@127.0.0.1:${port}/fleet`],
      ['Redis', 'REDIS_URL', (port: number) => `redis://:planted@127.0.0.1:${port}`],
    ] as const;
    // Both at once, since each waits for its engine for some seconds.
    const starts = engines.map(async ([engine, setting, urlOf]) => {
      const port = await freePort();
      const { code, errors, log, seconds } = await start({ [setting]: urlOf(port), LOG_LEVEL: 'trace' });
      expect(errors).toBe(`${setting}: ${engine} at 127.0.0.1:${port} is not reachable (ECONNREFUSED)\n`);
      expect(code).toBe(1);
      expect(log).not.toContain('planted');
      expect(seconds).toBeLessThan(30);
    });
    await Promise.all(starts);
  });

  it.each(['HTTP_PORT', 'MQTT_PORT', 'TELTONIKA_PORT'])('names %s when its port is busy', async (setting) => {
    const port = await freePort();
    const busy = createServer().listen(port, '127.0.0.1');
    await once(busy, 'listening');
    const { code, errors } = await start({ MQTT_PORT: String(await freePort()), [setting]: String(port) });
    busy.close();
    const fact = 'is already in use; stop the other program or choose another port';
    expect(errors).toBe(`${setting}: port ${port} of 127.0.0.1 ${fact}\n`);
    expect(code).toBe(1);
  });

  it('names DATA_DIR when it cannot be written', async () => {
    const file = join(directory, 'file');
    await writeFile(file, '');
    const config = readConfig({ DATA_DIR: join(file, 'data') });
    await expect(checkBeforeStart(config, [])).rejects.toThrow(`DATA_DIR: ${config.DATA_DIR} is not a directory`);
  });

  it('names a wrong password of PostgreSQL', async () => {
    const server = createServer((socket) => {
      // AuthenticationCleartextPassword is not needed to refuse a startup (PostgreSQL, "Message Formats").
      const fields = Buffer.from('SFATAL\0C28P01\0Mpassword authentication failed\0\0');
      const length = Buffer.alloc(4);
      length.writeInt32BE(fields.length + 4);
      socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, fields])));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const check = checkDatabase('DATABASE_URL', `postgres://user:secret@127.0.0.1:${port}/fleet`, 0);
    await expect(check).rejects.toThrow(
      `DATABASE_URL: PostgreSQL at 127.0.0.1:${port} rejects user "user" or the password`,
    );
    server.close();
  });

  it.each([
    [{ postgres: '14.9' }, 'DATABASE_URL: db:5432 has version 14.9; 15 or newer is required'],
    [{ timescale: null }, 'DATABASE_URL: db:5432 has no TimescaleDB; install the extension'],
    [{ timescale: '2.13.1' }, 'DATABASE_URL: TimescaleDB 2.13.1 is too old; 2.14 or newer is required'],
    [
      { preloaded: false },
      'DATABASE_URL: db:5432 does not preload TimescaleDB; add timescaledb to shared_preload_libraries',
    ],
  ])('names an engine with %j', (change, message) => {
    const facts = { postgres: '15.4', timescale: '2.14.0', preloaded: true };
    expect(() => requireSupported('DATABASE_URL', 'db:5432', facts)).not.toThrow();
    expect(() => requireSupported('DATABASE_URL', 'db:5432', { ...facts, ...change })).toThrow(message);
  });

  it('names the missing database, without the password', async () => {
    const url = new URL(testDatabaseUrl());
    url.pathname = '/missing';
    url.password = 'secret';
    const failure = await checkDatabase('DATABASE_URL', url.href, 0).catch((error: Error) => error.message);
    expect(failure).toMatch(/^DATABASE_URL: PostgreSQL at \S+ (has no database "missing"|rejects user)/);
    expect(failure).not.toContain('secret');
  });
});

describe('a database that a newer version migrated', { timeout: 120_000 }, () => {
  let database: OwnDatabase;
  const refusal =
    /^(MIGRATION_)?DATABASE_URL: a newer version migrated the database: this one does not know 9001_of_tomorrow\.sql; .*\n$/;

  /** Runs the command of docs/operating.md. */
  function npmRunMigrate() {
    const env = childEnvironment({ MIGRATION_DATABASE_URL: database.url });
    const cwd = fileURLToPath(new URL('../../', import.meta.url));
    return spawnSync('npm', ['run', '--silent', 'migrate'], { env, cwd, encoding: 'utf8' });
  }

  async function change(statement: string): Promise<unknown[]> {
    const db = openDatabase({ url: database.url, name: 'test', size: 1 });
    try {
      return (await sql.raw(statement).execute(db)).rows;
    } finally {
      await db.destroy();
    }
  }

  /** All state that a start could write before its first request. */
  const contentOf = () =>
    change(`select (select jsonb_agg(migration order by name) from migration) as migrations,
      (select jsonb_agg(installation) from installation) as installation, list_schema_objects() as objects`);

  beforeAll(async () => {
    database = await createOwnDatabase('newer');
    await change("insert into migration (name, sha256) values ('9001_of_tomorrow.sql', '')");
    // As long as they are missing, a start would apply them.
    await change("delete from migration where name like 'device_models_%'");
  });
  afterAll(() => database.drop());

  it.each([[[]], [['broker']], [['ingest']]])(
    'ends the start of %j with one line, and is not touched',
    async (names) => {
      const before = await contentOf();
      const { code, errors } = await start({ DATABASE_URL: database.url }, names);
      expect([code, errors]).toEqual([1, expect.stringMatching(refusal)]);
      expect(await contentOf()).toEqual(before);
    },
  );

  it('is refused by `npm run migrate` with one line, as one from before 0.1.0, and migrated once it is of this version', async () => {
    const before = await contentOf();
    const refused = npmRunMigrate();
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([1, '', expect.stringMatching(refusal)]);
    expect(await contentOf()).toEqual(before);
    await change("delete from migration where name = '9001_of_tomorrow.sql'");
    await change("insert into migration (name, sha256) values ('0004_ingest_barrier.sql', '')");
    expect(npmRunMigrate().stderr).toMatch(/^(MIGRATION_)?DATABASE_URL: the database is from before 0\.1\.0, .*\n$/);
    await change("delete from migration where name = '0004_ingest_barrier.sql'");
    // The systemd units and the Helm chart set CELL for the services only.
    await change('update installation set cell = 3');
    await change("insert into application (app_id, name, app_key_sha256) values ('c3-app', 'fleet', '')");
    const { status, stdout } = npmRunMigrate();
    expect([status, JSON.parse(stdout)]).toEqual([0, { applied: [expect.stringMatching(/^device_models_/)] }]);
  });
});

describe('the check of Redis', { timeout: 60_000 }, () => {
  let server: RedisServer;
  let redis: Redis;

  beforeEach(async () => {
    server = await spawnRedis(directory);
    redis = connectRedis(server.url, createLogger('silent'));
    await once(redis, 'ready');
  });
  afterEach(async () => {
    redis.disconnect();
    await server.end('SIGKILL');
  });

  it('accepts the settings of infra/redis.conf', async () => {
    await expect(checkRedis(readConfig({ REDIS_URL: server.url }))).resolves.toBeUndefined();
  });

  it.each([
    ['appendonly', 'no'],
    ['appendfsync', 'everysec'],
    ['maxmemory-policy', 'allkeys-lru'],
  ])('rejects %s %s, unless REDIS_ALLOW_DATA_LOSS permits it', async (name, value) => {
    await redis.config('SET', name, value);
    const check = (settings: object) => checkRedis(readConfig({ REDIS_URL: server.url, ...settings }));
    await expect(check({})).rejects.toThrow(
      new RegExp(`^REDIS_URL: Redis at 127.0.0.1:${server.port} could lose acknowledged uploads: ${name} is ${value}`),
    );
    await check({ REDIS_ALLOW_DATA_LOSS: 'true' });
  });

  it('names a wrong password', async () => {
    await redis.config('SET', 'requirepass', 'right');
    const config = readConfig({ REDIS_URL: `redis://:wrong@127.0.0.1:${server.port}` });
    await expect(checkRedis(config)).rejects.toThrow('rejects the user or password (WRONGPASS)');
  });

  it('turns /health red and the metric to 0 when the settings change while running', async () => {
    const metrics = new Registry();
    const closes: (() => unknown)[] = [];
    const host = {
      config: await testConfig({ REDIS_URL: server.url }),
      logger: createLogger('silent'),
      metrics,
      onStop: (_name: string, close: () => unknown) => void closes.push(close),
    };
    const watch = watchRedisDurability(host, 50);
    await eventually(async () => expect(watch.health()).toEqual({ ok: true, state: 'durable' }));
    await redis.config('SET', 'appendfsync', 'everysec');
    await eventually(async () => expect(watch.health()).toMatchObject({ ok: false }));
    expect(await metrics.metrics()).toContain('odograph_redis_durable 0');
    for (const close of closes) close();
  });

  it('stays red for the settings of one server while another is unavailable', async () => {
    const closes: (() => unknown)[] = [];
    const host = {
      config: await testConfig({ REDIS_URL: `${server.url},redis://127.0.0.1:${await freePort()}` }),
      logger: createLogger('silent'),
      metrics: new Registry(),
      onStop: (_name: string, close: () => unknown) => void closes.push(close),
    };
    await redis.config('SET', 'appendfsync', 'everysec');
    const watch = watchRedisDurability(host, 50);
    await eventually(async () =>
      expect(watch.health()).toEqual({
        ok: false,
        state:
          'can lose acknowledged uploads: appendfsync is everysec instead of always; unreachable in REDIS_URL: server 2',
      }),
    );
    for (const close of closes) close();
  });
});

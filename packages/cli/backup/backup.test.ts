import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { appendAudit } from '@odograph/database/audit';
import { openDatabase } from '@odograph/database/database';
import { findDatabaseFaults, findLastBackup } from '@odograph/database/installation';
import { migrate } from '@odograph/database/migrate';
import { sqlState } from '@odograph/database/postgres-failure';
import { type EmbeddedTimescale, startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { childEnvironment } from '@odograph/runtime/config';
import { quarantineContext, Sealer } from '@odograph/runtime/sealing';
import { compressReadings } from '@odograph/testkit/compress-readings';
import {
  createApplication,
  createGroup,
  createUser,
  createVehicle,
  type TestApplication,
} from '@odograph/testkit/fixtures';
import { copyTemplate, createOwnDatabase } from '@odograph/testkit/global-setup';
import { testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import { type ArchiveEntry, readArchive, writeArchive } from './archive.ts';
import { createBackup, plainSettings } from './backup.ts';
import type { Manifest } from './manifest.ts';
import { restoreBackup } from './restore.ts';

const passphrase = 'correct horse battery staple';
const hookTimeoutMs = 120_000;
let directory: string;
let source: EmbeddedTimescale;
let redisUrl: string;
let file: string;

/** Fills a database with rows that are hard to dump: several chunks, one compressed, binary data, line feeds, nulls. */
async function fillDatabase(url: string): Promise<{ application: TestApplication; vehicleId: string }> {
  const db = openDatabase({ url, name: 'test', size: 1 });
  const application = await createApplication(db);
  const { id } = await createVehicle(db, application);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, speed, can, device_id, received_at)
    select timestamptz '2026-01-01' + n * interval '6 hours', ${application.id}, ${id}::integer, n / 7.0, null,
      jsonb_build_array(jsonb_build_object('key', 'text', 'value', E'line\nfeed\ttab \\ "é"')), 'device', now()
    from generate_series(1, 100) as n`.execute(db);
  await sql`select compress_chunk(show_chunks('reading', older_than => timestamptz '2026-01-09'))`.execute(db);
  await sql`insert into reading_change (application_id, vehicle_ids, times)
    values (${application.id}, array[${id}::integer], array[now()])`.execute(db);
  await sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
    values ('device', now(), ${Buffer.from([0, 10, 13, 92, 255])}, 5, '\\x00', '[]')`.execute(db);
  for (const chain of [0, application.id]) {
    const entry = { chain, actor: 'operator', address: '', action: 'test', subject: 'a\nb', outcome: 'done' };
    await appendAudit(db, entry);
  }
  await db.destroy();
  return { application, vehicleId: id };
}

/** Grants a user a group with a vehicle. */
async function grantGroup(url: string, { application, vehicleId }: Awaited<ReturnType<typeof fillDatabase>>) {
  const db = openDatabase({ url, name: 'test', size: 1 });
  const parentId = await createGroup(db, application);
  await createGroup(db, application, { parentId, vehicleIds: [vehicleId] });
  const { id } = await createUser(db, application);
  await sql`insert into group_grant (user_id, application_id, group_id, role)
    values (${id}, ${application.id}, ${parentId}, 'viewer')`.execute(db);
  await db.destroy();
}

async function manifestOf(path: string): Promise<Manifest> {
  for await (const { name, content } of readArchive(path)) {
    if (name === 'manifest.json') return JSON.parse(content.toString('utf8')) as Manifest;
  }
  throw new Error('no manifest');
}

/** Copies a backup with other entries; those without content are left out. */
async function copyArchive(name: string, change: (entry: ArchiveEntry) => Buffer | undefined): Promise<string> {
  const path = join(directory, name);
  await writeArchive(path, async (archive) => {
    for await (const entry of readArchive(file)) {
      const content = change(entry);
      if (content !== undefined) await archive.add(entry.name, content);
    }
  });
  return path;
}

async function sqlOn(url: string, statement: string): Promise<void> {
  const db = openDatabase({ url, name: 'test', size: 1 });
  await sql.raw(statement).execute(db);
  await db.destroy();
}

/** Settings of a command on a database. */
const environmentOf = (databaseUrl: string) =>
  childEnvironment({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, DATA_DIR: directory });

async function withEngine<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const dataDirectory = await mkdtemp(join(directory, 'target-'));
  await copyTemplate('empty', dataDirectory);
  const engine = await startEmbeddedTimescale({ dataDirectory });
  try {
    return await use(engine.url);
  } finally {
    await engine.stop();
  }
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-backup-'));
  await copyTemplate('migrated', join(directory, 'source'));
  source = await startEmbeddedTimescale({ dataDirectory: join(directory, 'source') });
  await migrate(source.url);
  await grantGroup(source.url, await fillDatabase(source.url));
  await sqlOn(source.url, 'update installation set cell = 7');
  const config = await testConfig();
  redisUrl = config.REDIS_URL;
  file = join(directory, 'odograph.backup');
  await createBackup(config, { databaseUrl: source.url, redisUrl }, file, passphrase);
  await source.stop();
  await rm(join(directory, 'source'), { recursive: true });
}, hookTimeoutMs);
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('backup and restore', { timeout: 2 * hookTimeoutMs }, () => {
  it('restores every table, sequence and audit chain of a destroyed database, once', async () => {
    const before = await manifestOf(file);
    expect(before.tables.find(({ name }) => name === 'reading')?.rows).toBe(100);
    const config = await testConfig();
    await withEngine(async (databaseUrl) => {
      const report = await restoreBackup(config, { databaseUrl }, file, passphrase);
      expect(report).toMatchObject({ queued: 'none', keys: expect.stringContaining('restored') });
      const copy = join(directory, 'copy.backup');
      const db = openDatabase({ url: databaseUrl, name: 'test', size: 1 });
      expect(await findLastBackup(db)).toBeUndefined();
      const { sha256 } = await createBackup(config, { databaseUrl, redisUrl }, copy, undefined);
      expect(sha256).toBe(
        createHash('sha256')
          .update(await readFile(copy))
          .digest('hex'),
      );
      expect(await findLastBackup(db)).toEqual({
        ...{ completedAt: expect.any(Date), bytes: (await stat(copy)).size },
        schema: expect.stringMatching(/^\d{4}_.*\.sql$/),
      });
      // The cell of the database is kept, although the command has another CELL.
      expect((await sql`select cell from installation`.execute(db)).rows).toEqual([{ cell: 7 }]);
      // Access through groups is restored, and follows their changes again.
      const access = sql`select role from vehicle_access`;
      expect((await access.execute(db)).rows).toEqual([{ role: 'viewer' }]);
      await sql`delete from vehicle_group_member`.execute(db);
      expect((await access.execute(db)).rows).toEqual([]);
      await db.destroy();
      const after = await manifestOf(copy);
      // Both hold transaction numbers, which start over in another database.
      const renumbered = new Set(['application', 'reading_change', 'event']);
      const comparable = ({ tables }: Manifest) =>
        tables.map((table) => (renumbered.has(table.name) ? { ...table, sha256: '' } : table));
      expect(comparable(after)).toEqual(comparable(before));
      expect([after.audit, after.sequences]).toEqual([before.audit, before.sequences]);
      await expect(restoreBackup(config, { databaseUrl }, file, undefined)).rejects.toThrow('not empty');
    });
    const key = await readFile(join(config.DATA_DIR, 'encryption-key'), 'utf8');
    expect(key.trim()).toBe(testEncryptionKeys);
  });

  it('has the late readings of a week that is compressed again while it is written', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    const database = await createOwnDatabase('backup');
    const db = openDatabase({ url: database.url, name: 'test', size: 2 });
    try {
      const { application, vehicleId } = await fillDatabase(database.url);
      await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
        select timestamptz '2026-01-01' + n * interval '1 minute', ${application.id}, ${vehicleId}::integer, 'device', now()
        from generate_series(1, 50) as n`.execute(db);
      const copy = join(directory, 'compressed.backup');
      const engines = { databaseUrl: database.url, redisUrl };
      const config = await testConfig();
      const [backup] = await db.transaction().execute(async (trx) => {
        // The backup has its snapshot and comes to the readings after this table.
        await sql`lock table parking in access exclusive mode`.execute(trx);
        const writing = [createBackup(config, engines, copy, undefined)];
        await waitForLock(trx);
        // As maintenance compresses, which leaves the chunk for its next run then.
        const compressing = db.transaction().execute(async (compression) => {
          await sql`set local lock_timeout = '1s'`.execute(compression);
          await compressReadings(compression, Date.UTC(2026, 0, 1) / 1000, Date.UTC(2026, 0, 2) / 1000);
        });
        expect(['55P03', '40001']).toContain(await compressing.then(() => undefined, sqlState));
        return writing;
      });
      await backup;
      expect((await manifestOf(copy)).tables.find(({ name }) => name === 'reading')?.rows).toBe(150);
    } finally {
      await db.destroy();
      await database.drop();
    }
  });

  it('says when its keys do not decrypt everything', async () => {
    const database = await createOwnDatabase('backupkeys');
    const db = openDatabase({ url: database.url, name: 'test', size: 1 });
    const payload = new Sealer([testEncryptionKeys], 'quarantine').seal(Buffer.from('upload'), quarantineContext('d'));
    await sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
      values ('d', now(), ${payload}, 6, '\\x00', '[]')`.execute(db);
    await db.destroy();
    const back = async (keys: string | undefined) => {
      const { ENCRYPTION_KEYS: _, ...others } = await testConfig();
      const given = keys === undefined ? {} : { ENCRYPTION_KEYS: keys };
      const config = { ...others, ...given, DATA_DIR: join(directory, 'no keys') };
      const engines = { databaseUrl: database.url, redisUrl };
      const { keys: described, lacksKeys } = await createBackup(config, engines, join(directory, 'keys'), passphrase);
      return [described, lacksKeys];
    };
    const incomplete = [
      expect.stringMatching(/^encrypted, but incomplete: .* cannot read 1 quarantined uploads$/),
      true,
    ];
    try {
      expect(await back(testEncryptionKeys)).toEqual(['encrypted', false]);
      expect(await back(undefined)).toEqual(incomplete);
      expect(await back('another-encryption-key-of-the-tests-0123')).toEqual(incomplete);
    } finally {
      await database.drop();
    }
  });

  it('omits secrets from the plain-text settings', () => {
    const secrets = {
      OIDC_CLIENT_SECRET: 'secret of the client',
      OIDC_PROVIDERS: '[{"clientSecret":"secret of another client"}]',
      METRICS_TOKEN: 'secret of the metrics',
    };
    expect(JSON.stringify(plainSettings(secrets))).not.toContain('secret of');
  });

  it('contains no key in clear, and refuses a wrong passphrase and a damaged file before it changes anything', async () => {
    const content = await readFile(file);
    expect(content.includes(testEncryptionKeys)).toBe(false);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const config = await testConfig();
    const nowhere = { databaseUrl: 'postgres://127.0.0.1:1/none' };
    await expect(restoreBackup(config, nowhere, file, 'another passphrase')).rejects.toThrow('wrong passphrase');
  });

  it('is complete when another backup writes to the same file concurrently', async () => {
    const path = join(directory, 'twice.backup');
    const content = Buffer.alloc(100_000, 'rows');
    const contents = async () => {
      const names: string[] = [];
      for await (const { name } of readArchive(path)) names.push(name);
      return names;
    };
    await writeArchive(path, async (archive) => {
      await archive.add('first', content);
      await writeArchive(path, (another) => another.add('second', content));
      expect(await contents()).toEqual(['second']);
    });
    expect(await contents()).toEqual(['first']);
  });

  it('names the file and the place where it is damaged or cut off', async () => {
    const content = await readFile(file);
    const refusalOf = async (path: string): Promise<string> => {
      const refused = restoreBackup(
        await testConfig(),
        { databaseUrl: 'postgres://127.0.0.1:1/none' },
        path,
        undefined,
      );
      return refused.then(
        () => 'restored',
        ({ message }: Error) => message.replaceAll(path, 'FILE'),
      );
    };
    const entries: ArchiveEntry[] = [];
    for await (const entry of readArchive(file)) entries.push(entry);
    const part = entries.find(({ name }) => name.startsWith('tables/reading/'));
    if (part === undefined) throw new Error('no part');
    const place = `${part.name}, which begins at byte ${part.byteOffset}`;

    const cut = join(directory, 'cut.backup');
    await writeFile(cut, content.subarray(0, part.byteOffset + 600));
    expect(await refusalOf(cut)).toBe(`FILE is damaged in ${place}: Unexpected end of data`);

    const flipped = join(directory, 'flipped.backup');
    const position = part.byteOffset + 512 + Math.floor(part.content.length / 2);
    const damaged = Buffer.from(content);
    damaged[position] = (damaged[position] ?? 0) ^ 0xff;
    await writeFile(flipped, damaged);
    expect(await refusalOf(flipped)).toMatch(`FILE is damaged in ${place}: `);

    const other = await copyArchive('other.backup', (entry) =>
      entry.name === part.name ? gzipSync('other rows\n') : entry.content,
    );
    expect(await refusalOf(other)).toMatch(/^FILE is damaged: table reading, .* differs from its SHA-256$/);
    const incomplete = await copyArchive('incomplete.backup', ({ name, content: own }) =>
      name === 'manifest.json' ? undefined : own,
    );
    expect(await refusalOf(incomplete)).toMatch(/^FILE is not a complete backup: it ends after keys\.json, /);
  });

  it('of a newer version is rejected with one line, before the database is opened', async () => {
    const newer = await copyArchive('newer.backup', ({ name, content }) => {
      if (name !== 'manifest.json') return content;
      const manifest = JSON.parse(content.toString('utf8')) as Manifest;
      const migrations = [...manifest.migrations, { name: '9001_of_tomorrow.sql', sha256: '' }];
      return Buffer.from(JSON.stringify({ ...manifest, version: '9.9.9', migrations }));
    });
    const refused = restoreBackup(await testConfig(), { databaseUrl: 'postgres://127.0.0.1:1/none' }, newer, undefined);
    await expect(refused).rejects.toThrow(
      /is of version 9\.9\.9 with schema 9001_of_tomorrow\.sql, which is newer than this version, \d+\.\d+\.\d+: restore it/,
    );
  });

  it('from before 0.1.0 is rejected with one line', async () => {
    const prerelease = await copyArchive('prerelease.backup', ({ name, content }) => {
      if (name !== 'manifest.json') return content;
      const manifest = JSON.parse(content.toString('utf8')) as Manifest;
      return Buffer.from(
        JSON.stringify({ ...manifest, migrations: [{ name: '0004_ingest_barrier.sql', sha256: '' }] }),
      );
    });
    const refused = restoreBackup(
      await testConfig(),
      { databaseUrl: 'postgres://127.0.0.1:1/none' },
      prerelease,
      undefined,
    );
    await expect(refused).rejects.toThrow(/is from before 0\.1\.0, which cannot be restored by this version$/);
  });

  it('of an older version is migrated; a changed audit is restored and reported with exit code 1', async () => {
    const shipped = (await readdir(new URL('../../../migrations/', import.meta.url))).filter((name) =>
      name.endsWith('.sql'),
    );
    const older = shipped.filter((name) => name <= '0009_events_and_webhooks.sql');
    const path = join(directory, 'older.backup');
    await writeFile(path, 'an earlier backup');
    await withEngine(async (databaseUrl) => {
      await migrate(databaseUrl, { only: older });
      await sqlOn(
        databaseUrl,
        "insert into device_model (id, actions, proprietary_can, bluetooth, shipped) values ('generic', '{}', false, false, true)",
      );
      await fillDatabase(databaseUrl);
      await sqlOn(databaseUrl, 'alter table audit disable trigger audit_append_only');
      await sqlOn(databaseUrl, "update audit set outcome = 'changed' where chain = 0");
      await sqlOn(databaseUrl, 'alter table audit enable trigger audit_append_only');
      const environment = environmentOf(databaseUrl);
      await expect(runCommandLine(['backup', path], environment)).rejects.toThrow(`${path} exists`);
      expect(await readFile(path, 'utf8')).toBe('an earlier backup');
      expect(JSON.parse(await runCommandLine(['backup', path, '--overwrite'], environment))).toMatchObject({
        ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), schema: '0009_events_and_webhooks.sql' },
        keys: expect.stringMatching(/without ENCRYPTION_KEYS .* cannot read 1 quarantined uploads;/),
      });
    });
    await withEngine(async (databaseUrl) => {
      const commandLine = fileURLToPath(new URL('../bin.mjs', import.meta.url));
      const restored = spawnSync(process.execPath, [commandLine, 'restore', path], {
        ...{ env: environmentOf(databaseUrl), encoding: 'utf8' },
      });
      const report = JSON.parse(restored.stdout);
      expect([restored.status, restored.stderr]).toEqual([
        ...[1, expect.stringMatching(/everything is restored, but the audit was changed: chain 0 does not verify/)],
      ]);
      expect(report).toMatchObject({ schema: '0009_events_and_webhooks.sql', isAuditIntact: false });
      expect(report.applied).toEqual([
        ...shipped.filter((name) => !older.includes(name)),
        ...[expect.stringMatching(/^device_models_/)],
      ]);
      expect(await findDatabaseFaults(databaseUrl)).toEqual([]);
      const db = openDatabase({ url: databaseUrl, name: 'test', size: 1 });
      const { rows } = await sql`select (select count(*)::integer from reading) as readings,
        (select count(*)::integer from device_model) > 0 as models`.execute(db);
      expect(rows).toEqual([{ readings: 100, models: true }]);
      await db.destroy();
      // A database at a newer schema cannot take the rows of an older one.
      await sqlOn(databaseUrl, 'alter table audit disable trigger user');
      await sqlOn(databaseUrl, 'truncate application, vehicle, device, reading, quarantine, audit cascade');
      const again = restoreBackup(await testConfig(), { databaseUrl }, path, undefined);
      await expect(again).rejects.toThrow('restore into a new database');
    });
  });
});

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appendAudit } from '@odograph/database/audit';
import { openDatabase } from '@odograph/database/database';
import { findLastBackup } from '@odograph/database/installation';
import { migrate } from '@odograph/database/migrate';
import { type EmbeddedTimescale, startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readArchive } from './archive.ts';
import { createBackup } from './backup.ts';
import type { Manifest } from './manifest.ts';
import { restoreBackup } from './restore.ts';

const passphrase = 'correct horse battery staple';
const hookTimeoutMs = 120_000;
let directory: string;
let source: EmbeddedTimescale;
let redisUrl: string;
let file: string;

/** Fills a database with rows that are hard to dump: several chunks, one compressed, binary data, line feeds, nulls. */
async function fillDatabase(url: string): Promise<void> {
  await migrate(url);
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
}

async function manifestOf(path: string): Promise<Manifest> {
  for await (const { name, content } of readArchive(path)) {
    if (name === 'manifest.json') return JSON.parse(content.toString('utf8')) as Manifest;
  }
  throw new Error('no manifest');
}

async function withEngine<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const engine = await startEmbeddedTimescale({ dataDirectory: await mkdtemp(join(directory, 'target-')) });
  try {
    return await use(engine.url);
  } finally {
    await engine.stop();
  }
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-backup-'));
  source = await startEmbeddedTimescale({ dataDirectory: join(directory, 'source') });
  await fillDatabase(source.url);
  const config = await testConfig();
  redisUrl = config.REDIS_URL;
  file = join(directory, 'odograph.backup');
  await createBackup(config, { databaseUrl: source.url, redisUrl }, file, passphrase);
  await source.stop();
  await rm(join(directory, 'source'), { recursive: true });
}, hookTimeoutMs);
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('backup and restore', { timeout: hookTimeoutMs }, () => {
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
      await createBackup(config, { databaseUrl, redisUrl }, copy, undefined);
      expect(await findLastBackup(db)).toEqual({
        ...{ completedAt: expect.any(Date), bytes: (await stat(copy)).size },
        schema: expect.stringMatching(/^\d{4}_.*\.sql$/),
      });
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

  it('contains no key in clear, and refuses a wrong passphrase and a damaged file before it changes anything', async () => {
    const content = await readFile(file);
    expect(content.includes(testEncryptionKeys)).toBe(false);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const config = await testConfig();
    const nowhere = { databaseUrl: 'postgres://127.0.0.1:1/none' };
    await expect(restoreBackup(config, nowhere, file, 'another passphrase')).rejects.toThrow('wrong passphrase');
    const cut = join(directory, 'cut.backup');
    await writeFile(cut, content.subarray(0, content.length / 2));
    await expect(restoreBackup(config, nowhere, cut, passphrase)).rejects.toThrow();
  });
});

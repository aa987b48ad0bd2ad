import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appendAudit } from '@odograph/database/audit';
import { type Database, openDatabase } from '@odograph/database/database';
import { recordBackup } from '@odograph/database/installation';
import { childEnvironment } from '@odograph/runtime/config';
import { quarantineContext, Sealer } from '@odograph/runtime/sealing';
import { applyDatabaseRoles, roleSettings, urlInRole } from '@odograph/testkit/database-roles';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { useDirectory } from '@odograph/testkit/scopes';
import { testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Check, checkCertificate, checkClock, checkSkew } from './check.ts';
import { checkDatabase, checkDatabaseSettings, type DatabaseState } from './database.ts';
import { checkRedisSettings, checkRedisState, checkSchedules } from './redis.ts';

const commandLine = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const dayMs = 86_400_000;
const directory = useDirectory();

/** Creates a self-signed certificate with its key. */
function createCertificate(name: string, days: number): { key: string; certificate: string } {
  const [key, certificate] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', key, '-out', certificate, '-days', String(days), '-subj', '/CN=test'];
  execFileSync('openssl', [...request, ...files], { stdio: 'ignore' });
  return { key, certificate };
}

/** Runs `npx odograph doctor`. @returns its checks by name */
function diagnose(settings: Record<string, string>): Map<string, Check> {
  const env = childEnvironment({ ODOGRAPH_URL: 'http://127.0.0.1:1', ...settings });
  const { stdout, stderr } = spawnSync(process.execPath, [commandLine, 'doctor'], { env, encoding: 'utf8' });
  expect(stderr).toBe('');
  return new Map((JSON.parse(stdout) as Check[]).map((one) => [one.check, one]));
}

it('reports a clock that is more than a second off', () => {
  const at = (clockMs: number) => checkClock('clock', { clockMs, beforeMs: 4990, afterMs: 5010 });
  expect(at(5000).result).toBe('ok');
  expect(at(3900)).toMatchObject({ result: 'fault', remedy: expect.stringContaining('NTP') });
  expect(at(7000).result).toBe('fault');
});

it('reports two engines whose clocks are more than a second apart, whatever the clock of this host', () => {
  const reading = (clockMs: number) => ({ clockMs, beforeMs: 4990, afterMs: 5010 });
  expect(checkSkew('clocks', reading(95_000), reading(95_900)).result).toBe('ok');
  expect(checkSkew('clocks', reading(4000), reading(5500))).toMatchObject({ result: 'fault', detail: '1480 ms apart' });
});

it('reports settings and versions of PostgreSQL that can lose what was stored', () => {
  const good: DatabaseState = {
    ...{ postgres: '17.2 (Debian)', timescale: '2.23.0', isEmbedded: false, oldestTransactionMinutes: 0.1 },
    ...{ fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on', maxConnections: 100, reservedConnections: 3 },
  };
  const settings = { DATABASE_POOL_SIZE: 10 } as Parameters<typeof checkDatabaseSettings>[1];
  const wrongIn = (state: Partial<DatabaseState>) =>
    checkDatabaseSettings({ ...good, ...state }, settings).flatMap(({ check, result }) =>
      result === 'ok' ? [] : [check],
    );
  expect(wrongIn({})).toEqual([]);
  expect(wrongIn({ postgres: '14.9', timescale: '2.9.1' })).toEqual(['database', 'TimescaleDB']);
  expect(wrongIn({ fsync: 'off' })).toEqual(['PostgreSQL fsync']);
  expect(wrongIn({ synchronousCommit: 'off' })).toEqual(['PostgreSQL synchronous_commit']);
  // Six pools of DATABASE_POOL_SIZE connections, 14 fixed and 3 reserved ones.
  expect(wrongIn({ maxConnections: 76 })).toEqual(['PostgreSQL max_connections']);
  expect(wrongIn({ maxConnections: 77 })).toEqual([]);
  expect(wrongIn({ oldestTransactionMinutes: 6 })).toEqual(['long transactions']);
  expect(wrongIn({ isEmbedded: true, fsync: 'off', maxConnections: 10 })).toEqual([]);
});

it('reports a Redis that is nearly full, or whose log is not written', () => {
  const resultsOf = (info: string) => checkRedisState(info).map(({ result }) => result);
  expect(resultsOf('used_memory:100\nmaxmemory:1000\naof_last_write_status:ok')).toEqual(['ok', 'ok']);
  expect(resultsOf('used_memory:800\nmaxmemory:1000\naof_last_write_status:err')).toEqual(['fault', 'fault']);
  expect(resultsOf('used_memory:800\nmaxmemory:0')).toEqual(['warning', 'ok']);
});

it('reports retention and compression that are overdue', () => {
  const due = (name: string, dueMs: number) => ({ name, dueMs });
  expect(checkSchedules([due('retain', 1_000_000)], 0, 1_500_000).result).toBe('ok');
  expect(checkSchedules([due('retain', 1_000_000), due('purge', 2_000_000)], 0, 2_000_000)).toMatchObject({
    ...{ result: 'fault', detail: 'overdue: retain' },
  });
  expect(checkSchedules([due('retain', 1_000_000)], 2, 1_000_000).result).toBe('warning');
});

it('reports Redis settings that can lose acknowledged uploads', () => {
  const durable = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
  const resultsOf = (settings: Record<string, string>) => checkRedisSettings(settings).map(({ result }) => result);
  expect(resultsOf(durable)).toEqual(['ok', 'ok', 'ok']);
  expect(resultsOf({ ...durable, appendfsync: 'everysec' })).toEqual(['ok', 'fault', 'ok']);
  expect(resultsOf({ appendonly: 'no', 'maxmemory-policy': 'allkeys-lru' })).toEqual(['fault', 'fault', 'fault']);
});

it('warns of a certificate 30 days before it expires, and of the first of a chain', () => {
  const soon = readFileSync(createCertificate('soon', 20).certificate, 'utf8');
  const pem = readFileSync(createCertificate('later', 60).certificate, 'utf8');
  const resultAfter = (days: number, text = pem) =>
    checkCertificate('certificate', text, Date.now() + days * dayMs).result;
  expect([resultAfter(0), resultAfter(40), resultAfter(61)]).toEqual(['ok', 'warning', 'fault']);
  expect([resultAfter(0, pem + soon), resultAfter(21, pem + soon), resultAfter(0, 'none')]).toEqual([
    ...['warning', 'fault', 'fault'],
  ]);
});

it('diagnoses engines of the settings, and exits with 1 when the platform does not answer', {
  timeout: 60_000,
}, async () => {
  const config = await testConfig();
  const env = childEnvironment({
    DATABASE_URL: config.DATABASE_URL,
    REDIS_URL: config.REDIS_URL,
    DATA_DIR: config.DATA_DIR,
    ODOGRAPH_URL: 'http://127.0.0.1:1',
  });
  const { status, stdout } = spawnSync(process.execPath, [commandLine, 'doctor'], { env, encoding: 'utf8' });
  expect(status).toBe(1);
  const results = new Map((JSON.parse(stdout) as Check[]).map(({ check, result }) => [check, result]));
  expect(results.get('platform')).toBe('fault');
  for (const check of [
    'settings',
    'database',
    'TimescaleDB',
    'migrations',
    'completeness',
    'database clock',
    'Redis',
    'Redis clock',
    'clocks of the engines',
  ]) {
    expect([check, results.get(check)]).toEqual([check, 'ok']);
  }
  // Other tests leave uploads in the quarantine of the same engines.
  for (const check of ['backlog', 'quarantine']) expect(['ok', 'warning']).toContain(results.get(check));
});

it('diagnoses each of several servers in REDIS_URL', { timeout: 60_000 }, async () => {
  const { DATABASE_URL, REDIS_URL, DATA_DIR } = await testConfig();
  const checks = diagnose({ DATABASE_URL, DATA_DIR, REDIS_URL: `${REDIS_URL},redis://127.0.0.1:1` });
  expect(checks.get(`Redis clock of ${new URL(REDIS_URL).host}`)).toMatchObject({ result: 'ok' });
  expect(checks.get('Redis of 127.0.0.1:1')).toMatchObject({ result: 'fault' });
  expect(checks.get('backlog')).toMatchObject({ result: 'fault' });
});

it('diagnoses a deployment with a database role for each service, and says how to mend a role that is missing', {
  timeout: 60_000,
}, async () => {
  const config = await testConfig();
  const env = childEnvironment({
    ...roleSettings(config.DATABASE_URL),
    DATABASE_URL: urlInRole(config.DATABASE_URL, 'odograph_query'),
    FLEET_DATABASE_URL: urlInRole(config.DATABASE_URL, 'odograph_missing'),
    REDIS_URL: config.REDIS_URL,
    DATA_DIR: config.DATA_DIR,
    ODOGRAPH_URL: 'http://127.0.0.1:1',
  });
  const { stdout } = spawnSync(process.execPath, [commandLine, 'doctor'], { env, encoding: 'utf8' });
  const checks = new Map((JSON.parse(stdout) as Check[]).map((one) => [one.check, one]));
  for (const check of ['migrations', 'completeness', 'role of access', 'role of ingest']) {
    expect([check, checks.get(check)?.result]).toEqual([check, 'ok']);
  }
  expect(checks.get('role of fleet')).toMatchObject({
    result: 'fault',
    remedy: expect.stringContaining('FLEET_DATABASE_URL'),
  });
  expect(checks.get('role of ingest')?.detail).toBe('odograph_ingest');
  for (const { result, remedy } of checks.values()) expect(result === 'ok' || remedy !== undefined).toBe(true);
});

describe('a deployment', { timeout: 120_000 }, () => {
  let settings: Record<string, string>;
  let drop: () => Promise<void>;
  let databaseUrl: string;
  const { key, certificate } = createCertificate('server', 90);

  async function change(work: (db: Database) => Promise<unknown>): Promise<void> {
    const db = openDatabase({ url: databaseUrl, name: 'test', size: 1 });
    await db.transaction().execute(work);
    await db.destroy();
  }

  beforeAll(async () => {
    const database = await createOwnDatabase('doctor');
    ({ drop, url: databaseUrl } = database);
    const config = await testConfig();
    settings = {
      ...{ DATABASE_URL: databaseUrl, REDIS_URL: config.REDIS_URL, DATA_DIR: directory },
      ...{ ENCRYPTION_KEYS: testEncryptionKeys, MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key },
    };
    const sealed = new Sealer([testEncryptionKeys], 'quarantine').seal(Buffer.from('upload'), quarantineContext('d'));
    await change(async (db) => {
      const entry = { chain: 0, actor: 'operator', address: '', action: 'test', subject: '', outcome: 'done' };
      await appendAudit(db, entry);
      await sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
        values ('d', now(), ${sealed}, 6, '\\x00', '[]')`.execute(db);
      await recordBackup(db, { bytes: 2 ** 20, schema: '0010_fleet_views.sql' });
    });
  });
  afterAll(() => drop());

  it('in order passes the checks of keys, audit, rights, certificate and backup', () => {
    const checks = diagnose(settings);
    for (const check of [
      ...[
        'encryption keys',
        'audit',
        'rights of database roles',
        'last backup',
        'MQTT_TLS_CERTIFICATE',
        'MQTT_TLS_KEY',
      ],
    ]) {
      expect([check, checks.get(check)?.result]).toEqual([check, 'ok']);
    }
  });

  it('with another encryption key, a changed audit row, a lost right, a mismatched TLS key and an old backup reports each fault', async () => {
    await change(async (db) => {
      await sql`alter table audit disable trigger audit_append_only`.execute(db);
      await sql`update audit set outcome = 'changed'`.execute(db);
      await sql`revoke delete on reading from odograph_ingest`.execute(db);
      await sql`update installation set last_backup_at = now() - interval '9 days'`.execute(db);
    });
    const wrong = { ENCRYPTION_KEYS: 'x'.repeat(40), MQTT_TLS_KEY: createCertificate('other', 90).key };
    const checks = diagnose({ ...settings, ...wrong });
    expect(checks.get('encryption keys')).toMatchObject({
      ...{ result: 'fault', detail: 'ENCRYPTION_KEYS cannot decrypt 1 quarantined uploads' },
    });
    expect(checks.get('audit')).toMatchObject({ result: 'fault', detail: 'chain 0, row 1: CHANGED' });
    expect(checks.get('rights of database roles')).toMatchObject({
      ...{ result: 'fault', detail: '1 missing: odograph_ingest delete on reading' },
      remedy: expect.stringContaining('database-roles.sql'),
    });
    expect(checks.get('MQTT_TLS_KEY')).toMatchObject({ result: 'fault', detail: 'does not match its certificate' });
    expect(checks.get('last backup')).toMatchObject({
      result: 'warning',
      detail: expect.stringMatching(/^9 days ago/),
    });
  });

  it('with rights older than its migrations and without a backup reports both', async () => {
    await applyDatabaseRoles(databaseUrl);
    await change(async (db) => {
      await sql`update installation set last_backup_at = null, granted_migrations = granted_migrations - 1`.execute(db);
    });
    const { checks } = await checkDatabase(databaseUrl, await testConfig());
    expect(checks).toContainEqual({
      ...{ check: 'rights of database roles', result: 'fault', detail: 'granted before 1 migrations' },
      remedy: expect.stringContaining('database-roles.sql'),
    });
    expect(checks).toContainEqual({
      ...{ check: 'last backup', result: 'warning', detail: 'none by odograph backup' },
      remedy: expect.stringContaining('odograph backup'),
    });
  });

  it('on a database of a newer version reports it', async () => {
    await change((db) => sql`insert into migration (name, sha256) values ('9001_of_tomorrow.sql', '')`.execute(db));
    const { checks } = await checkDatabase(databaseUrl, await testConfig());
    expect(checks.find(({ check }) => check === 'migrations')).toMatchObject({
      ...{ result: 'fault', detail: expect.stringContaining('9001_of_tomorrow.sql') },
    });
  });
});

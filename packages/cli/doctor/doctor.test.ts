import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@odograph/runtime/config';
import { roleSettings, urlInRole } from '@odograph/testkit/database-roles';
import { testConfig } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { type Check, checkCertificate, checkClock, checkSkew } from './check.ts';
import { checkDatabaseSettings, type DatabaseState } from './database.ts';
import { checkRedisSettings, checkRedisState, checkSchedules } from './redis.ts';

const commandLine = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const dayMs = 86_400_000;

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
    ...{ postgres: '17.2 (Debian)', timescale: '2.23.0', isEmbedded: false, longestTransactionMinutes: 0.1 },
    ...{ fsync: 'on', fullPageWrites: 'on', synchronousCommit: 'on', maxConnections: 100, reservedConnections: 3 },
  };
  const settings = { DATABASE_POOL_SIZE: 10, INGEST_TRANSACTIONS: 2 } as Parameters<typeof checkDatabaseSettings>[1];
  const wrongIn = (state: Partial<DatabaseState>) =>
    checkDatabaseSettings({ ...good, ...state }, settings).flatMap(({ check, result }) =>
      result === 'ok' ? [] : [check],
    );
  expect(wrongIn({})).toEqual([]);
  expect(wrongIn({ postgres: '14.9', timescale: '2.9.1' })).toEqual(['database', 'TimescaleDB']);
  expect(wrongIn({ fsync: 'off' })).toEqual(['PostgreSQL fsync']);
  expect(wrongIn({ synchronousCommit: 'off' })).toEqual(['PostgreSQL synchronous_commit']);
  expect(wrongIn({ maxConnections: 50 })).toEqual(['PostgreSQL max_connections']);
  expect(wrongIn({ longestTransactionMinutes: 6 })).toEqual(['long transactions']);
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

it('warns of a certificate 30 days before it expires', () => {
  const directory = mkdtempSync(join(tmpdir(), 'odograph-doctor-'));
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', [...request, '-keyout', key, '-out', certificate, '-days', '60', '-subj', '/CN=test'], {
    stdio: 'ignore',
  });
  const pem = readFileSync(certificate, 'utf8');
  rmSync(directory, { recursive: true });
  const resultAfter = (days: number) => checkCertificate('certificate', pem, Date.now() + days * dayMs).result;
  expect([resultAfter(0), resultAfter(40), resultAfter(61)]).toEqual(['ok', 'warning', 'fault']);
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

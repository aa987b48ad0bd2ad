import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@odograph/runtime/config';
import { roleSettings, urlInRole } from '@odograph/testkit/database-roles';
import { testConfig } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { type Check, checkCertificate, checkClock, checkRedisSettings } from './doctor.ts';

const commandLine = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const dayMs = 86_400_000;

it('reports a clock that is more than a second off', () => {
  expect(checkClock('clock', 5000, 4990, 5010).result).toBe('ok');
  expect(checkClock('clock', 3900, 4990, 5010)).toMatchObject({
    result: 'fault',
    remedy: expect.stringContaining('NTP'),
  });
  expect(checkClock('clock', 7000, 4990, 5010).result).toBe('fault');
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
  ]) {
    expect([check, results.get(check)]).toEqual([check, 'ok']);
  }
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
  for (const { result, remedy } of checks.values()) expect(result === 'ok' || remedy !== undefined).toBe(true);
});

import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRemovedSettings, oidcProviders, readConfig } from './config.ts';
import { settingsTable } from './settings.ts';

it('names each invalid setting once, with the rule that it breaks', () => {
  const url = 'mysql://localhost';
  const ports = { HTTP_PORT: 'x', MQTT_PORT: '65536', MQTTS_PORT: '-1', TELTONIKA_PORT: '1.5' };
  const secrets = { ADMIN_TOKEN: 'short', ENCRYPTION_KEYS: 'short' };
  const settings = {
    DATABASE_URL: url,
    QUERY_DATABASE_URL: url,
    REDIS_URL: url,
    ...ports,
    ...secrets,
    LOG_LEVEL: 'loud',
  };
  expect(() => readConfig(settings)).toThrow(
    [
      'invalid settings:',
      'DATABASE_URL: must begin with postgres:// or postgresql://',
      'QUERY_DATABASE_URL: must be addresses that begin with postgres:// or postgresql://, separated by commas',
      'REDIS_URL: must begin with redis://, rediss://, redis+cluster:// or redis+sentinel://',
      'HTTP_PORT: must be a whole number',
      'MQTT_PORT: must be at most 65535',
      'MQTTS_PORT: must be at least 0',
      'TELTONIKA_PORT: must be a whole number',
      'ADMIN_TOKEN: must be a token of at least 16 characters, or two separated by a comma',
      'ENCRYPTION_KEYS: must be keys of at least 32 characters, separated by commas',
      'LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent',
    ].join('\n  '),
  );
});

it('are all described in docs/settings.md, which `npm run settings:docs` writes', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  expect(page).toContain(`\n${settingsTable()}\n\n`);
});

it('ignores variables that are not settings, and finds those that earlier versions read', () => {
  expect(readConfig({ SESSION_SECONDS: 'x' })).not.toHaveProperty('SESSION_SECONDS');
  const environment = {
    SESSION_SECONDS: '60',
    TRIPS_PAUSE_MS_FILE: '/run/pause',
    FLESPI_URL: '',
    UPLOAD_BATCH_MS: '1',
  };
  expect(findRemovedSettings(environment)).toEqual(['SESSION_SECONDS', 'TRIPS_PAUSE_MS_FILE']);
});

it('names the member of a malformed identity provider, and none of its secrets', () => {
  const provider = { id: 'a', name: 'A', issuer: 'https://a.example', clientId: 'c', clientSecret: 'planted' };
  const one = { ...provider, roles: 'staff=viewer' };
  const other = { ...one, id: 'b', issuer: 'https://b.example' };
  const read = (value: unknown) =>
    readConfig({
      PUBLIC_URL: 'https://fleet.example',
      OIDC_PROVIDERS: typeof value === 'string' ? value : JSON.stringify(value),
    });
  const faults = [
    ['[{ "clientSecret": "planted"', 'OIDC_PROVIDERS: must be a JSON array'],
    [{}, 'OIDC_PROVIDERS: must be an array'],
    [[provider], 'OIDC_PROVIDERS: 0.roles is missing'],
    [[{ ...one, roles: 'staff=owner' }], 'OIDC_PROVIDERS: 0.roles '],
    [[{ ...one, id: 'callback' }], 'OIDC_PROVIDERS: 0.id '],
    [[{ ...one, secret: 'planted' }], 'OIDC_PROVIDERS: 0.secret is not a known field'],
    [[one, { ...other, id: 'a' }], 'OIDC_PROVIDERS: every id must be unique'],
    [[one, { ...other, issuer: one.issuer }], 'OIDC_PROVIDERS: every issuer must be unique'],
  ] as const;
  for (const [value, fault] of faults) {
    expect(() => read(value)).toThrow(fault);
    expect(() => read(value)).not.toThrow('planted');
  }
  expect(oidcProviders(read([one, other])).map(({ id, scope }) => [id, scope])).toEqual([
    ['a', 'openid profile email'],
    ['b', 'openid profile email'],
  ]);
  expect(() => readConfig({ OIDC_PROVIDERS: JSON.stringify([one]) })).toThrow('PUBLIC_URL: is required');
});

it('names networks that are malformed', () => {
  for (const wrong of ['everywhere', '10.0.0.0/33', '10.0.0.0/8;fd00::/8']) {
    expect(() => readConfig({ TELTONIKA_NETWORKS: wrong })).toThrow('TELTONIKA_NETWORKS: must be networks, such as');
  }
  expect(readConfig({ TELTONIKA_NETWORKS: '' }).TELTONIKA_NETWORKS).toBeUndefined();
});

it('takes one map: a file, the address of images, or that of a style', () => {
  const url = 'https://tiles.example/{z}/{x}/{y}.png';
  expect(readConfig({ MAP_TILES_URL: url }).MAP_TILES_URL).toBe(url);
  expect(() => readConfig({ MAP_TILES: url })).toThrow(
    'MAP_TILES: must be a PMTiles file; MAP_TILES_URL is for an address',
  );
  for (const wrong of [
    'https://tiles.example/',
    'https://{s}.example/{z}/{x}/{y}',
    'tiles/{z}/{x}/{y}',
    'https://a b/{z}/{x}/{y}',
  ]) {
    expect(() => readConfig({ MAP_TILES_URL: wrong })).toThrow('MAP_TILES_URL: must be an address');
  }
  const several = { MAP_TILES: '/area.pmtiles', MAP_TILES_URL: url, MAP_STYLE_URL: 'https://tiles.example/style.json' };
  expect(() => readConfig(several)).toThrow('MAP_STYLE_URL: cannot be combined with MAP_TILES');
});

describe('a setting in a file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-config-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is read from the file that NAME_FILE names, without the newline at its end', async () => {
    const file = join(directory, 'admin-token');
    await writeFile(file, 'a-token-of-an-operator\n');
    expect(readConfig({ ADMIN_TOKEN_FILE: file }).ADMIN_TOKEN).toBe('a-token-of-an-operator');
  });

  it('is reported by its name when the file cannot be read', () => {
    expect(() => readConfig({ ADMIN_TOKEN_FILE: join(directory, 'missing') })).toThrow('ADMIN_TOKEN_FILE: ENOENT');
  });
});

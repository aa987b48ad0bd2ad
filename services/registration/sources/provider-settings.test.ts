import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, resolveConfig } from '@odograph/runtime/config';
import { useDirectory } from '@odograph/testkit/scopes';
import { describe, expect, it } from 'vitest';
import { identityFor, urlFor } from './provider.ts';
import { readProviderSettings } from './provider-settings.ts';

const directory = useDirectory();

function readFile(content: string, more: Record<string, string> = {}) {
  const path = join(directory, 'provider.json');
  writeFileSync(path, content);
  const config = readConfig({ REGISTRATION_PROVIDER: path, ...more });
  return readProviderSettings(resolveConfig(config, { databaseUrl: '', redisUrl: '' }));
}
const read = (url: string, fields: unknown = { brand: 'make' }, more: Record<string, string> = {}) =>
  readFile(JSON.stringify({ url, fields }), more);

describe('readProviderSettings', () => {
  it('refuses a URL whose host depends on the vehicle, with credentials, or without a placeholder', () => {
    for (const template of [
      'https://{plate}.example.org/{vin}',
      'https://example.org:{plate}/',
      'https://{plate}@example.org/{plate}',
      'https://user:secret@example.org/{plate}',
      'https://example.org/',
      'https://example.org/{plate}/{key}',
      'https://',
    ]) {
      expect(() => read(template)).toThrow('REGISTRATION_PROVIDER: url ');
    }
    expect(read('https://example.org/{plate}?vin={vin}')?.template).toBe('https://example.org/{plate}?vin={vin}');
  });

  it('names every fault of the file', () => {
    const fault = 'REGISTRATION_PROVIDER: ';
    expect(() => readFile('{')).toThrow(`${fault}is not readable as a JSON object`);
    expect(() => readFile('[]')).toThrow(`${fault}url must be a URL\n  ${fault}fields must map fields of a record`);
    expect(() => readFile('{"keyHeader":"a b"}')).toThrow(`${fault}keyHeader must name a header`);
    expect(() => read('https://example.org/{vin}', { wheels: 'w', brand: 4 })).toThrow(
      /wheels is not a field of a record\n.*brand needs a path/,
    );
  });

  it('refuses a key that is not a valid header value, without quoting it', () => {
    const attempt = () => read('https://example.org/{vin}', undefined, { REGISTRATION_PROVIDER_KEY: 'secret\nkey' });
    expect(attempt).toThrow('REGISTRATION_PROVIDER_KEY: ');
    expect(attempt).not.toThrow('secret');
  });

  it('has another hash when URL or mapping differ', () => {
    const hashes = [
      read('https://example.org/{vin}')?.sha256,
      read('https://example.org/{plate}')?.sha256,
      read('https://example.org/{vin}', { model: 'make' })?.sha256,
    ];
    expect(new Set(hashes).size).toBe(3);
    expect(read('https://example.org/{vin}')?.sha256).toBe(hashes[0]);
  });
});

describe('urlFor', () => {
  it('fills the placeholders and never changes the host', () => {
    const template = 'https://example.org/lookup?plate={plate}&vin={vin}';
    expect(urlFor(template, { plate: 'AB123CD' }).href).toBe('https://example.org/lookup?plate=AB123CD&vin=');
    expect(urlFor('https://example.org/{plate}', { plate: '@evil/../x?' }).host).toBe('example.org');
  });

  it('leaves out identifiers that the template has no placeholder for', () => {
    expect(identityFor('https://example.org/{plate}', { vin: 'VF1TESTA0A6900001' })).toBeUndefined();
    expect(identityFor('https://example.org/{vin}', { vin: 'VF1TESTA0A6900001', plate: 'AB123CD' })).toEqual({
      vin: 'VF1TESTA0A6900001',
    });
  });
});

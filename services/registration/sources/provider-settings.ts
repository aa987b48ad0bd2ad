import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { InvalidSettings, type ResolvedConfig } from '@odograph/runtime/config';
import { fullPath } from '../record/fields.ts';

/** How to query a provider of registration data and to map its answers. */
export interface ProviderSettings {
  /** A URL with {plate} and {vin} in its path or query. */
  readonly template: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Path of our field to path in the provider's answer. */
  readonly mapping: ReadonlyMap<string, readonly string[]>;
  /** Hash of template and mapping: answers cached under other settings are not used. */
  readonly sha256: string;
  readonly limits: ProviderLimits;
}

/** Limits on calls to the provider. */
export const providerLimits = {
  /** A client waits for the answer. */
  timeoutMs: 3000,
  /** Registration data change rarely, and providers charge for calls. */
  cacheMs: 30 * 86_400_000,
  /** Of an unknown vehicle, which may be registered soon. */
  negativeCacheMs: 86_400_000,
  /** Failures in a row after which the provider is not called for `pauseMs`. */
  failures: 5,
  pauseMs: 60_000,
  /** For each process. */
  callsPerMinute: 120,
};
export type ProviderLimits = Readonly<typeof providerLimits>;

const placeholders = /\{(plate|vin)\}/g;

function templateFault(template: string): string | undefined {
  if (!URL.canParse(template)) return 'is not a URL';
  const { protocol, host, username, password, pathname, search } = new URL(template);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must start with http:// or https://';
  if (/[{}]|%7B|%7D/i.test(host + username + password)) return 'may contain {plate} and {vin} only in path and query';
  if (username !== '' || password !== '') return 'must not contain credentials: set REGISTRATION_PROVIDER_KEY';
  const rest = decodeURIComponent(pathname + search);
  if (!/\{(plate|vin)\}/.test(rest)) return 'must contain {plate} or {vin}';
  return /[{}]/.test(rest.replace(placeholders, ''))
    ? 'may contain no placeholders other than {plate} and {vin}'
    : undefined;
}

/** Checks the file that describes a provider. @returns a fault for each wrong part, without values */
function findFaults({ url, keyHeader, fields }: ProviderFile): string[] {
  const urlFault = typeof url === 'string' ? templateFault(url) : 'must be a URL';
  const faults = urlFault === undefined ? [] : [`url ${urlFault}`];
  const isHeader = typeof keyHeader === 'string' && /^[A-Za-z0-9-]+$/.test(keyHeader);
  if (keyHeader !== undefined && !isHeader) faults.push('keyHeader must name a header');
  const mapped = Object.entries(Object(fields));
  if (mapped.length === 0) faults.push('fields must map fields of a record to paths in the answer');
  for (const [name, place] of mapped) {
    if (fullPath(name) === undefined) faults.push(`${name} is not a field of a record`);
    else if (typeof place !== 'string' || place === '') faults.push(`${name} needs a path such as "data.make"`);
  }
  return faults;
}

interface ProviderFile {
  readonly url?: unknown;
  readonly keyHeader?: unknown;
  readonly fields?: unknown;
}

/** @returns undefined when the file cannot be read as a JSON object */
function readProviderFile(path: string): ProviderFile | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof content === 'object' && content !== null ? content : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads the file that describes the provider; returns undefined without REGISTRATION_PROVIDER.
 * @throws InvalidSettings listing all faults, without values
 */
export function readProviderSettings(config: ResolvedConfig, limits = providerLimits): ProviderSettings | undefined {
  const { REGISTRATION_PROVIDER: path, REGISTRATION_PROVIDER_KEY: key } = config;
  if (path === undefined) return undefined;
  const file = readProviderFile(path);
  const faults = file === undefined ? ['is not readable as a JSON object'] : findFaults(file);
  if (faults.length > 0) throw new InvalidSettings(faults.map((fault) => `REGISTRATION_PROVIDER: ${fault}`));
  const { url, keyHeader = 'x-api-key', fields } = file as { url: string; keyHeader?: string; fields: object };
  const mapping = new Map(
    Object.entries(fields).map(([name, place]) => [fullPath(name) ?? name, String(place).split('.')]),
  );
  return {
    template: url,
    headers: { accept: 'application/json', ...(key !== undefined && { [keyHeader]: key }) },
    mapping,
    sha256: createHash('sha256')
      .update(JSON.stringify([url, ...mapping]))
      .digest('hex'),
    limits,
  };
}

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

function parseMapping(path: string): { mapping: Map<string, string[]>; faults: string[] } {
  const mapping = new Map<string, string[]>();
  const faults: string[] = [];
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { mapping, faults: ['is not readable as JSON'] };
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return { mapping, faults: ['must contain an object of our field to path in the answer'] };
  }
  for (const [name, place] of Object.entries(content)) {
    const field = fullPath(name);
    if (field === undefined) faults.push(`${name} is not a field of a record`);
    else if (typeof place !== 'string' || place === '') faults.push(`${name} needs a path such as "data.make"`);
    else mapping.set(field, place.split('.'));
  }
  return { mapping, faults: mapping.size === 0 && faults.length === 0 ? ['maps no field'] : faults };
}

/**
 * Reads the settings of the provider and its mapping file; returns undefined without REGISTRATION_PROVIDER_URL.
 * @throws InvalidSettings listing all faults by setting, without values
 */
export function readProviderSettings(config: ResolvedConfig, limits = providerLimits): ProviderSettings | undefined {
  const template = config.REGISTRATION_PROVIDER_URL;
  if (template === undefined) return undefined;
  const faults: string[] = [];
  const fault = templateFault(template);
  if (fault !== undefined) faults.push(`REGISTRATION_PROVIDER_URL: ${fault}`);
  const mappingPath = config.REGISTRATION_PROVIDER_MAPPING;
  if (mappingPath === undefined)
    faults.push('REGISTRATION_PROVIDER_MAPPING: is required with REGISTRATION_PROVIDER_URL');
  const read =
    mappingPath === undefined ? { mapping: new Map<string, string[]>(), faults: [] } : parseMapping(mappingPath);
  faults.push(...read.faults.map((one) => `REGISTRATION_PROVIDER_MAPPING: ${one}`));
  if (faults.length > 0) throw new InvalidSettings(faults);
  const key = config.REGISTRATION_PROVIDER_KEY;
  return {
    template,
    headers: {
      accept: 'application/json',
      ...(key === undefined ? {} : { [config.REGISTRATION_PROVIDER_KEY_HEADER]: key }),
    },
    mapping: read.mapping,
    sha256: createHash('sha256')
      .update(JSON.stringify([template, ...read.mapping]))
      .digest('hex'),
    limits,
  };
}

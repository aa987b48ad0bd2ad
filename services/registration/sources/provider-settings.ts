import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { InvalidSettings, type ResolvedConfig } from '@odograph/runtime/config';
import { fullPath } from '../record/fields.ts';

/** How a provider of registration data is asked and understood. */
export interface ProviderSettings {
  /** An address with {plate} and {vin} in its path or its parameters. */
  readonly template: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Path of our field -> path in the provider's answer. */
  readonly mapping: ReadonlyMap<string, readonly string[]>;
  /** Differs when address or mapping do, so that kept answers of other settings are not mistaken for these. */
  readonly sha256: string;
  readonly timeoutMs: number;
  readonly cacheMs: number;
  readonly negativeCacheMs: number;
  readonly failures: number;
  readonly pauseMs: number;
  readonly callsPerMinute: number;
}

const placeholders = /\{(plate|vin)\}/g;

function templateFault(template: string): string | undefined {
  if (!URL.canParse(template)) return 'is no address';
  const { protocol, host, username, password, pathname, search } = new URL(template);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://';
  if (/[{}]|%7B|%7D/i.test(host + username + password)) return 'may have {plate} and {vin} only behind the host';
  if (username !== '' || password !== '') return 'must hold no password: set REGISTRATION_PROVIDER_KEY';
  const rest = decodeURIComponent(pathname + search);
  if (!/\{(plate|vin)\}/.test(rest)) return 'must hold {plate} or {vin}';
  return /[{}]/.test(rest.replace(placeholders, '')) ? 'may hold {plate} and {vin} alone in braces' : undefined;
}

function parseMapping(path: string): { mapping: Map<string, string[]>; faults: string[] } {
  const mapping = new Map<string, string[]>();
  const faults: string[] = [];
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return { mapping, faults: ['cannot be read as JSON'] };
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return { mapping, faults: ['must hold an object: our field -> path in the answer'] };
  }
  for (const [name, place] of Object.entries(content)) {
    const field = fullPath(name);
    if (field === undefined) faults.push(`${name} is no field of a record`);
    else if (typeof place !== 'string' || place === '') faults.push(`${name} needs a path such as "data.make"`);
    else mapping.set(field, place.split('.'));
  }
  return { mapping, faults: mapping.size === 0 && faults.length === 0 ? ['maps no field'] : faults };
}

/**
 * The provider of the settings, undefined when there is none. Its mapping is read from its file.
 * @throws InvalidSettings naming what is at fault; never with a value of the settings
 */
export function readProviderSettings(config: ResolvedConfig): ProviderSettings | undefined {
  const template = config.REGISTRATION_PROVIDER_URL;
  if (template === undefined) return undefined;
  const faults: string[] = [];
  const fault = templateFault(template);
  if (fault !== undefined) faults.push(`REGISTRATION_PROVIDER_URL: ${fault}`);
  const mappingPath = config.REGISTRATION_PROVIDER_MAPPING;
  if (mappingPath === undefined)
    faults.push('REGISTRATION_PROVIDER_MAPPING: is needed beside REGISTRATION_PROVIDER_URL');
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
    timeoutMs: config.REGISTRATION_PROVIDER_TIMEOUT_MS,
    cacheMs: config.REGISTRATION_CACHE_SECONDS * 1000,
    negativeCacheMs: config.REGISTRATION_NEGATIVE_CACHE_SECONDS * 1000,
    failures: config.REGISTRATION_PROVIDER_FAILURES,
    pauseMs: config.REGISTRATION_PROVIDER_PAUSE_MS,
    callsPerMinute: config.REGISTRATION_PROVIDER_CALLS_PER_MINUTE,
  };
}

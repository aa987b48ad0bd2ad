import type { Fields, FieldValue } from '../record/fields.ts';
import { readFields } from '../record/read-fields.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** The result of one call: the fields found, vehicle unknown, or the reason of the failure. */
export type ProviderAnswer =
  | { kind: 'found'; fields: Fields }
  | { kind: 'unknown' }
  | { kind: 'failed'; reason: string };

const maximumAnswerBytes = 1024 * 1024;
const notFound: ReadonlySet<number> = new Set([204, 404, 410]);

/**
 * Reduces an identity to the placeholders of the template; returns undefined when none can be filled. With both {plate}
 * and {vin} in the template one is enough, the other stays empty.
 */
export function identityFor(template: string, { plate, vin }: VehicleIdentity): VehicleIdentity | undefined {
  const identity = {
    ...(plate !== undefined && template.includes('{plate}') ? { plate } : {}),
    ...(vin !== undefined && template.includes('{vin}') ? { vin } : {}),
  };
  return Object.keys(identity).length === 0 ? undefined : identity;
}

/** Fills the template; plates are written without separators. */
export function urlFor(template: string, identity: VehicleIdentity): URL {
  const filled = template.replace(/\{(plate|vin)\}/g, (_, name: 'plate' | 'vin') =>
    encodeURIComponent(identity[name] ?? ''),
  );
  return new URL(filled);
}

/** Reads a body of at most 1 MiB; returns undefined for a larger one. */
async function readText(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    // Leaving the loop cancels the body and closes the connection.
    if (bytes > maximumAnswerBytes) return undefined;
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  return text + decoder.decode();
}

function valueAt(answer: unknown, path: readonly string[]): unknown {
  let value = answer;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Maps the provider's answer to our fields; invalid values are left out. */
function mapAnswer(mapping: ProviderSettings['mapping'], answer: unknown): Fields {
  const fields = new Map<string, FieldValue>();
  for (const [path, place] of mapping) {
    const value = valueAt(answer, place);
    if (typeof value === 'object') continue;
    for (const [name, read] of readFields({ [path]: value }).fields) fields.set(name, read);
  }
  return fields;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}

async function readAnswer(response: Response, { mapping }: ProviderSettings): Promise<ProviderAnswer> {
  if (response.status !== 200) {
    await response.body?.cancel();
    return notFound.has(response.status)
      ? { kind: 'unknown' }
      : {
          kind: 'failed',
          reason: response.status >= 300 && response.status < 400 ? 'redirect' : `status-${response.status}`,
        };
  }
  const text = await readText(response);
  if (text === undefined) return { kind: 'failed', reason: 'too-large' };
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { kind: 'failed', reason: 'malformed' };
  }
  const fields = mapAnswer(mapping, answer);
  return fields.size > 0 ? { kind: 'found', fields } : { kind: 'unknown' };
}

/**
 * Calls the provider once. Redirects count as failures, so the key never reaches another host.
 * @returns `failed` with a one-word reason; requests and answers are not quoted because they may contain the key
 */
export async function callProvider(settings: ProviderSettings, url: URL): Promise<ProviderAnswer> {
  try {
    const response = await fetch(url, {
      headers: settings.headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(settings.timeoutMs),
    });
    return await readAnswer(response, settings);
  } catch (error) {
    return { kind: 'failed', reason: isTimeout(error) ? 'timeout' : 'unreachable' };
  }
}

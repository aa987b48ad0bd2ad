import type { Fields, FieldValue } from '../record/fields.ts';
import { readFields } from '../record/read-fields.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** The end of one call: what the provider knows, that it does not know the vehicle, or why there is no answer. */
export type ProviderAnswer =
  | { kind: 'found'; fields: Fields }
  | { kind: 'unknown' }
  | { kind: 'failed'; reason: string };

const maximumAnswerBytes = 1024 * 1024;
const notFound: ReadonlySet<number> = new Set([204, 404, 410]);

/**
 * What of a vehicle the template asks for; undefined when nothing of that is known. A template with both {plate} and
 * {vin} needs one of them, the other is left empty.
 */
export function askedFor(template: string, { plate, vin }: VehicleIdentity): VehicleIdentity | undefined {
  const asked = {
    ...(plate !== undefined && template.includes('{plate}') ? { plate } : {}),
    ...(vin !== undefined && template.includes('{vin}') ? { vin } : {}),
  };
  return Object.keys(asked).length === 0 ? undefined : asked;
}

/** The address of a vehicle; plates are written as letters and digits alone. */
export function addressFor(template: string, subject: VehicleIdentity): URL {
  const filled = template.replace(/\{(plate|vin)\}/g, (_, name: 'plate' | 'vin') =>
    encodeURIComponent(subject[name] ?? ''),
  );
  return new URL(filled);
}

/** Reads an answer as it comes. @returns undefined when it is larger than any record can be */
async function readText(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength;
    // Leaving the loop cancels the body, and with it the connection.
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

/** What the provider's answer says in our words; values that do not fit their field are left out. */
export function mapAnswer(mapping: ProviderSettings['mapping'], answer: unknown): Fields {
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
 * Asks the provider once. Only the host of the settings is ever spoken to: a redirect is a failure.
 * @returns `failed` with a word for the reason; what was sent and received is in no message, for it holds the key
 */
export async function askProvider(settings: ProviderSettings, address: URL): Promise<ProviderAnswer> {
  try {
    const response = await fetch(address, {
      headers: settings.headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(settings.timeoutMs),
    });
    return await readAnswer(response, settings);
  } catch (error) {
    return { kind: 'failed', reason: isTimeout(error) ? 'timeout' : 'unreachable' };
  }
}

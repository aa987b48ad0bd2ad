import type { Database } from '@odograph/database/database';
import { plateKeyOf } from '@odograph/database/vehicle-conditions';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import { readText } from '@odograph/runtime/read-text';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { sql } from 'kysely';
import type { Fields, FieldValue } from '../record/fields.ts';
import type { VehicleIdentity } from '../record/identity.ts';
import { readFields } from '../record/read-fields.ts';
import type { Finding, Source } from './lookup.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** Dependencies of the provider source; `now` is the clock in milliseconds. */
export interface ProviderHost {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly now: () => number;
}

const windowMs = 60_000;

/** A cached answer of the provider; `fields` is undefined when the provider did not know the vehicle. */
interface CachedAnswer {
  fields?: Fields;
  fetchedAtMs: number;
}

/** Reads the cached answer of a provider (by the SHA-256 of its settings) about a vehicle. */
async function findCachedAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
): Promise<CachedAnswer | undefined> {
  const { rows } = await sql<{ fields: Record<string, FieldValue> | null; fetched_at: Date }>`
    select fields, fetched_at from registration_provider_answer
    where provider_sha256 = ${provider} and plate = ${plate} and vin = ${vin}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const fetchedAtMs = row.fetched_at.getTime();
  return row.fields === null ? { fetchedAtMs } : { fields: new Map(Object.entries(row.fields)), fetchedAtMs };
}

/** Stores an answer, replacing the cached one. */
async function cacheAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
  answer: CachedAnswer,
): Promise<void> {
  const fields = answer.fields ? JSON.stringify(Object.fromEntries(answer.fields)) : null;
  await sql`
    insert into registration_provider_answer (provider_sha256, plate, vin, fields, fetched_at)
    values (${provider}, ${plate}, ${vin}, ${fields}::jsonb, ${new Date(answer.fetchedAtMs)})
    on conflict (provider_sha256, plate, vin) do update set fields = excluded.fields, fetched_at = excluded.fetched_at`.execute(
    db,
  );
}

/** Deletes the cached answers about a vehicle, looked up by plate or by VIN, and returns how many there were. */
export async function deleteCachedAnswers(db: Database, { plate, vin }: VehicleIdentity): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from registration_provider_answer
    where plate = ${plate ?? null} or vin = ${vin ?? null}
       or fields ->> 'certificate.vin' = ${vin ?? null}
       or ${plateKeyOf(sql`fields ->> 'certificate.plate'`)} = ${plate ?? null}`.execute(db);
  return Number(numAffectedRows);
}

/** The result of one call: the fields found, vehicle unknown, or the reason of the failure. */
type ProviderAnswer = { kind: 'found'; fields: Fields } | { kind: 'unknown' } | { kind: 'failed'; reason: string };

const maxAnswerBytes = 1024 * 1024;
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
    if (notFound.has(response.status)) return { kind: 'unknown' };
    const isRedirect = response.status >= 300 && response.status < 400;
    return { kind: 'failed', reason: isRedirect ? 'redirect' : `status-${response.status}` };
  }
  const text = await readText(response, maxAnswerBytes);
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
async function callProvider(settings: ProviderSettings, url: URL): Promise<ProviderAnswer> {
  try {
    const response = await fetch(url, {
      headers: settings.headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(settings.limits.timeoutMs),
    });
    return await readAnswer(response, settings);
  } catch (error) {
    return { kind: 'failed', reason: isTimeout(error) ? 'timeout' : 'unreachable' };
  }
}

/** Opens after consecutive failures; after a pause one trial call (half-open) decides whether it closes again. */
class CircuitBreaker {
  readonly #settings: ProviderSettings;
  #failuresInRow = 0;
  #openUntilMs: number | undefined;
  #isTrying = false;

  constructor(settings: ProviderSettings) {
    this.#settings = settings;
  }

  /** Whether a call may be made now; report its outcome then. */
  allows(nowMs: number): boolean {
    if (this.#openUntilMs === undefined) return true;
    if (this.#isTrying || nowMs < this.#openUntilMs) return false;
    this.#isTrying = true;
    return true;
  }

  succeeded(): void {
    this.#failuresInRow = 0;
    this.#openUntilMs = undefined;
    this.#isTrying = false;
  }

  failed(nowMs: number): void {
    this.#failuresInRow += 1;
    this.#isTrying = false;
    if (this.#failuresInRow >= this.#settings.limits.failures)
      this.#openUntilMs = nowMs + this.#settings.limits.pauseMs;
  }
}

function toFinding({ fields }: CachedAnswer, outcome: string): Finding {
  return fields ? { records: [fields], outcome } : { records: [], outcome: 'unknown' };
}

/**
 * Creates the source that queries the configured provider over HTTP. Answers are cached in the database. While the
 * circuit is open, the calls of the minute are used up or a call fails, a stale cached answer is used.
 */
export function createProviderSource(settings: ProviderSettings, { db, logger, metrics, now }: ProviderHost): Source {
  const circuit = new CircuitBreaker(settings);
  // Providers may charge for each call.
  const callsInMinute = new WindowCounter(windowMs, 1);
  const inFlight = new Map<string, Promise<Finding>>();
  const calls = new Counter({
    name: 'odograph_registration_provider_calls_total',
    help: 'Calls to the provider of registration data by outcome',
    labelNames: ['end'],
    registers: [metrics],
  });

  async function call(identity: VehicleIdentity): Promise<ProviderAnswer> {
    const isUsedUp = callsInMinute.read(settings.sha256, now()) >= settings.limits.callsPerMinute;
    if (isUsedUp) return { kind: 'failed', reason: 'calls-used-up' };
    if (!circuit.allows(now())) return { kind: 'failed', reason: 'circuit-open' };
    callsInMinute.add(settings.sha256, now());
    const answer = await callProvider(settings, urlFor(settings.template, identity));
    if (answer.kind === 'failed') {
      circuit.failed(now());
      logger.warn({ reason: answer.reason }, 'call to the registration data provider failed');
      return answer;
    }
    circuit.succeeded();
    const fields = answer.kind === 'found' ? { fields: answer.fields } : {};
    await cacheAnswer(db, settings.sha256, identity, { fetchedAtMs: now(), ...fields });
    return answer;
  }

  function isFresh({ fields, fetchedAtMs }: CachedAnswer): boolean {
    return now() - fetchedAtMs < (fields ? settings.limits.cacheMs : settings.limits.negativeCacheMs);
  }

  async function find(identity: VehicleIdentity): Promise<Finding> {
    const cached = await findCachedAnswer(db, settings.sha256, identity);
    if (cached && isFresh(cached)) return toFinding(cached, 'kept');
    const answer = await call(identity);
    calls.inc({ end: answer.kind === 'failed' ? answer.reason : answer.kind });
    if (answer.kind === 'found') return { records: [answer.fields], outcome: 'found' };
    if (answer.kind === 'unknown') return { records: [], outcome: 'unknown' };
    if (cached?.fields) return { ...toFinding(cached, 'kept'), outcome: `kept, ${answer.reason}` };
    return { records: [], outcome: answer.reason, isUnavailable: true };
  }

  return {
    name: 'provider',
    async find(known): Promise<Finding> {
      const identity = identityFor(settings.template, known);
      if (!identity) return { records: [], outcome: 'not-asked' };
      // Concurrent lookups of a vehicle share one call.
      const key = JSON.stringify([identity.plate, identity.vin]);
      const lookup = inFlight.get(key) ?? find(identity).finally(() => inFlight.delete(key));
      inFlight.set(key, lookup);
      return lookup;
    },
  };
}

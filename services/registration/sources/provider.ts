import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import type { Finding, Source } from '../lookup/rules.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { type CachedAnswer, cacheAnswer, findCachedAnswer } from './provider-cache.ts';
import { callProvider, identityFor, type ProviderAnswer, urlFor } from './provider-client.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** What the provider source depends on; `now` is the clock in milliseconds. */
export interface ProviderHost {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly now: () => number;
}

const windowMs = 60_000;

/** Limits calls per minute, because providers may charge for each. Returns a function that takes one call. */
function limitCalls(callsPerMinute: number, now: () => number): () => boolean {
  let windowEndMs = 0;
  let calls = 0;
  return () => {
    const leftMs = windowEndMs - now();
    // More than a whole window left means that the clock was set back.
    if (leftMs <= 0 || leftMs > windowMs) {
      windowEndMs = now() + windowMs;
      calls = 0;
    }
    calls += 1;
    return calls <= callsPerMinute;
  };
}

function toFinding({ fields }: CachedAnswer, outcome: string): Finding {
  return fields ? { records: [fields], outcome } : { records: [], outcome: 'unknown' };
}

/**
 * Creates the source that queries the configured provider over HTTP. Answers are cached in the database. While the
 * circuit is open, the calls of the minute are used up or a call fails, a stale cached answer is used.
 */
export function createProviderSource(settings: ProviderSettings, { db, logger, metrics, now }: ProviderHost): Source {
  const circuit = new CircuitBreaker({ failures: settings.failures, pauseMs: settings.pauseMs, now });
  const takeCall = limitCalls(settings.callsPerMinute, now);
  const inFlight = new Map<string, Promise<Finding>>();
  const calls = new Counter({
    name: 'odograph_registration_provider_calls_total',
    help: 'Calls to the provider of registration data by outcome',
    labelNames: ['end'],
    registers: [metrics],
  });

  async function call(identity: VehicleIdentity): Promise<ProviderAnswer> {
    if (!circuit.allows()) return { kind: 'failed', reason: 'circuit-open' };
    if (!takeCall()) {
      circuit.abandoned();
      return { kind: 'failed', reason: 'calls-used-up' };
    }
    const answer = await callProvider(settings, urlFor(settings.template, identity));
    if (answer.kind === 'failed') {
      circuit.failed();
      logger.warn({ reason: answer.reason }, 'call to the registration data provider failed');
      return answer;
    }
    circuit.succeeded();
    const fields = answer.kind === 'found' ? { fields: answer.fields } : {};
    await cacheAnswer(db, settings.sha256, identity, { fetchedAtMs: now(), ...fields });
    return answer;
  }

  function isFresh({ fields, fetchedAtMs }: CachedAnswer): boolean {
    return now() - fetchedAtMs < (fields ? settings.cacheMs : settings.negativeCacheMs);
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

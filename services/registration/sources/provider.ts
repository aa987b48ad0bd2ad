import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import type { Finding, Source } from '../lookup/rules.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { findKeptAnswer, type KeptAnswer, keepAnswer } from './provider-cache.ts';
import { addressFor, askedFor, askProvider, type ProviderAnswer } from './provider-client.ts';
import type { ProviderSettings } from './provider-settings.ts';

/** What the provider stands on. */
export interface ProviderHost {
  readonly db: Database;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly now: () => number;
}

const windowMs = 60_000;

/** Lets so many calls a minute pass, for a provider may ask money for each. */
function limitCalls(callsPerMinute: number, now: () => number): () => boolean {
  let windowEndMs = 0;
  let calls = 0;
  return () => {
    const leftMs = windowEndMs - now();
    // More is left than a window lasts when the clock was set back.
    if (leftMs <= 0 || leftMs > windowMs) {
      windowEndMs = now() + windowMs;
      calls = 0;
    }
    calls += 1;
    return calls <= callsPerMinute;
  };
}

function toFinding({ fields }: KeptAnswer, outcome: string): Finding {
  return fields ? { records: [fields], outcome } : { records: [], outcome: 'unknown' };
}

/**
 * The provider of the settings, asked over HTTP. Its answers are kept in the database; it is not asked while its circuit
 * is open or its calls of the minute are used up. Then, and when it fails, an older answer serves.
 */
export function createProviderSource(settings: ProviderSettings, { db, logger, metrics, now }: ProviderHost): Source {
  const circuit = new CircuitBreaker({ failures: settings.failures, pauseMs: settings.pauseMs, now });
  const mayCall = limitCalls(settings.callsPerMinute, now);
  const underWay = new Map<string, Promise<Finding>>();
  const calls = new Counter({
    name: 'odograph_registration_provider_calls_total',
    help: 'Lookups at the provider of registration data by their end',
    labelNames: ['end'],
    registers: [metrics],
  });

  async function call(subject: VehicleIdentity): Promise<ProviderAnswer> {
    if (!circuit.allows()) return { kind: 'failed', reason: 'circuit-open' };
    if (!mayCall()) {
      circuit.abandoned();
      return { kind: 'failed', reason: 'calls-used-up' };
    }
    const answer = await askProvider(settings, addressFor(settings.template, subject));
    if (answer.kind === 'failed') {
      circuit.failed();
      logger.warn({ reason: answer.reason }, 'the provider of registration data did not answer');
      return answer;
    }
    circuit.succeeded();
    const kept = { fetchedAtMs: now(), ...(answer.kind === 'found' ? { fields: answer.fields } : {}) };
    await keepAnswer(db, settings.sha256, subject, kept);
    return answer;
  }

  function isFresh({ fields, fetchedAtMs }: KeptAnswer): boolean {
    return now() - fetchedAtMs < (fields ? settings.cacheMs : settings.negativeCacheMs);
  }

  async function find(subject: VehicleIdentity): Promise<Finding> {
    const kept = await findKeptAnswer(db, settings.sha256, subject);
    if (kept && isFresh(kept)) return toFinding(kept, 'kept');
    const answer = await call(subject);
    calls.inc({ end: answer.kind === 'failed' ? answer.reason : answer.kind });
    if (answer.kind === 'found') return { records: [answer.fields], outcome: 'found' };
    if (answer.kind === 'unknown') return { records: [], outcome: 'unknown' };
    if (kept?.fields) return { ...toFinding(kept, 'kept'), outcome: `kept, ${answer.reason}` };
    return { records: [], outcome: answer.reason, isAway: true };
  }

  return {
    name: 'provider',
    async find(known): Promise<Finding> {
      const subject = askedFor(settings.template, known);
      if (!subject) return { records: [], outcome: 'not-asked' };
      // Two who look up the same vehicle at the same time wait for one call.
      const name = JSON.stringify([subject.plate, subject.vin]);
      const running = underWay.get(name) ?? find(subject).finally(() => underWay.delete(name));
      underWay.set(name, running);
      return running;
    },
  };
}

import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { operatorRoutes, tokenRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { importRoutes } from './imports/routes.ts';
import { lookupRoutes, recordRoutes } from './routes.ts';
import type { ProviderLimits } from './sources/provider-settings.ts';
import { createSources } from './sources/sources.ts';

/**
 * Creates the service of registration data by plate or VIN.
 * @param now the clock in milliseconds; ages cached answers and times the circuit breaker of the provider
 */
export function createRegistrationService(now: () => number, limits?: ProviderLimits): Service<Http> {
  return {
    name: 'registration',
    async start({ http, config, logger, metrics, adminToken, onStop }) {
      const db = openDatabase({ url: config.DATABASE_URL, name: 'registration', size: config.DATABASE_POOL_SIZE });
      onStop('registration database', () => db.destroy());
      const sources = createSources(config, { db, logger, metrics, now }, limits);
      const accounts = accountsIn(db, config);
      await tokenRoutes(http, accounts, [lookupRoutes(db, sources)]);
      await operatorRoutes(http, { accounts, adminToken }, [recordRoutes(db, sources, now), importRoutes(db)]);
      return {
        async health() {
          await pingDatabase(db);
          return { ok: true, state: 'running' };
        },
      };
    },
  };
}

export const registrationService = createRegistrationService(Date.now);

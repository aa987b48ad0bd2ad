import { openDatabase, pingDatabase } from '@odograph/database/database';
import { findCaller } from '@odograph/database/tokens';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { addImportRoutes } from './imports/routes.ts';
import { addAdminRoutes } from './lookup/operator-routes.ts';
import { addRegistrationRoutes } from './lookup/routes.ts';
import { createSources } from './sources/sources.ts';

/**
 * Registration data of vehicles, by plate or VIN, and the sources it comes from.
 * @param now the clock in milliseconds; ages cached answers and times the circuit breaker of the provider
 */
export function createRegistrationService(now: () => number): Service<Http> {
  return {
    name: 'registration',
    async start({ http, config, logger, metrics, adminToken, onStop }) {
      const db = openDatabase({ url: config.DATABASE_URL, name: 'registration', size: config.DATABASE_POOL_SIZE });
      onStop('registration database', () => db.destroy());
      const sources = createSources(config, { db, logger, metrics, now });
      await http.register(async (withToken) => {
        withToken.addHook(
          'onRequest',
          requireToken((hash) => findCaller(db, hash)),
        );
        addRegistrationRoutes(withToken, db, sources);
      });
      await http.register(async (forOperators) => {
        forOperators.addHook('onRequest', requireAdmin(adminToken));
        addAdminRoutes(forOperators, db, sources, now);
        addImportRoutes(forOperators, db);
      });
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

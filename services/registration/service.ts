import { findCaller } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { addImportRoutes } from './imports/routes.ts';
import { addLookupRoutes } from './lookup/routes.ts';
import { addRecordRoutes } from './record/routes.ts';
import { createSources } from './sources/sources.ts';

/**
 * Creates the service of registration data by plate or VIN.
 * @param now the clock in milliseconds; ages cached answers and times the circuit breaker of the provider
 */
export function createRegistrationService(now: () => number): Service<Http> {
  return {
    name: 'registration',
    async start({ http, config, logger, metrics, adminToken, onStop }) {
      const db = openDatabase({ url: config.DATABASE_URL, name: 'registration', size: config.DATABASE_POOL_SIZE });
      onStop('registration database', () => db.destroy());
      const sources = createSources(config, { db, logger, metrics, now });
      await http.register(async (tokenRoutes) => {
        tokenRoutes.addHook(
          'onRequest',
          requireToken((hash) => findCaller(db, hash)),
        );
        addLookupRoutes(tokenRoutes, db, sources);
      });
      await http.register(async (operatorRoutes) => {
        operatorRoutes.addHook('onRequest', requireAdmin(adminToken));
        addRecordRoutes(operatorRoutes, db, sources, now);
        addImportRoutes(operatorRoutes, db);
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

import type { Tables } from '@odograph/database/tables';
import { findCaller } from '@odograph/database/tokens';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { addAdminRoutes } from './admin-routes.ts';
import { addImportRoutes } from './imports/routes.ts';
import { addRegistrationRoutes } from './routes.ts';
import { createSources } from './sources.ts';

/**
 * Registers everything about registration data: the routes of callers and those of operators.
 * @param now the clock in milliseconds, by which answers age and a failing provider is left alone
 * @throws InvalidSettings when the provider's settings cannot be used
 */
export async function registerRegistration(
  { http, config, logger, metrics, adminToken }: ServiceHost<Http>,
  db: Kysely<Tables>,
  now: () => number = Date.now,
): Promise<void> {
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
}

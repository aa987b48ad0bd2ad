import { findCaller } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { requireToken } from '@odograph/http/authentication';
import { answerFailure } from '@odograph/http/failure-answer';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { addChangeRoutes } from './changes/routes.ts';
import { addCustomCanRoutes } from './customcan/routes.ts';
import { addFleetStatusRoutes } from './fleet-status/routes.ts';
import { addGapRoutes } from './gaps/routes.ts';
import { addHistoryRoutes } from './history/routes.ts';
import { addLatestRoutes } from './latest/routes.ts';
import { recognizeOverload } from './overload.ts';
import { addTrackRoutes } from './tracks/routes.ts';
import { addTripRoutes } from './trips/routes.ts';

const statementTimeoutMs = 30_000;

/** Reads what vehicles reported: the latest state, history and CAN data. Writes nothing, so a replica serves it. */
export const queryService: Service<Http> = {
  name: 'query',
  async start({ config, http, logger, onStop }) {
    const db = openDatabase({
      url: config.QUERY_DATABASE_URL,
      name: 'query',
      size: config.DATABASE_POOL_SIZE,
      statementTimeoutMs,
    });
    onStop('query database', () => db.destroy());

    http.register(async (routes: Http) => {
      routes.setErrorHandler<Error>((error, request, reply) => {
        const failure = recognizeOverload(error);
        if (failure !== error) logger.warn({ err: error }, 'the database did not answer a query in time');
        answerFailure(failure, request, reply);
      });
      routes.addHook(
        'onRequest',
        requireToken((tokenSha256) => findCaller(db, tokenSha256)),
      );
      routes.addHook('onRoute', (route) => {
        route.schema = { security: [{ serviceToken: [] }], ...route.schema };
      });
      addLatestRoutes(routes, db);
      addFleetStatusRoutes(routes, db);
      addHistoryRoutes(routes, db);
      addCustomCanRoutes(routes, db);
      addGapRoutes(routes, db);
      addTripRoutes(routes, db);
      addTrackRoutes(routes, db);
      addChangeRoutes(routes, db);
    });

    const health = async () => {
      await pingDatabase(db);
      return { ok: true, state: 'running' };
    };
    return { health };
  },
};

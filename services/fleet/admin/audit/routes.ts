import { findApplicationId } from '@odograph/database/applications';
import { operatorChain } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { AppId, adminRoute } from '@odograph/http/operator-routes';
import { answers, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { pageLimit } from '../schemas.ts';
import { listAudit, verifyChains } from './queries.ts';

const AuditRow = Type.Object({
  position: Type.Integer(),
  at: Type.String(),
  actor: Type.String({ description: 'application, user:ID, operator, device, device:ID or platform' }),
  address: Type.String(),
  action: Type.String(),
  subject: Type.String(),
  details: Type.Record(Type.String(), Type.Unknown()),
  outcome: Type.String(),
});
const Verdict = Type.Object({
  appId: Type.Union([Type.String(), Type.Null()], { description: 'null for what concerns no application' }),
  length: Type.Integer(),
  head: Type.String({ description: 'the hash of the newest row; kept elsewhere it proves that none was cut off' }),
  fault: Type.Optional(
    Type.Object({ position: Type.Integer(), reason: word(['CHANGED', 'MISSING', 'NOT_IN_CHAIN'] as const) }),
  ),
});

/** The operator's routes for the audit: who did what, and whether it was tampered with. */
export function addAuditRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/audit',
    {
      schema: {
        ...adminRoute,
        summary: 'List the audit of an application, or of what concerns none',
        querystring: Type.Object({
          appId: Type.Optional(AppId),
          limit: pageLimit,
          after: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
        }),
        response: answers(Type.Object({ audit: Type.Array(AuditRow) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query: { appId, after, limit } }) => {
      const chain = appId === undefined ? operatorChain : await findApplicationId(db, appId);
      return { audit: await listAudit(db, chain, { after, limit }) };
    },
  );

  http.get(
    '/v1/x/admin/audit/verify',
    {
      schema: {
        ...adminRoute,
        summary: 'Recompute the hashes of the audit; names the first row of each chain that is not as it was written',
        response: answers(Type.Object({ ok: Type.Boolean(), chains: Type.Array(Verdict) })),
      },
    },
    async () => {
      const chains = await verifyChains(db);
      return { ok: chains.every(({ fault }) => fault === undefined), chains };
    },
  );
}

import { isoMicroseconds, parseOptionalTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { findScope } from '@odograph/database/accounts';
import { operatorChain } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, moment, pageLimit, text, timestamp, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { listAudit, verifyChains } from './queries.ts';

const AuditRow = Type.Object(
  {
    position: Type.Integer(),
    at: moment('when it happened'),
    actor: Type.String({
      description: 'application, user:ID, operator:NAME, operator (the admin token), device, device:ID or platform',
      examples: ['operator'],
    }),
    address: Type.String({ examples: ['192.0.2.1'] }),
    action: Type.String({ examples: ['vehicle.create'] }),
    subject: Type.String({ examples: ['vehicle:1000000001'] }),
    details: Type.Record(Type.String(), Type.Unknown(), { examples: [{}] }),
    outcome: Type.String({ examples: ['done'] }),
  },
  { title: 'AuditRow' },
);
const Verdict = Type.Object(
  {
    appId: Type.Union([AppId, Type.Null()], { description: 'null for actions outside of any application' }),
    length: Type.Integer(),
    prunedThrough: Type.Integer({ description: 'rows up to this position were removed by retention' }),
    erasedRows: Type.Integer({ description: 'rows whose personal values were erased' }),
    head: Type.String({
      description: 'the hash of the newest row; a copy kept elsewhere reveals rows removed from the end',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
    fault: Type.Optional(
      Type.Object({ position: Type.Integer(), reason: word(['CHANGED', 'MISSING', 'NOT_IN_CHAIN'] as const) }),
    ),
  },
  { title: 'AuditVerdict' },
);

const AuditQuery = Type.Object({
  appId: Type.Optional(AppId),
  limit: pageLimit,
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'the last position of the page before',
    }),
  ),
  order: Type.Optional(
    word(['oldest', 'newest'] as const, { description: 'which rows come first; oldest by default' }),
  ),
  search: Type.Optional(
    text(1, 256, { description: 'text in the actor, the action or the subject, in any case', examples: ['command.'] }),
  ),
  from: Type.Optional(timestamp('earliest time')),
  until: Type.Optional(timestamp('end of the period')),
});

function momentOf(field: string, value: Timestamp | undefined): string | undefined {
  const parsed = parseOptionalTimestamp(field, value);
  return parsed === undefined ? undefined : isoMicroseconds(parsed);
}

/** The operator's routes that list and verify the audit. */
export function operatorAuditRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/audit',
      {
        preValidation: leaveOutEmpty(...Object.keys(AuditQuery.properties)),
        schema: {
          summary: 'List or search the audit of an application, or of the actions outside of any',
          querystring: AuditQuery,
          response: answers(Type.Object({ audit: Type.Array(AuditRow) }), 'UNKNOWN_APPLICATION', 'INVALID_PARAMETER'),
        },
      },
      async ({ query: { appId, order = 'oldest', after, limit, search, ...period }, operator }) => {
        const chain = (await findScope(db, operator, appId)) ?? operatorChain;
        const [from, until] = [momentOf('from', period.from), momentOf('until', period.until)];
        return { audit: await listAudit(db, chain, { order, after, limit, search, from, until }) };
      },
    );

    http.get(
      '/v1/x/admin/audit/verify',
      {
        schema: {
          summary: 'Recompute the hashes of the audit; answers the first altered row of each chain',
          response: answers(Type.Object({ ok: Type.Boolean(), chains: Type.Array(Verdict) })),
        },
      },
      async () => {
        const chains = await verifyChains(db);
        return { ok: chains.every(({ fault }) => fault === undefined), chains };
      },
    );
  };
}

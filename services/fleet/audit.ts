import { isoMicroseconds, parseOptionalTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { findScope } from '@odograph/database/accounts';
import { operatorChain, verifyAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, moment, pageLimit, text, timestamp, word } from '@odograph/http/schemas';
import { type Kysely, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from './common/fleet.ts';

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
export const audit: FleetRoutes = { operator: [addAuditRoutes] };

function addAuditRoutes(http: Http, { db }: Fleet): void {
  const listOptions = {
    preValidation: leaveOutEmpty(...Object.keys(AuditQuery.properties)),
    schema: {
      summary: 'List or search the audit of an application, or of the actions outside of any',
      querystring: AuditQuery,
      response: answers(Type.Object({ audit: Type.Array(AuditRow) }), 'UNKNOWN_APPLICATION', 'INVALID_PARAMETER'),
    },
  };
  http.get(
    '/v1/x/admin/audit',
    listOptions,
    async ({ query: { appId, order = 'oldest', after, limit, search, ...interval }, operator }) => {
      const chain = (await findScope(db, operator, appId)) ?? operatorChain;
      const [from, until] = [momentOf('from', interval.from), momentOf('until', interval.until)];
      return { audit: await listAudit(db, chain, { order, after, limit, search, from, until }) };
    },
  );

  const verifySchema = {
    summary: 'Recompute the hashes of the audit; answers the first altered row of each chain',
    response: answers(Type.Object({ ok: Type.Boolean(), chains: Type.Array(Verdict) })),
  };
  http.get('/v1/x/admin/audit/verify', { schema: verifySchema }, async () => {
    const chains = await verifyChains(db);
    return { ok: chains.every(({ fault }) => fault === undefined), chains };
  });
}

/** Which rows of a chain to list, and in which order of their positions. */
interface AuditSearch {
  readonly order: 'oldest' | 'newest';
  /** The last position of the page before; undefined for the first page. */
  readonly after: number | undefined;
  readonly limit: number;
  /** Text that the actor, the action or the subject contains, in any case. */
  readonly search: string | undefined;
  /** ISO 8601. */
  readonly from: string | undefined;
  /** ISO 8601, exclusive. */
  readonly until: string | undefined;
}

/** Lists rows of a chain by position. */
async function listAudit(db: Database, chain: number, request: AuditSearch): Promise<Type.Static<typeof AuditRow>[]> {
  const { order, after, limit, search, from, until } = request;
  const isNewest = order === 'newest';
  const conditions = [
    sql`chain = ${chain}`,
    ...(after === undefined ? [] : [isNewest ? sql`position < ${after}` : sql`position > ${after}`]),
    ...(from === undefined ? [] : [sql`at >= ${from}::timestamptz`]),
    ...(until === undefined ? [] : [sql`at < ${until}::timestamptz`]),
    ...(search === undefined
      ? []
      : [sql`strpos(lower(concat_ws(' ', actor, action, subject)), lower(${search}::text)) > 0`]),
  ];
  const { rows } = await sql<Type.Static<typeof AuditRow>>`
    select position, ${isoTime('at', 'microseconds')} as at, actor, address, action,
      subject, details, outcome
    from audit where ${sql.join(conditions, sql` and `)}
    order by position ${isNewest ? sql`desc` : sql`asc`} limit ${limit}`.execute(db);
  return rows;
}

/** Verifies all chains in one snapshot, without blocking writers. */
async function verifyChains(db: Kysely<Tables>): Promise<Type.Static<typeof Verdict>[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const applications = await trx.selectFrom('application').select(['id', 'app_id']).execute();
      const names = new Map(applications.map(({ id, app_id }) => [id, app_id]));
      const verdicts = await verifyAudit(trx);
      return verdicts.map(({ chain, ...verdict }) => ({ appId: names.get(chain) ?? null, ...verdict }));
    });
}

import { type ChainVerdict, verifyAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, sql } from 'kysely';

/** A row of the audit as the operator sees it. */
export interface AuditRow {
  position: number;
  at: string;
  actor: string;
  address: string;
  action: string;
  subject: string;
  details: Record<string, unknown>;
  outcome: string;
}

/** Which rows of a chain to list, and in which order of their positions. */
export interface AuditSearch {
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
export async function listAudit(db: Database, chain: number, request: AuditSearch): Promise<AuditRow[]> {
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
  const { rows } = await sql<AuditRow>`
    select position, ${isoTime('at', 'microseconds')} as at, actor, address, action,
      subject, details, outcome
    from audit where ${sql.join(conditions, sql` and `)}
    order by position ${isNewest ? sql`desc` : sql`asc`} limit ${limit}`.execute(db);
  return rows;
}

/** The result of verifying a chain; `appId` is null for the operator's own chain. */
export interface NamedVerdict extends Omit<ChainVerdict, 'chain'> {
  appId: string | null;
}

/** Verifies all chains in one snapshot, without blocking writers. */
export async function verifyChains(db: Kysely<Tables>): Promise<NamedVerdict[]> {
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

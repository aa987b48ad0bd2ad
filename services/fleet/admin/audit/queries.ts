import { type ChainVerdict, verifyAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
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

/** The rows of a chain in their order, at most `limit` of them after the position `after`. */
export async function listAudit(
  db: Database,
  chain: number,
  { after, limit }: { after: number; limit: number },
): Promise<AuditRow[]> {
  const { rows } = await sql<AuditRow>`
    select position, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, actor, address, action,
      subject, details, outcome
    from audit where chain = ${chain} and position > ${after} order by position limit ${limit}`.execute(db);
  return rows;
}

/** What verification found in a chain; `appId` is null in the operator's own. */
export interface NamedVerdict extends Omit<ChainVerdict, 'chain'> {
  appId: string | null;
}

/** Verifies every chain as of one moment, beside writers. */
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

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

/** Lists the rows of a chain by position, at most `limit` after the position `after`. */
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

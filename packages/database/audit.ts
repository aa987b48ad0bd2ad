import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** The chain of what the operator does to no application in particular. */
export const operatorChain = 0;

/** Who did what to what, from where, and how it went. `details` hold no position and no secret. */
export interface AuditEntry {
  /** The application whose chain it belongs to, or operatorChain. */
  chain: number;
  /** `application`, `user:{id}`, `operator`, `device:{id}` or `platform`. */
  actor: string;
  /** The network address it came from; empty for the platform itself. */
  address: string;
  /** What was done, such as `privacy.on` or `command.unlock`. */
  action: string;
  /** What it was done to, such as `vehicle:1000000001`. */
  subject: string;
  details?: Readonly<Record<string, string | number | boolean | null>>;
  outcome: string;
}

interface AuditRow extends Required<AuditEntry> {
  position: number;
  at: string;
  sha256: Buffer;
}

/** Sorted keys, so that the text is the same after a way through jsonb. */
function canonical(details: AuditEntry['details']): string {
  const entries = Object.entries(details ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries);
}

/** The hash of a row, over its own content and the hash of the row before. */
function chainHash(previous: Buffer, row: Omit<AuditRow, 'sha256'>): Buffer {
  const { chain, position, at, actor, address, action, subject, outcome } = row;
  const content = JSON.stringify([
    chain,
    position,
    at,
    actor,
    address,
    action,
    subject,
    canonical(row.details),
    outcome,
  ]);
  return createHash('sha256').update(previous).update(content).digest();
}

/**
 * Adds a row to its chain; call it in the transaction of the change itself, last, because from here to the end of the
 * transaction others wait who add to the same chain.
 */
export async function appendAudit(db: Database, entry: AuditEntry): Promise<void> {
  await sql`insert into audit_chain (chain) values (${entry.chain}) on conflict do nothing`.execute(db);
  const { rows } = await sql<{ length: number; head: Buffer; at: string }>`
    select length, head_sha256 as head, to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from audit_chain where chain = ${entry.chain} for update`.execute(db);
  const [last] = rows;
  if (!last) throw new Error('the audit chain is missing');
  const row = { ...entry, details: entry.details ?? {}, position: last.length + 1, at: last.at };
  const sha256 = chainHash(last.head, row);
  await sql`insert into audit (chain, position, at, actor, address, action, subject, details, outcome, sha256)
    values (${row.chain}, ${row.position}, ${row.at}::timestamptz, ${row.actor}, ${row.address}, ${row.action},
      ${row.subject}, ${JSON.stringify(row.details)}::jsonb, ${row.outcome}, ${sha256})`.execute(db);
  await sql`update audit_chain set length = ${row.position}, head_sha256 = ${sha256}
    where chain = ${row.chain}`.execute(db);
}

/** What verification found in one chain: `fault` names the first row that is not as it was written. */
export interface ChainVerdict {
  chain: number;
  length: number;
  /** The hash of the newest row; kept elsewhere, it proves that nothing was cut off the end. */
  head: string;
  fault?: { position: number; reason: 'CHANGED' | 'MISSING' | 'NOT_IN_CHAIN' };
}

const pageLength = 1000;

async function readRows(db: Database, chain: number, after: number): Promise<AuditRow[]> {
  const { rows } = await sql<AuditRow>`
    select chain, position, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, actor, address,
      action, subject, details, outcome, sha256
    from audit where chain = ${chain} and position > ${after} order by position limit ${pageLength}`.execute(db);
  return rows;
}

async function verifyChain(db: Database, chain: number, length: number, head: Buffer): Promise<ChainVerdict> {
  const verdict = { chain, length, head: head.toString('hex') };
  let previous: Buffer = Buffer.alloc(0);
  let position = 0;
  for (;;) {
    const rows = await readRows(db, chain, position);
    for (const row of rows) {
      position += 1;
      if (row.position !== position) return { ...verdict, fault: { position, reason: 'MISSING' } };
      if (position > length) return { ...verdict, fault: { position, reason: 'NOT_IN_CHAIN' } };
      if (!chainHash(previous, row).equals(row.sha256)) return { ...verdict, fault: { position, reason: 'CHANGED' } };
      previous = row.sha256;
    }
    if (rows.length < pageLength) break;
  }
  if (position < length) return { ...verdict, fault: { position: position + 1, reason: 'MISSING' } };
  if (!previous.equals(head)) return { ...verdict, fault: { position, reason: 'CHANGED' } };
  return verdict;
}

/** Recomputes every chain from its first row; run it in a repeatable-read transaction beside writers. */
export async function verifyAudit(db: Database): Promise<ChainVerdict[]> {
  const { rows } = await sql<{ chain: number; length: number; head: Buffer }>`
    select chain, length, head_sha256 as head from audit_chain
    union select chain, 0, '\\x'::bytea from audit where chain not in (select chain from audit_chain)
    order by chain`.execute(db);
  const verdicts: ChainVerdict[] = [];
  for (const { chain, length, head } of rows) verdicts.push(await verifyChain(db, chain, length, head));
  return verdicts;
}

import { createHash } from 'node:crypto';
import { isExpression, type RawBuilder, sql } from 'kysely';
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

/** An entry of which parts are SQL, because only the statement knows them; `details` then is jsonb. */
export type AuditExpressions = { readonly [Part in keyof AuditEntry]: AuditEntry[Part] | RawBuilder<unknown> };

/** The row as SQL that adds it, to be part of a statement that changes what it tells of. */
export function auditCall(entry: AuditExpressions): RawBuilder<unknown> {
  const { chain, actor, address, action, subject, details = {}, outcome } = entry;
  return sql`append_audit(${chain}::integer, ${actor}::text, ${address}::text, ${action}::text, ${subject}::text,
    ${isExpression(details) ? details : JSON.stringify(details)}::jsonb, ${outcome}::text)`;
}

/**
 * Adds a row to its chain; call it in the transaction of the change itself, last, because from here to the end of the
 * transaction others wait who add to the same chain.
 */
export async function appendAudit(db: Database, entry: AuditEntry): Promise<void> {
  await sql`select ${auditCall(entry)}`.execute(db);
}

interface ChainRow {
  position: number;
  content: string;
  sha256: Buffer;
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

async function readRows(db: Database, chain: number, after: number): Promise<ChainRow[]> {
  const { rows } = await sql<ChainRow>`select position, audit_content(audit) as content, sha256
    from audit where chain = ${chain} and position > ${after} order by position limit ${pageLength}`.execute(db);
  return rows;
}

/** Recomputed here and not by the database, which is what is being checked. */
function chainHash(previous: Buffer, content: string): Buffer {
  return createHash('sha256').update(previous).update(content).digest();
}

type Fault = NonNullable<ChainVerdict['fault']>;

/** Where the walk along a chain has come to. */
interface Walk {
  position: number;
  sha256: Buffer;
}

/** Goes on over rows that follow, up to the first that is not as it was written. */
function walkRows(from: Walk, rows: readonly ChainRow[], length: number): Walk & { fault?: Fault } {
  let { position, sha256 } = from;
  for (const row of rows) {
    position += 1;
    if (row.position !== position) return { position, sha256, fault: { position, reason: 'MISSING' } };
    if (position > length) return { position, sha256, fault: { position, reason: 'NOT_IN_CHAIN' } };
    if (!chainHash(sha256, row.content).equals(row.sha256)) {
      return { position, sha256, fault: { position, reason: 'CHANGED' } };
    }
    sha256 = row.sha256;
  }
  return { position, sha256 };
}

/** Whether the walk ended where the chain says that it ends. */
function faultAtEnd({ position, sha256 }: Walk, length: number, head: Buffer): Fault | undefined {
  if (position < length) return { position: position + 1, reason: 'MISSING' };
  return sha256.equals(head) ? undefined : { position, reason: 'CHANGED' };
}

async function verifyChain(db: Database, chain: number, length: number, head: Buffer): Promise<ChainVerdict> {
  const verdict = { chain, length, head: head.toString('hex') };
  let walk: Walk & { fault?: Fault } = { position: 0, sha256: Buffer.alloc(0) };
  for (;;) {
    const rows = await readRows(db, chain, walk.position);
    walk = walkRows(walk, rows, length);
    if (walk.fault || rows.length < pageLength) break;
  }
  const fault = walk.fault ?? faultAtEnd(walk, length, head);
  return fault ? { ...verdict, fault } : verdict;
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

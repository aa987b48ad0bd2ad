import { createHash } from 'node:crypto';
import type { Caller } from '@odograph/contracts/caller';
import { isExpression, type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Chain of operator actions that concern no single application. */
export const operatorChain = 0;

/** One action: actor, address, subject and outcome. `details` must hold neither positions nor secrets. */
export interface AuditEntry {
  /** Id of the application whose chain the entry belongs to, or operatorChain. */
  chain: number;
  /** `application`, `user:{id}`, `operator`, `device:{id}` or `platform`. */
  actor: string;
  /** Network address of the actor; empty for the platform itself. */
  address: string;
  /** Such as `privacy.on` or `command.unlock`. */
  action: string;
  /** Such as `vehicle:1000000001`. */
  subject: string;
  details?: Readonly<Record<string, string | number | boolean | null>>;
  outcome: string;
}

/** An entry whose parts may be SQL that only the statement can evaluate; `details` is then jsonb. */
export type AuditExpressions = { readonly [Part in keyof AuditEntry]: AuditEntry[Part] | RawBuilder<unknown> };

/** Builds the SQL call that appends an entry, for use within the statement that makes the change. */
export function auditCall(entry: AuditExpressions): RawBuilder<unknown> {
  const { chain, actor, address, action, subject, details = {}, outcome } = entry;
  return sql`append_audit(${chain}::integer, ${actor}::text, ${address}::text, ${action}::text, ${subject}::text,
    ${isExpression(details) ? details : JSON.stringify(details)}::jsonb, ${outcome}::text)`;
}

/**
 * Appends an entry to its chain. Call it last in the transaction of the change: it locks the chain until that transaction
 * ends.
 */
export async function appendAudit(db: Database, entry: AuditEntry): Promise<void> {
  await sql`select ${auditCall(entry)}`.execute(db);
}

interface ChainRow {
  position: number;
  content: string;
  sha256: Buffer;
}

/** Result of verifying one chain; `fault` names the first row that differs from what was written. */
export interface ChainVerdict {
  chain: number;
  length: number;
  /** Hash of the newest row, hexadecimal; a copy kept elsewhere detects rows removed from the end. */
  head: string;
  fault?: { position: number; reason: 'CHANGED' | 'MISSING' | 'NOT_IN_CHAIN' };
}

const pageLength = 1000;

async function readRows(db: Database, chain: number, after: number): Promise<ChainRow[]> {
  const { rows } = await sql<ChainRow>`select position, audit_content(audit) as content, sha256
    from audit where chain = ${chain} and position > ${after} order by position limit ${pageLength}`.execute(db);
  return rows;
}

/** Computed here, because the database is what is being verified. */
function chainHash(previous: Buffer, content: string): Buffer {
  return createHash('sha256').update(previous).update(content).digest();
}

type Fault = NonNullable<ChainVerdict['fault']>;

/** The last verified row of a chain. */
interface Walk {
  position: number;
  sha256: Buffer;
}

/** Verifies the rows that follow, up to the first fault. */
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

/** Checks that the last row is the one the chain records as its newest. */
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

/** Recomputes every chain from its first row. Use a repeatable-read transaction while others write. */
export async function verifyAudit(db: Database): Promise<ChainVerdict[]> {
  const { rows } = await sql<{ chain: number; length: number; head: Buffer }>`
    select chain, length, head_sha256 as head from audit_chain
    union select chain, 0, '\\x'::bytea from audit where chain not in (select chain from audit_chain)
    order by chain`.execute(db);
  const verdicts: ChainVerdict[] = [];
  for (const { chain, length, head } of rows) verdicts.push(await verifyChain(db, chain, length, head));
  return verdicts;
}

/** Chain, actor and network address of an entry. */
export type AuditOrigin = Pick<AuditEntry, 'chain' | 'actor' | 'address'>;

/** Names the caller as the audit does: `application`, or `user:{id}` in user mode. */
export function actorOf({ userId }: Caller): string {
  return userId === undefined ? 'application' : `user:${userId}`;
}

/** Derives the origin of an entry from a request of an application or one of its users. */
export function originOf({ caller, ip }: { caller: Caller; ip: string }): AuditOrigin {
  return { chain: caller.applicationId, actor: actorOf(caller), address: ip };
}

/** Derives the origin of an entry from an operator request. @param chain id of the application acted on, if any */
export function operatorOrigin({ ip }: { ip: string }, chain = operatorChain): AuditOrigin {
  return { chain, actor: 'operator', address: ip };
}

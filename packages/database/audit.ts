import { createHash } from 'node:crypto';
import type { Caller, OperatorRequest } from '@odograph/contracts/caller';
import { isExpression, type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Chain of operator actions that concern no single application. */
export const operatorChain = 0;

/** One action: actor, address, subject and outcome. `details` must hold neither positions nor secrets. */
export interface AuditEntry {
  /** Id of the application whose chain the entry belongs to, or operatorChain. */
  chain: number;
  /** `application`, `api-key:{name}`, `user:{id}`, `operator:{name}`, `operator` (the admin token), `device:{id}` or `platform`. */
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
  personal: string;
  salt: Buffer | null;
  personal_sha256: Buffer;
  sha256: Buffer;
}

/** The result of verifying one chain: `fault` names the first row that differs from what was written. */
export interface ChainVerdict {
  chain: number;
  length: number;
  /** Rows up to this position were removed by retention; verification starts after it. */
  prunedThrough: number;
  /** Rows whose personal values were erased; each erasure of a person is a row of its own. */
  erasedRows: number;
  /** The hash of the newest row; kept elsewhere, it proves that nothing was cut off the end. */
  head: string;
  fault?: { position: number; reason: 'CHANGED' | 'MISSING' | 'NOT_IN_CHAIN' };
}

const pageLength = 1000;

async function readRows(db: Database, chain: number, after: number): Promise<ChainRow[]> {
  const { rows } = await sql<ChainRow>`
    select position, audit_content(audit) as content, audit_personal(audit) as personal, salt, personal_sha256, sha256
    from audit where chain = ${chain} and position > ${after} order by position limit ${pageLength}`.execute(db);
  return rows;
}

/** Recomputed in this process, because the database is what is verified. */
function sha256(...parts: readonly (Buffer | string)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

type Fault = NonNullable<ChainVerdict['fault']>;

/** Progress of the verification of one chain. */
interface Walk {
  position: number;
  sha256: Buffer;
  erasedRows: number;
  fault?: Fault;
}

function faultOf(row: ChainRow, { position, sha256: previous }: Walk, length: number): Fault | undefined {
  if (row.position !== position) return { position, reason: 'MISSING' };
  if (position > length) return { position, reason: 'NOT_IN_CHAIN' };
  const hasItsPersonalValues = row.salt === null || sha256(row.salt, row.personal).equals(row.personal_sha256);
  const isInChain = sha256(previous, row.content).equals(row.sha256);
  return hasItsPersonalValues && isInChain ? undefined : { position, reason: 'CHANGED' };
}

/** Verifies the next rows, up to the first that does not verify. */
function walkRows(from: Walk, rows: readonly ChainRow[], length: number): Walk {
  const walk = { ...from };
  for (const row of rows) {
    walk.position += 1;
    const fault = faultOf(row, walk, length);
    if (fault) return { ...walk, fault };
    walk.sha256 = row.sha256;
    if (row.salt === null) walk.erasedRows += 1;
  }
  return walk;
}

/** Checks that the last verified row is the head of the chain. */
function faultAtEnd({ position, sha256: last }: Walk, length: number, head: Buffer): Fault | undefined {
  if (position < length) return { position: position + 1, reason: 'MISSING' };
  return last.equals(head) ? undefined : { position, reason: 'CHANGED' };
}

interface Chain {
  chain: number;
  length: number;
  head: Buffer;
  pruned_through: number;
  pruned_sha256: Buffer;
}

async function verifyChain(db: Database, { chain, length, head, ...pruned }: Chain): Promise<ChainVerdict> {
  let walk: Walk = { position: pruned.pruned_through, sha256: pruned.pruned_sha256, erasedRows: 0 };
  for (;;) {
    const rows = await readRows(db, chain, walk.position);
    walk = walkRows(walk, rows, length);
    if (walk.fault || rows.length < pageLength) break;
  }
  const fault = walk.fault ?? faultAtEnd(walk, length, head);
  const { erasedRows } = walk;
  const verdict = { chain, length, prunedThrough: pruned.pruned_through, erasedRows, head: head.toString('hex') };
  return fault ? { ...verdict, fault } : verdict;
}

/** Recomputes every chain from its oldest row; run it in a repeatable-read transaction while others write. */
export async function verifyAudit(db: Database): Promise<ChainVerdict[]> {
  const { rows } = await sql<Chain>`
    select chain, length, head_sha256 as head, pruned_through, pruned_sha256 from audit_chain
    union all select distinct chain, 0, '\\x'::bytea, 0, '\\x'::bytea from audit
      where chain not in (select chain from audit_chain)
    order by chain`.execute(db);
  const verdicts: ChainVerdict[] = [];
  for (const chain of rows) verdicts.push(await verifyChain(db, chain));
  return verdicts;
}

/** Chain, actor and network address of an entry. */
export type AuditOrigin = Pick<AuditEntry, 'chain' | 'actor' | 'address'>;

/** Formats the caller as the actor of audit entries: `application`, `api-key:{name}`, `user:{id}` in user mode, or `operator:{name}`. */
export function actorOf({ userId, operatorName, apiKey }: Caller): string {
  if (apiKey !== undefined) return `api-key:${apiKey.name}`;
  if (operatorName !== undefined) return `operator:${operatorName}`;
  return userId === undefined ? 'application' : `user:${userId}`;
}

/** Derives the origin of an entry from a request of an application or one of its users. */
export function originOf({ caller, ip }: { caller: Caller; ip: string }): AuditOrigin {
  return { chain: caller.applicationId, actor: actorOf(caller), address: ip };
}

/** Derives the origin of an entry from an operator's request. @param applicationId the application acted on, if any */
export function operatorOrigin({ ip, operator }: OperatorRequest, applicationId?: number | null): AuditOrigin {
  const { name, apiKey } = operator;
  const named = name === undefined ? 'operator' : `operator:${name}`;
  const actor = apiKey === undefined ? named : `api-key:${apiKey.name}`;
  return { chain: applicationId ?? operatorChain, actor, address: ip };
}

/** Appends the entry of a change that was made; `origin` is originOf or operatorOrigin of the request. */
export async function auditChange(
  db: Database,
  origin: AuditOrigin,
  action: string,
  subject: string,
  details: NonNullable<AuditEntry['details']> = {},
): Promise<void> {
  await appendAudit(db, { ...origin, action, subject, details, outcome: 'done' });
}

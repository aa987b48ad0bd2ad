import type { FirstRequest, KeptAnswers, KeyedRequest } from '@odograph/contracts/idempotency';
import { Sealer } from '@odograph/runtime/sealing';
import { hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Retention of the answer to a request with an idempotency key. */
export const keptHours = 24;

interface StoredRequest {
  readonly fingerprint: Buffer;
  readonly sealed_answer: Buffer | null;
}

/**
 * Keeps answers in a database. They are sealed under a secret of the platform and the key of the request, of which only the
 * hash is stored, since some of them hold secrets or tokens.
 * @param secrets of ENCRYPTION_KEYS
 */
export function answersIn(db: Database, secrets: readonly string[]): KeptAnswers {
  const sealerOf = ({ key }: KeyedRequest) => new Sealer(secrets, `answers ${key}`);
  const fingerprintOf = (request: KeyedRequest) => sealerOf(request).fingerprint(Buffer.from(request.content));
  const ofRequest = ({ principal, key }: KeyedRequest) =>
    sql`principal = ${principal} and key_sha256 = ${hashSecret(key)}`;
  const isOver = sql`idempotent_request.created_at < now() - make_interval(hours => ${keptHours})`;

  const insert = async (request: KeyedRequest): Promise<boolean> => {
    const { rows } = await sql`insert into idempotent_request (principal, key_sha256, fingerprint)
      values (${request.principal}, ${hashSecret(request.key)}, ${fingerprintOf(request)})
      on conflict (principal, key_sha256) do update
        set fingerprint = excluded.fingerprint, sealed_answer = null, created_at = now() where ${isOver}
      returning 1`.execute(db);
    return rows.length > 0;
  };
  const find = async (request: KeyedRequest): Promise<FirstRequest | undefined> => {
    const { rows } = await sql<StoredRequest>`select fingerprint, sealed_answer from idempotent_request
      where ${ofRequest(request)}`.execute(db);
    if (!rows[0]) return undefined;
    const { fingerprint, sealed_answer: sealed } = rows[0];
    const sealer = sealerOf(request);
    return {
      // Empty for a request that moved here from another cell: its answer is sealed under keys of that cell.
      isSame: fingerprint.length === 0 || fingerprint.equals(fingerprintOf(request)),
      ...(sealed !== null && sealer.canOpen(sealed) && { answer: sealer.open(sealed, request.principal).toString() }),
    };
  };

  return {
    async claim(request) {
      for (;;) {
        const first = (await insert(request)) ? 'claimed' : await find(request);
        // Neither inserted nor found: the first request has failed meanwhile.
        if (first !== undefined) return first === 'claimed' ? undefined : first;
      }
    },
    async keep(request, answer) {
      const sealed = sealerOf(request).seal(Buffer.from(answer), request.principal);
      await sql`update idempotent_request set sealed_answer = ${sealed} where ${ofRequest(request)}`.execute(db);
    },
    async release(request) {
      await sql`delete from idempotent_request where ${ofRequest(request)} and sealed_answer is null`.execute(db);
    },
  };
}

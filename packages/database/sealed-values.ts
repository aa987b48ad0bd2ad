import { sql } from 'kysely';
import type { Database } from './database.ts';

/** The tables with values sealed under ENCRYPTION_KEYS, what an operator calls their rows, and their purpose of sealing. */
export const sealedValues = {
  deviceKeys: { table: 'device_key', column: 'sealed_key', name: 'device keys', purpose: 'device keys' },
  sourceTokens: {
    table: 'source',
    column: 'sealed_command_token',
    name: 'tokens of sources',
    purpose: 'source tokens',
  },
  quarantine: { table: 'quarantine', column: 'sealed_payload', name: 'quarantined uploads', purpose: 'quarantine' },
  webhookSecrets: { table: 'webhook', column: 'sealed_secret', name: 'webhook secrets', purpose: 'webhook secrets' },
  secondFactors: { table: 'second_factor', column: 'sealed_secret', name: 'second factors', purpose: 'second factors' },
  pushKey: { table: 'push_key', column: 'sealed_private_key', name: 'push keys', purpose: 'webhook secrets' },
} as const;

export type SealedValues = keyof typeof sealedValues;
export const kindsOfSealedValues = Object.keys(sealedValues) as SealedValues[];

/**
 * Describes the sealed values that none of the keys opens, such as `12 device keys`; undefined if there are none, or no such
 * table in a database that an upgrade has not migrated yet.
 * @param keyIds what a sealed value of each known key begins with
 */
export async function describeUnreadable(
  db: Database,
  kind: SealedValues,
  keyIds: readonly Buffer[],
): Promise<string | undefined> {
  const { table, column, name } = sealedValues[kind];
  const { rows: tables } = await sql`select where to_regclass(${table}) is not null`.execute(db);
  if (tables.length === 0) return undefined;
  const { rows } = await sql<{ count: number }>`select count(*)::integer as count from ${sql.table(table)}
    where length(${sql.ref(column)}) > 0
      and substring(${sql.ref(column)} from 1 for ${keyIds[0]?.length ?? 0}::integer) <> all (${[...keyIds]}::bytea[])`.execute(
    db,
  );
  const count = rows[0]?.count ?? 0;
  return count === 0 ? undefined : `${count} ${name}`;
}

/** Counts of sealed values; `unreadable` ones are sealed under a secret missing in ENCRYPTION_KEYS and stay unchanged. */
export interface Resealed {
  resealed: number;
  unreadable: number;
  total: number;
}

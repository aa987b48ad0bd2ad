import { verifyAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findLastBackup } from '@odograph/database/installation';
import { describeUnreadable, kindsOfSealedValues, sealedValues } from '@odograph/database/sealed-values';
import type { Tables } from '@odograph/database/tables';
import type { Config } from '@odograph/runtime/config';
import { readEncryptionKeys, Sealer } from '@odograph/runtime/sealing';
import { type Kysely, sql } from 'kysely';
import { type Check, expectThat, fault, ok, warning } from './check.ts';

const dayMs = 86_400_000;
const maxBackupAgeDays = 7;
const maxNamedRights = 3;

/** Checks that the encryption keys of this host decrypt every sealed value. */
export async function checkEncryptionKeys(db: Database, config: Config): Promise<Check[]> {
  const keys = await readEncryptionKeys(config);
  const unreadable: string[] = [];
  for (const kind of kindsOfSealedValues) {
    const keyIds = keys.length === 0 ? [] : new Sealer(keys, sealedValues[kind].purpose).keyIds;
    const found = await describeUnreadable(db, kind, keyIds);
    if (found !== undefined) unreadable.push(found);
  }
  const source = config.ENCRYPTION_KEYS === undefined ? `${config.DATA_DIR}/encryption-key` : 'ENCRYPTION_KEYS';
  const detail =
    unreadable.length === 0 ? `${source} decrypts all values` : `${source} cannot decrypt ${unreadable.join(', ')}`;
  const remedy = 'add the key that sealed them behind the newest one, separated by a comma (docs/security.md)';
  return [expectThat(unreadable.length === 0, 'encryption keys', detail, remedy)];
}

/** Recomputes the hash chains of the audit, in one snapshot while others write. */
export async function checkAudit(db: Kysely<Tables>): Promise<Check[]> {
  const transaction = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  const chains = await transaction.execute((trx) => verifyAudit(trx));
  const faults = chains.flatMap(({ chain, fault: found }) =>
    found === undefined ? [] : [`chain ${chain}, row ${found.position}: ${found.reason}`],
  );
  const entries = chains.reduce((sum, { length }) => sum + length, 0);
  const remedy = 'find out who changed it (docs/security.md); compare with the audit of a backup';
  return [expectThat(faults.length === 0, 'audit', faults.join('; ') || `${entries} entries verified`, remedy)];
}

/** Checks the age of the last backup. */
export async function checkLastBackup(db: Database): Promise<Check[]> {
  const last = await findLastBackup(db);
  const remedy = 'run odograph backup regularly (docs/operating.md, "Back up and restore")';
  if (last === undefined) return [warning('last backup', 'none by odograph backup', remedy)];
  const days = Math.floor((Date.now() - last.completedAt.getTime()) / dayMs);
  const detail = `${days} days ago, ${(last.bytes / 1024 ** 2).toFixed(1)} MiB, schema ${last.schema}`;
  return [days > maxBackupAgeDays ? warning('last backup', detail, remedy) : ok('last backup', detail)];
}

interface GrantedRights {
  granted: boolean;
  lost: string[];
  newerMigrations: number;
}

/** Checks that the roles of the services still have the rights that infra/database-roles.sql granted. */
export async function checkRights(db: Database): Promise<Check[]> {
  const { rows } = await sql<GrantedRights>`select granted_rights is not null as granted,
    array(select unnest(granted_rights) except select unnest(list_granted_rights()) order by 1) as lost,
    (select count(*) from migration where name ~ '^\\d{4}_') - granted_migrations as "newerMigrations"
    from installation`.execute(db);
  const [row] = rows;
  if (row === undefined || !row.granted) return [];
  const check = 'rights of database roles';
  const remedy = 'run infra/database-roles.sql as the owner of the tables';
  if (row.lost.length > 0) {
    const named = row.lost.slice(0, maxNamedRights).join(', ');
    return [fault(check, `${row.lost.length} missing: ${named}`, remedy)];
  }
  return [expectThat(row.newerMigrations === 0, check, `granted before ${row.newerMigrations} migrations`, remedy)];
}

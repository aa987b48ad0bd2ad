import { verifyAudit } from '@odograph/database/audit';
import { type Database, openDatabase } from '@odograph/database/database';
import { findDatabaseFaults, findLastBackup } from '@odograph/database/installation';
import { findMissingMigrations, UnsupportedDatabase } from '@odograph/database/migrate';
import { describeUnreadable, kindsOfSealedValues, sealedValues } from '@odograph/database/sealed-values';
import type { Tables } from '@odograph/database/tables';
import type { Config } from '@odograph/runtime/config';
import { messageOf } from '@odograph/runtime/message-of';
import { readEncryptionKeys, Sealer } from '@odograph/runtime/sealing';
import { serviceDatabaseNames } from '@odograph/runtime/settings';
import { type Kysely, sql } from 'kysely';
import { findChangedSettings, findExcessRights, listReportLogins } from '../installation/report-logins.ts';
import {
  type Check,
  type ClockReading,
  checkClock,
  expectThat,
  fault,
  isOlder,
  ok,
  unknown,
  warning,
} from './check.ts';

const dayMs = 86_400_000;
const maxBackupAgeDays = 7;
const maxNamedRights = 3;

/** Checks that the encryption keys of this host decrypt every sealed value. */
async function checkEncryptionKeys(db: Database, config: Config): Promise<Check[]> {
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
async function checkAudit(db: Kysely<Tables>): Promise<Check[]> {
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
async function checkLastBackup(db: Database): Promise<Check[]> {
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
async function checkRights(db: Database): Promise<Check[]> {
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

const insufficientPrivilege = '42501';
const oldestPostgres = [15, 0] as const;
const oldestTimescale = [2, 14] as const;
/** Connections of one process with all services, apart from the pools that settings size: see each service. */
const fixedConnections = 14;
/** query, fleet, access, registration, command and events. */
const pooledServices = 6;
const maxLagMs = 60_000;
const maxTransactionMinutes = 5;
const maxCountedUploads = 10_000;

/** The state of a database that the checks read. */
export interface DatabaseState {
  readonly postgres: string;
  readonly timescale: string | null;
  readonly isEmbedded: boolean;
  readonly fsync: string | null;
  readonly fullPageWrites: string | null;
  readonly synchronousCommit: string | null;
  readonly maxConnections: number;
  readonly reservedConnections: number;
  readonly oldestTransactionMinutes: number;
}

/** Checks versions, and settings without which the database can lose what was acknowledged. */
export function checkDatabaseSettings(state: DatabaseState, config: Config): Check[] {
  const { postgres, timescale, isEmbedded } = state;
  const versions = [
    expectThat(
      !isOlder(postgres, oldestPostgres),
      'database',
      `PostgreSQL ${postgres}`,
      `upgrade PostgreSQL to ${oldestPostgres[0]} or newer`,
    ),
    timescale === null
      ? fault('TimescaleDB', 'not installed', 'install the extension, then migrate')
      : expectThat(
          !isOlder(timescale, oldestTimescale),
          'TimescaleDB',
          timescale,
          `upgrade TimescaleDB to ${oldestTimescale.join('.')} or newer`,
        ),
  ];
  if (isEmbedded) return versions;
  const safe = { fsync: state.fsync, full_page_writes: state.fullPageWrites };
  const wanted = pooledServices * config.DATABASE_POOL_SIZE + fixedConnections;
  const available = state.maxConnections - state.reservedConnections;
  return [
    ...versions,
    ...Object.entries(safe).map(([name, value]) =>
      expectThat(
        value === 'on',
        `PostgreSQL ${name}`,
        `${value ?? 'unknown'}${value === 'on' ? '' : ': a power failure can destroy the database'}`,
        `alter system set ${name} = on; select pg_reload_conf()`,
      ),
    ),
    expectThat(
      state.synchronousCommit !== 'off',
      'PostgreSQL synchronous_commit',
      `${state.synchronousCommit ?? 'unknown'}${state.synchronousCommit === 'off' ? ': stored readings can be lost' : ''}`,
      'alter system set synchronous_commit = on; select pg_reload_conf(); see also the settings of the roles (\\drds)',
    ),
    expectThat(
      wanted <= available,
      'PostgreSQL max_connections',
      `${available} for services, which open up to ${wanted} in each process that runs all of them`,
      'increase max_connections and restart PostgreSQL, or lower DATABASE_POOL_SIZE',
    ),
    state.oldestTransactionMinutes < maxTransactionMinutes
      ? ok('long transactions', 'none')
      : warning(
          'long transactions',
          `one is open for ${Math.round(state.oldestTransactionMinutes)} minutes: the change feed waits for it`,
          'end it: select pid, usename, query from pg_stat_activity where xact_start is not null order by xact_start',
        ),
  ];
}

async function readState(db: Database): Promise<DatabaseState & { dataDirectory: string | null }> {
  const { rows } = await sql<DatabaseState & { dataDirectory: string | null }>`
    select current_setting('server_version') as postgres,
      (select extversion from pg_extension where extname = 'timescaledb') as timescale,
      version() ~* 'emscripten|wasm' as "isEmbedded",
      current_setting('fsync', true) as fsync, current_setting('full_page_writes', true) as "fullPageWrites",
      current_setting('synchronous_commit', true) as "synchronousCommit",
      current_setting('max_connections')::integer as "maxConnections",
      current_setting('superuser_reserved_connections')::integer as "reservedConnections",
      coalesce((select max(extract(epoch from now() - xact_start)) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()), 0)::double precision / 60 as "oldestTransactionMinutes",
      case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end as "dataDirectory"`.execute(
    db,
  );
  const [row] = rows;
  if (!row) throw new Error('no answer');
  return row;
}

async function readClock(db: Database): Promise<ClockReading> {
  const beforeMs = Date.now();
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from clock_timestamp())::double precision * 1000 as ms`.execute(db);
  return { clockMs: rows[0]?.ms ?? 0, beforeMs, afterMs: Date.now() };
}

/** Checks that every migration is applied and that no restore lost a part. */
async function checkSchema(url: string): Promise<Check[]> {
  const missing = await findMissingMigrations(url).catch((error: unknown) => {
    if (error instanceof UnsupportedDatabase) return error;
    throw error;
  });
  if (missing instanceof UnsupportedDatabase) {
    return [fault('migrations', missing.message, 'see docs/operating.md, "Upgrade"')];
  }
  if (missing.length > 0) {
    const remedy = 'migrate as the owner of the tables (docs/operating.md, "Upgrade"), or start the platform';
    return [fault('migrations', `${missing.length} missing, first ${missing[0]}`, remedy)];
  }
  const lost = await findDatabaseFaults(url);
  return [
    ok('migrations', 'all applied'),
    expectThat(
      lost.length === 0,
      'completeness',
      lost.length === 0 ? 'nothing is missing' : lost.join('; '),
      'restore again (docs/operating.md, "Back up and restore")',
    ),
  ];
}

/** Checks the quarantine, and how far storing is behind. */
async function checkContent(db: Database): Promise<Check[]> {
  const { rows } = await sql<{ open: number; lagMs: number | null }>`
    select (select count(*) from (select from quarantine where resolved_at is null and not is_partial limit ${maxCountedUploads}) as listed)::integer
        as open,
      (select max(lag_p99_ms) from pipeline_sample where at > now() - interval '1 minute')::double precision as "lagMs"`.execute(
    db,
  );
  const { open = 0, lagMs = null } = rows[0] ?? {};
  const behind = `${Math.round((lagMs ?? 0) / 1000)} s from receipt to stored`;
  return [
    open === 0
      ? ok('quarantine', 'empty')
      : warning(
          'quarantine',
          `${open === maxCountedUploads ? 'at least ' : ''}${open} uploads`,
          'see odograph quarantine list; mend the cause, then replay or dismiss them',
        ),
    (lagMs ?? 0) <= maxLagMs
      ? ok('ingest lag', lagMs === null ? 'nothing was stored in the last minute' : behind)
      : warning('ingest lag', behind, 'see the log of ingest, and docs/performance.md for the capacity of a machine'),
  ];
}

/** Checks that database users for reports can do nothing but read their views, and have the settings of the platform. */
export async function checkReports(db: Database): Promise<Check[]> {
  const logins = (await listReportLogins(db)).filter(({ usable }) => usable);
  const excess: string[] = [];
  const changed: string[] = [];
  for (const { login } of logins) {
    const rights = await findExcessRights(db, login);
    if (rights.length > 0) excess.push(`${login} may use ${rights.join(', ')}`);
    const settings = await findChangedSettings(db, login);
    if (settings.length > 0) changed.push(`${login} has another ${settings.join(', ')}`);
  }
  if (logins.length === 0) return [];
  const remedy = 'take these rights back, or delete the login and create it again (docs/grafana.md)';
  const detail = excess.length === 0 ? `${logins.length} read their views only` : excess.join('; ');
  const restore =
    'odograph reports rotate restores the settings; or delete the login and create it again (docs/grafana.md)';
  return [
    expectThat(excess.length === 0, 'logins for reports', detail, remedy),
    changed.length === 0
      ? ok('settings of logins for reports', 'as the platform set them')
      : warning('settings of logins for reports', changed.join('; '), restore),
  ];
}

/** Checks the content, each part where the role may see it. */
async function contentOf(db: Kysely<Tables>, config: Config): Promise<Check[]> {
  const groups: Readonly<Record<string, () => Promise<Check[]>>> = {
    quarantine: () => checkContent(db),
    'logins for reports': () => checkReports(db),
    'encryption keys': () => checkEncryptionKeys(db, config),
    audit: () => checkAudit(db),
    'last backup': () => checkLastBackup(db),
    'rights of database roles': () => checkRights(db),
  };
  const checks: Check[] = [];
  for (const [group, run] of Object.entries(groups)) {
    const found = await run().catch((error: unknown) => {
      if (!(error instanceof Error) || !('code' in error) || error.code !== insufficientPrivilege) throw error;
      return [unknown(group, 'this database role may not see it', 'set MIGRATION_DATABASE_URL to the owner')];
    });
    checks.push(...found);
  }
  return checks;
}

/** Checks the database. @returns the checks, its clock and where its files are; undefined where that is not shown */
export async function checkDatabase(
  url: string,
  config: Config,
): Promise<{ checks: Check[]; clock: ClockReading; dataDirectory: string | undefined }> {
  const db = openDatabase({ url, name: 'doctor', size: 1 });
  try {
    const { dataDirectory, ...state } = await readState(db);
    const clock = await readClock(db);
    const schema = await checkSchema(url);
    const content = schema.every(({ result }) => result === 'ok') ? await contentOf(db, config) : [];
    return {
      checks: [...checkDatabaseSettings(state, config), checkClock('database clock', clock), ...schema, ...content],
      clock,
      dataDirectory: state.isEmbedded ? undefined : (dataDirectory ?? undefined),
    };
  } finally {
    await db.destroy();
  }
}

/** Signs in as the database role of each service that has one, and checks that it has its own rights and no others. */
export async function checkRoles(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [service, name] of Object.entries(serviceDatabaseNames)) {
    for (const url of config[name]?.split(',') ?? []) {
      if (url !== config.DATABASE_URL) checks.push(await checkRole(service, name, url));
    }
  }
  return checks;
}

async function checkRole(service: string, name: string, url: string): Promise<Check> {
  const db = openDatabase({ url, name: 'doctor', size: 1 });
  const remedy = `correct ${name}, or run infra/database-roles.sql and infra/database-logins.sql`;
  const signedIn = sql<{ role: string; isPrivileged: boolean; isGranted: boolean }>`
    select current_user as role, rolsuper or pg_has_role(current_user, tableowner, 'member') as "isPrivileged",
      has_table_privilege('migration', 'select') as "isGranted"
    from pg_roles, pg_tables where rolname = current_user and schemaname = 'public' and tablename = 'migration'`;
  const label = `role of ${service}`;
  try {
    const [row] = (await signedIn.execute(db)).rows;
    if (row === undefined || !row.isGranted) return fault(label, 'has no rights on the tables', remedy);
    return row.isPrivileged
      ? warning(label, `${row.role} has the rights of the owner`, `use odograph_${service} in ${name}`)
      : ok(label, row.role);
  } catch (error) {
    return fault(label, messageOf(error), remedy);
  } finally {
    await db.destroy();
  }
}

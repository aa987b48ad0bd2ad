import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { appendAudit, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { createSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';

/** The role of every report login; it may read the views of the schema fleet. */
const group = 'odograph_reports';
const connections = 5;
/** How long a session may take to end. */
const endMs = 5000;
const scramIterations = 4096;

/**
 * Computes what PostgreSQL stores of a password (RFC 5803), so that the password itself reaches no statement and no log of the
 * server.
 */
export function scramVerifierOf(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, scramIterations, 32, 'sha256');
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  const serverKey = keyOf('Server Key').toString('base64');
  return `SCRAM-SHA-256$${scramIterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** Settings of each session. The login may change them; maintenance ends transactions of more than ten minutes. */
const sessionSettings: Readonly<Record<string, string>> = {
  search_path: 'fleet, public',
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  lock_timeout: '2s',
  idle_in_transaction_session_timeout: '60s',
  max_parallel_workers_per_gather: '1',
};

/** A limit that only a superuser sets and changes; absent where the platform was not connected as one. */
const temporaryFiles = 'temp_file_limit=2GB';

/**
 * Functions that everyone may call by default and that change something: locks that ingest waits for, large objects and
 * messages that fill the disk, and background jobs.
 */
const closedFunctions = `select oid::regprocedure as signature from pg_proc
  where proname ~ '^pg_(try_)?advisory_' or proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message', 'add_job')`;

/**
 * Revokes from PUBLIC the privileges with which a report login could disturb the platform. The owner of the tables keeps them;
 * the roles of services keep advisory locks. Those roles are the ones that may read the table migration
 * (infra/database-roles.sql).
 */
async function closeDatabase(trx: Database): Promise<void> {
  await sql`do $$
    declare
      owner text := (select tableowner from pg_tables where schemaname = 'public' and tablename = 'report_login');
      closed record;
      service regrole;
    begin
      execute format('revoke temporary, create on database %I from public', current_database());
      execute format('grant temporary on database %I to %I', current_database(), owner);
      revoke create on schema public from public;
      for closed in ${sql.raw(closedFunctions)} loop
        execute format('revoke execute on function %s from public', closed.signature);
        execute format('grant execute on function %s to %I with grant option', closed.signature, owner);
        for service in select grantee from pg_class cross join aclexplode(relacl)
            where pg_class.oid = 'public.migration'::regclass and grantee <> 0
              and closed.signature::text ~ '^pg_(try_)?advisory_' loop
          execute format('grant execute on function %s to %s', closed.signature, service);
        end loop;
      end loop;
    end $$`.execute(trx);
}

/** Creates the group of report logins in this database. */
async function createGroup(trx: Database): Promise<void> {
  await sql`do $$ begin create role ${sql.id(group)} nologin; exception when duplicate_object or unique_violation then null; end $$`.execute(
    trx,
  );
  await sql`grant usage on schema fleet to ${sql.id(group)}`.execute(trx);
  await sql`grant select on all tables in schema fleet to ${sql.id(group)}`.execute(trx);
  // views that a later version adds
  await sql`alter default privileges in schema fleet grant select on tables to ${sql.id(group)}`.execute(trx);
}

interface Rights {
  readonly tables: string[];
  readonly functions: string[];
  readonly creates: boolean;
}

/** Finds what a login may do besides reading the views, whoever gave it the right. */
export async function findExcessRights(db: Database, login: string): Promise<string[]> {
  const { rows } = await sql<Rights>`select
      array(select oid::regclass::text from pg_class where relkind in ('r', 'p', 'v', 'm', 'f')
        and (relnamespace = 'public'::regnamespace and has_any_column_privilege(${login}, oid, 'select')
          or relnamespace = 'fleet'::regnamespace and has_table_privilege(${login}, oid, 'insert, update, delete, truncate'))
        and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
        limit 3) as tables,
      array(select signature::text from (${sql.raw(closedFunctions)}) as closed
        where has_function_privilege(${login}, signature, 'execute') limit 3) as functions,
      has_database_privilege(${login}, current_database(), 'create, temporary')
        or has_schema_privilege(${login}, 'public', 'create') or has_schema_privilege(${login}, 'fleet', 'create') as creates`.execute(
    db,
  );
  const [rights] = rows;
  return [...(rights?.tables ?? []), ...(rights?.functions ?? []), ...(rights?.creates ? ['create'] : [])];
}

/** @throws Error that names a right too many */
async function requireConfined(trx: Database, login: string): Promise<void> {
  const excess = await findExcessRights(trx, login);
  if (excess.length === 0) return;
  throw new Error(`the login could use ${excess.join(', ')}; connect as a superuser (MIGRATION_DATABASE_URL)`);
}

/**
 * Finds the settings of a login that are not as the platform set them: PostgreSQL lets every role change its own, for one
 * database too. Its password, which it may change as well, is visible to nobody.
 */
export async function findChangedSettings(db: Database, login: string): Promise<string[]> {
  const { rows } = await sql<{ setting: string }>`
    select unnest(setconfig) || case when setdatabase = 0 then '' else ' in one database' end as setting
    from pg_db_role_setting join pg_roles on pg_roles.oid = setrole where rolname = ${login}
    union all select 'connection limit=' || rolconnlimit from pg_roles where rolname = ${login}`.execute(db);
  const wanted = Object.entries(sessionSettings).map(([name, value]) => `${name}=${value}`);
  wanted.push(`connection limit=${connections}`);
  const found = rows.map(({ setting }) => setting).filter((setting) => setting !== temporaryFiles);
  const changed = [...found.filter((one) => !wanted.includes(one)), ...wanted.filter((one) => !found.includes(one))];
  return [...new Set(changed.map((setting) => setting.slice(0, setting.indexOf('='))))].toSorted();
}

async function confine(trx: Database, login: string): Promise<void> {
  for (const [name, value] of Object.entries(sessionSettings)) {
    // A list of schemas is not one text.
    const shown = name === 'search_path' ? sql.raw(value) : sql.lit(value);
    await sql`alter role ${sql.id(login)} set ${sql.raw(name)} = ${shown}`.execute(trx);
  }
  // A superuser alone may set it, and the login cannot change it.
  await sql`do $$ begin execute ${sql.lit(`alter role "${login}" set temp_file_limit = '2GB'`)};
    exception when insufficient_privilege then null; end $$`.execute(trx);
}

const loginForm = /^[a-z][a-z0-9_]{2,62}$/;

function requireLoginName(login: string): void {
  if (!loginForm.test(login)) throw new Error('--login must be 3 to 63 small letters, digits and underscores');
}

async function audit(trx: Database, action: string, login: string, appId?: string): Promise<void> {
  const details = appId === undefined ? {} : { appId };
  const entry = { actor: 'operator', address: '', action, subject: `report-login:${login}`, details, outcome: 'done' };
  await appendAudit(trx, { chain: operatorChain, ...entry });
}

/** A report login with its password, which is shown once. */
export interface ReportLogin {
  readonly login: string;
  readonly password: string;
}

/** Finds an application by its appId. @throws Error for an unknown one */
async function findApplication(trx: Database, appId: string): Promise<number> {
  const row = await trx
    .selectFrom('application')
    .select('id')
    .where('app_id', '=', appId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (row === undefined) throw new Error(`UNKNOWN_APPLICATION: no application ${appId}`);
  return row.id;
}

/**
 * Creates a database user that may read the views of the schema fleet, and in them one application.
 * @param db connected as the owner of the tables, with the right to create roles
 * @param appId the application; undefined for all of them
 * @throws Error for a name that is taken, and where the database cannot confine the login
 */
export function createReportLogin(db: Database, appId: string | undefined, given?: string): Promise<ReportLogin> {
  const login = given ?? `reports_${randomBytes(4).toString('hex')}`;
  requireLoginName(login);
  const password = createSecret();
  return db.transaction().execute(async (trx) => {
    const applicationId = appId === undefined ? null : await findApplication(trx, appId);
    await createGroup(trx);
    await sql`create role ${sql.id(login)} login inherit nosuperuser nocreatedb nocreaterole noreplication
      connection limit ${sql.lit(connections)} password ${sql.lit(scramVerifierOf(password))}`.execute(trx);
    await sql`grant ${sql.id(group)} to ${sql.id(login)}`.execute(trx);
    await confine(trx, login);
    await closeDatabase(trx);
    await requireConfined(trx, login);
    await sql`insert into report_login (login, application_id) values (${login}, ${applicationId}::integer)
      on conflict (login) do update set application_id = excluded.application_id, created_at = now()`.execute(trx);
    await audit(trx, 'reports.create', login, appId);
    return { login, password };
  });
}

async function requireLogin(trx: Database, login: string): Promise<void> {
  const { rows } = await sql`select from report_login where login = ${login} for update`.execute(trx);
  if (rows.length === 0) throw new Error(`NOT_FOUND: no report login ${login}`);
}

/** Replaces the password of a report login and restores its settings; its sessions stay. @throws Error for an unknown login */
export function rotateReportLogin(db: Database, login: string): Promise<ReportLogin> {
  const password = createSecret();
  return db.transaction().execute(async (trx) => {
    await requireLogin(trx, login);
    await sql`alter role ${sql.id(login)} password ${sql.lit(scramVerifierOf(password))}
      connection limit ${sql.lit(connections)}`.execute(trx);
    await sql`alter role ${sql.id(login)} reset all`.execute(trx);
    await confine(trx, login);
    await audit(trx, 'reports.rotate', login);
    return { login, password };
  });
}

/** Deletes a report login, after its sessions. @throws Error for an unknown login */
export async function deleteReportLogin(db: Database, login: string): Promise<void> {
  await requireLogin(db, login);
  await sql`do $$ begin alter role ${sql.id(login)} nologin; exception when undefined_object then null; end $$`.execute(
    db,
  );
  await sql`select pg_terminate_backend(pid, ${endMs}::bigint) from pg_stat_activity where usename = ${login}`.execute(
    db,
  );
  await db.transaction().execute(async (trx) => {
    await requireLogin(trx, login);
    await sql`delete from report_login where login = ${login}`.execute(trx);
    // After a restore on another server there is no such role.
    await sql`drop role if exists ${sql.id(login)}`.execute(trx);
    await audit(trx, 'reports.delete', login);
  });
}

/** Lists the report logins. `usable` is false for one that came with a restore: the new server has no such user. */
export async function listReportLogins(db: Database) {
  const { rows } = await sql<{ login: string; appId: string | null; createdAt: Date; usable: boolean }>`
    select login, application.app_id as "appId", report_login.created_at as "createdAt", pg_roles.oid is not null as usable
    from report_login left join application on application.id = report_login.application_id
    left join pg_roles on pg_roles.rolname = report_login.login order by login`.execute(db);
  return rows.map(({ appId, createdAt, ...row }) => ({
    ...row,
    applications: appId ?? 'all',
    createdAt: createdAt.toISOString(),
  }));
}

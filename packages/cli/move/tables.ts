import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  deviceKeyContext,
  quarantineContext,
  type Sealer,
  secondFactorContext,
  sourceTokenContext,
  webhookSecretContext,
} from '@odograph/runtime/sealing';
import type { Client } from 'pg';
import Type, { type Static } from 'typebox';
import { EncryptedSecrets } from '../backup/manifest.ts';
import { identifier, listTables, piecesOf, type Table } from '../backup/tables.ts';

const ofInstallation = 'describes the installation, not an application';
const signIn = 'people and programs sign in again';

/** The tables whose rows stay in their cell when an application moves, with the reason. */
export const leftBehind: Readonly<Record<string, string>> = {
  ...{ session: signIn, access_token: signIn, refresh_token: signIn, sign_in: signIn },
  ...{
    operator: ofInstallation,
    passkey: ofInstallation,
    operator_application: 'operators are limited in each cell on their own',
  },
  report_login: 'is a user of one database server',
  ...{ registration_provider_answer: 'is a cache', place_address: 'is a cache' },
  trip_touched: 'empty for the application before it moves; the rest is in trip_work',
  ...{ reading_settlement: ofInstallation, alarm_watch: ofInstallation, can_redecoding: ofInstallation },
  ...{ pipeline_sample: ofInstallation, application_move: ofInstallation },
  push_key: 'browser subscriptions are bound to it; users subscribe again',
};

/** The tables that applications share: rows that the application needs are added, unless the target has equal ones. */
export const sharedTables: Readonly<Record<string, { readonly key: string; readonly compared: string }>> = {
  device_model: { key: 'id', compared: "- 'shipped'" },
  can_database: { key: 'model', compared: "- 'imported_at'" },
};

/** Columns that the target renumbers, in the same order: later rows there have higher numbers. */
const renumbered: Readonly<Record<string, string>> = { command: 'position', webhook_attempt: 'id' };

/** Tables that own rows of others: by the first column that refers to one of these, the decisive one first. */
const owners = ['webhook', 'source', 'alarm_rule', 'registration_import', 'vehicle', 'device'];

/** A table with the SQL condition of the rows that belong to an application. */
export interface ApplicationTable extends Table {
  readonly condition: string;
  /** SQL after the condition. */
  readonly order: string;
}

/** The conditions that do not follow from a column `application_id` or a foreign key. */
function ownConditions(id: number): Readonly<Record<string, string>> {
  const ofDevice = `device_id in (select id from device where application_id = ${id})`;
  const ofUser = `user_id in (select id from user_account where application_id = ${id})`;
  return {
    application: `id = ${id}`,
    audit: `chain = ${id}`,
    audit_chain: `chain = ${id}`,
    quarantine: `(application_id = ${id} or application_id is null and ${ofDevice})`,
    device_model: `id in (select model_id from device where application_id = ${id})`,
    can_database: `lower(model) in (select lower(model) from vehicle where application_id = ${id})`,
    second_factor: ofUser,
    recovery_code: `factor_id in (select id from second_factor where ${ofUser})`,
    idempotent_request: `(principal like '{"applicationId":${id},%' or principal = '{"applicationId":${id}}')`,
  };
}

/**
 * Lists the tables with rows of an application; a table comes after those that its foreign keys refer to.
 * @throws Error for a table that is neither owned by an application nor in leftBehind
 */
export async function listApplicationTables(client: Client, applicationId: number): Promise<ApplicationTable[]> {
  const { rows: keys } = await client.query<{ name: string; column: string; owner: string }>(`
    select conrelid::regclass::text as name, attname::text as column, confrelid::regclass::text as owner
    from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[1]
    where contype = 'f' and connamespace = 'public'::regnamespace and confrelid <> conrelid
    order by conkey[1]`);
  const conditions = ownConditions(applicationId);
  const tables = (await listTables(client)).filter(({ name }) => !(name in leftBehind));
  return tables.map(({ name, columns }) => {
    const key = owners.flatMap((owner) => keys.filter((one) => one.name === name && one.owner === owner))[0];
    const condition =
      conditions[name] ??
      (columns.includes('application_id')
        ? `application_id = ${applicationId}`
        : key && `${key.column} in (select id from ${key.owner} where application_id = ${applicationId})`);
    if (condition === undefined) throw new Error(`table ${name} is not known to belong to applications or to stay`);
    const { [name]: number } = renumbered;
    const order = number === undefined ? '' : ` order by ${number}`;
    return { name, columns: columns.filter((column) => column !== number), condition, order };
  });
}

/** `manifest.json`, written last. */
export const MoveManifest = Type.Object({
  formatVersion: Type.Literal(1),
  moveId: Type.String(),
  applicationId: Type.Integer(),
  appId: Type.String(),
  createdAt: Type.String(),
  cell: Type.Integer(),
  /** The schema; both cells must have the same. */
  migrations: Type.Array(Type.String()),
  tables: Type.Array(
    Type.Object({ name: Type.String(), rows: Type.Integer(), sha256: Type.String(), files: Type.Integer() }),
  ),
  /** Of the change feed of the source: its epoch, and a transaction after all that are in the files. */
  feedEpoch: Type.Integer(),
  transaction: Type.Integer(),
  /** Earlier hours are counted in reading_count; null for none. */
  countedUntil: Type.Union([Type.String(), Type.Null()]),
  releaseSha256: Type.String(),
  /** The key of the sealed values in the files, and the receipt. */
  secrets: EncryptedSecrets,
});
export type MoveManifest = Static<typeof MoveManifest>;

export const manifestName = 'manifest.json';
export const fileName = (table: string, number: number): string =>
  `${table}-${String(number).padStart(6, '0')}.copy.gz`;

/** Reads the part of a table. */
export const readPart = (directory: string, table: string, number: number): Promise<Buffer> =>
  readFile(join(directory, fileName(table, number)));

/** Returns the names of the numbered migrations of a database. */
export async function readSchema(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name || ' ' || sha256 as name from migration where name ~ '^\\d{4}_' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Keeps triggers from firing until the end of the transaction: a moved row is no change. @throws Error without the right */
export async function disableTriggers(client: Client): Promise<void> {
  await client.query('set local session_replication_role = replica').catch((cause: unknown) => {
    const advice =
      'connect as a superuser, or: grant set on parameter session_replication_role to the owner of the tables';
    throw new Error(`the database user of MIGRATION_DATABASE_URL may not move rows: ${advice}`, { cause });
  });
}

/** The columns of sealed values, with the columns that their context is made of. */
const sealedColumns = [
  { table: 'device_key', column: 'sealed_key', purpose: 'device keys', context: ['device_id', 'key_version'] },
  { table: 'source', column: 'sealed_command_token', purpose: 'source tokens', context: ['id'] },
  { table: 'quarantine', column: 'sealed_payload', purpose: 'quarantine', context: ['device_id'] },
  { table: 'webhook', column: 'sealed_secret', purpose: 'webhook secrets', context: ['id'] },
  { table: 'webhook', column: 'sealed_previous_secret', purpose: 'webhook secrets', context: ['id'] },
  { table: 'second_factor', column: 'sealed_secret', purpose: 'second factors', context: ['id'] },
] as const;
type SealedPurpose = (typeof sealedColumns)[number]['purpose'];

const contexts: Readonly<Record<SealedPurpose, (id: string, version: number) => string>> = {
  'device keys': deviceKeyContext,
  'source tokens': sourceTokenContext,
  quarantine: quarantineContext,
  'webhook secrets': webhookSecretContext,
  'second factors': secondFactorContext,
};

export const sealedTables: ReadonlySet<string> = new Set(sealedColumns.map(({ table }) => table));

/** Reseals the values of an application. @throws Error for a value that no key opens */
export async function resealValues(
  client: Client,
  tables: readonly ApplicationTable[],
  sealers: (purpose: SealedPurpose) => { from: Sealer; to: Sealer },
): Promise<void> {
  for (const { table, column, purpose, context } of sealedColumns) {
    const { from, to } = sealers(purpose);
    const condition = tables.find(({ name }) => name === table)?.condition ?? 'false';
    const { rows } = await client.query<{ ctid: string; sealed: Buffer; id: string; version: number }>(
      `select ctid::text, ${column} as sealed, ${context[0]}::text as id, ${context.at(1) ?? '0'} as version from ${table}
       where ${condition} and length(${column}) > 0`,
    );
    const values = rows.map(({ sealed, id, version }) => {
      if (!from.canOpen(sealed)) throw new Error(`no key of ENCRYPTION_KEYS opens all ${purpose} of the application`);
      return to.seal(from.open(sealed, contexts[purpose](id, version)), contexts[purpose](id, version));
    });
    await client.query(
      `update ${table} set ${column} = sealed from unnest($1::text[], $2::bytea[]) as new (row, sealed)
       where ${table}.ctid = row::tid`,
      [rows.map(({ ctid }) => ctid), values],
    );
  }
}

/**
 * Deletes the rows of an application, each table and each chunk of readings in a transaction of its own: repeat it after an
 * interruption. Its devices stay as deleted ones, because links and commands of others may name them.
 */
export async function removeRows(client: Client, applicationId: number): Promise<void> {
  const inTransaction = async (statement: string): Promise<void> => {
    await client.query('begin');
    await disableTriggers(client);
    // A chunk may hold any number of rows, so no limit on decompression applies.
    await client.query('set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
    await client.query(statement);
    await client.query('commit');
  };
  const kept = new Set(['application', 'device', ...Object.keys(sharedTables)]);
  const tables = (await listApplicationTables(client, applicationId)).filter(({ name }) => !kept.has(name));
  try {
    // With triggers: its tokens go with it.
    await client.query('delete from session where application_id = $1', [applicationId]);
    // Only a cache, but it discloses where the vehicles have been.
    await client.query('delete from place_address where application_id = $1', [applicationId]);
    for (const table of tables.toReversed()) {
      for (const piece of await piecesOf(client, table)) {
        await inTransaction(`delete from ${identifier(table.name)} where ${piece} and ${table.condition}`);
      }
    }
    await inTransaction(`update device set application_id = null, deleted_at = coalesce(deleted_at, now()),
      secret_sha256 = sha256(uuid_send(gen_random_uuid())), previous_secret_sha256 = null, previous_secret_until = null,
      claim_code_sha256 = null, certificates_issued_from = '9999-12-31', bluetooth_pin = ''
      where application_id = ${applicationId}`);
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

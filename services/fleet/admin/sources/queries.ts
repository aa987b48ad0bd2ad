import { randomUUID } from 'node:crypto';
import type { Operator } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { SourceFormatName } from '@odograph/contracts/sources';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import type { Resealed } from '@odograph/database/sealed-values';
import { type Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';

export interface NewSource {
  readonly applicationId: number;
  readonly format: SourceFormatName;
  readonly createDevices: boolean;
  /** The token by which commands are sent to the other system. */
  readonly commandToken: string | undefined;
}

/** A source as operators see it. Counts are a few seconds old. */
export interface ListedSource {
  sourceId: string;
  appId: string;
  format: SourceFormatName;
  createDevices: boolean;
  takesCommands: boolean;
  createdAt: string;
  /** Null: it has never been authenticated. */
  lastSeenAt: string | null;
  messages: number;
  devices: number;
  unknownMessages: number;
  refusedRequests: number;
}

/** The secret of a source; only a hash of it is stored. */
export interface SourceSecret {
  sourceId: string;
  secret: string;
}

/** The columns of a command token, sealed; of none when undefined. */
function commandTokenColumns(sealer: Sealer, sourceId: string, token: string | undefined) {
  const sealed = token === undefined ? null : sealer.seal(Buffer.from(token), sourceTokenContext(sourceId));
  return { sealed_command_token: sealed, takes_commands: sealed !== null };
}

/** Creates a source. */
export async function createSource(db: Database, sealer: Sealer, source: NewSource): Promise<SourceSecret> {
  const secret = createSecret();
  const id = randomUUID();
  await db
    .insertInto('source')
    .values({
      id,
      ...commandTokenColumns(sealer, id, source.commandToken),
      application_id: source.applicationId,
      format: source.format,
      create_devices: source.createDevices,
      secret_sha256: hashSecret(secret),
    })
    .execute();
  return { sourceId: id, secret };
}

/** Lists sources by the time of their creation: those of some applications, or all. */
export async function listSources(db: Database, among: readonly number[] | undefined): Promise<ListedSource[]> {
  const rows = await db
    .selectFrom('source')
    .innerJoin('application', 'application.id', 'source.application_id')
    .select(['source.id', 'app_id', 'format', 'create_devices', 'takes_commands'])
    .select(['source.created_at', 'last_seen_at'])
    .select(['messages', 'unknown_messages', 'refused_requests'])
    .select(sql<number>`(select count(*)::integer from source_device where source_id = source.id)`.as('devices'))
    .where('source.deleted_at', 'is', null)
    .where('application.deleted_at', 'is', null)
    .$if(among !== undefined, (query) =>
      query.where(sql<boolean>`source.application_id = any (${[...(among ?? [])]}::integer[])`),
    )
    .orderBy('source.created_at')
    .orderBy('source.id')
    .execute();
  return rows.map((row) => ({
    ...{ sourceId: row.id, appId: row.app_id, format: row.format, createDevices: row.create_devices },
    takesCommands: row.takes_commands,
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.last_seen_at?.toISOString() ?? null,
    ...{ messages: row.messages, devices: row.devices },
    ...{ unknownMessages: row.unknown_messages, refusedRequests: row.refused_requests },
  }));
}

/** Locks a source for a change in this transaction. @throws Failure NOT_FOUND */
export async function lockSource(
  db: Database,
  { applicationIds }: Operator,
  id: string,
): Promise<{ applicationId: number; format: SourceFormatName }> {
  const source = !isUuid(id)
    ? undefined
    : await db
        .selectFrom('source')
        .select(['application_id', 'format'])
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .forUpdate()
        .executeTakeFirst();
  if (!source || applicationIds?.includes(source.application_id) === false) {
    throw new Failure('NOT_FOUND', 'no such source');
  }
  return { applicationId: source.application_id, format: source.format };
}

/**
 * Replaces the secret of a source. @returns the new secret
 * @param overlapHours how long the old secret stays valid, at most until the first use of the new one; 0 ends it at once
 */
export async function rotateSecret(db: Database, id: string, overlapHours: number): Promise<SourceSecret> {
  const secret = createSecret();
  const previous =
    overlapHours === 0
      ? { previous_secret_sha256: null, previous_secret_until: null }
      : {
          previous_secret_sha256: sql<Buffer>`secret_sha256`,
          previous_secret_until: sql<Date>`now() + make_interval(hours => ${overlapHours})`,
        };
  await db
    .updateTable('source')
    .set({ secret_sha256: hashSecret(secret), ...previous })
    .where('id', '=', id)
    .execute();
  return { sourceId: id, secret };
}

/** Stores the token by which commands are sent to a source; undefined removes it. */
export async function setCommandToken(
  db: Database,
  sealer: Sealer,
  id: string,
  token: string | undefined,
): Promise<void> {
  await db
    .updateTable('source')
    .set(commandTokenColumns(sealer, id, token))
    .where('id', '=', id)
    .execute();
}

/** Seals every command token under the newest of ENCRYPTION_KEYS. */
export async function resealCommandTokens(db: Database, sealer: Sealer): Promise<Resealed> {
  const counts = { resealed: 0, unreadable: 0, total: 0 };
  const rows = await db.selectFrom('source').select(['id', 'sealed_command_token as sealed']).execute();
  for (const { id, sealed } of rows) {
    if (sealed === null) continue;
    counts.total += 1;
    if (!sealer.canOpen(sealed)) counts.unreadable += 1;
    else if (!sealer.isCurrent(sealed)) {
      const context = sourceTokenContext(id);
      const { numUpdatedRows } = await db
        .updateTable('source')
        .set({ sealed_command_token: sealer.seal(sealer.open(sealed, context), context) })
        .where('id', '=', id)
        // A token replaced concurrently is sealed under the newest key already.
        .where('sealed_command_token', '=', sealed)
        .executeTakeFirst();
      counts.resealed += Number(numUpdatedRows);
    }
  }
  return counts;
}

/** Deletes a source: its secrets are invalid at once. What it has sent stays. */
export async function deleteSource(db: Database, id: string): Promise<void> {
  await db
    .updateTable('source')
    .set({
      deleted_at: sql<Date>`now()`,
      previous_secret_sha256: null,
      previous_secret_until: null,
      sealed_command_token: null,
      takes_commands: false,
    })
    .where('id', '=', id)
    .execute();
}

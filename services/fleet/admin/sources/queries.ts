import type { Operator } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { SourceFormatName } from '@odograph/contracts/sources';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';

export interface NewSource {
  readonly applicationId: number;
  readonly format: SourceFormatName;
  readonly createDevices: boolean;
}

/** A source as operators see it. Counts are a few seconds old. */
export interface ListedSource {
  sourceId: string;
  appId: string;
  format: SourceFormatName;
  createDevices: boolean;
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

/** Creates a source. */
export async function createSource(db: Database, source: NewSource): Promise<SourceSecret> {
  const secret = createSecret();
  const { id } = await db
    .insertInto('source')
    .values({
      application_id: source.applicationId,
      format: source.format,
      create_devices: source.createDevices,
      secret_sha256: hashSecret(secret),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { sourceId: id, secret };
}

/** Lists sources by the time of their creation: those of some applications, or all. */
export async function listSources(db: Database, among: readonly number[] | undefined): Promise<ListedSource[]> {
  const rows = await db
    .selectFrom('source')
    .innerJoin('application', 'application.id', 'source.application_id')
    .select(['source.id', 'app_id', 'format', 'create_devices', 'source.created_at', 'last_seen_at'])
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
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.last_seen_at?.toISOString() ?? null,
    ...{ messages: row.messages, devices: row.devices },
    ...{ unknownMessages: row.unknown_messages, refusedRequests: row.refused_requests },
  }));
}

/** Locks a source for a change in this transaction. @returns its application. @throws Failure NOT_FOUND */
export async function lockSource(db: Database, { applicationIds }: Operator, id: string): Promise<number> {
  const source = !isUuid(id)
    ? undefined
    : await db
        .selectFrom('source')
        .select('application_id')
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .forUpdate()
        .executeTakeFirst();
  if (!source || applicationIds?.includes(source.application_id) === false) {
    throw new Failure('NOT_FOUND', 'no such source');
  }
  return source.application_id;
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

/** Deletes a source: its secrets are invalid at once. What it has sent stays. */
export async function deleteSource(db: Database, id: string): Promise<void> {
  await db
    .updateTable('source')
    .set({ deleted_at: sql<Date>`now()`, previous_secret_sha256: null, previous_secret_until: null })
    .where('id', '=', id)
    .execute();
}

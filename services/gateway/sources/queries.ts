import type { SourceFormatName } from '@odograph/contracts/sources';
import { auditCall } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';

/** A secret and, during a rotation, the one before it. */
export interface StoredSecrets {
  readonly secretSha256: Buffer;
  readonly previousSha256: Buffer | null;
  /** When the previous secret expires. */
  readonly previousUntil: Date | null;
}

export interface StoredSource extends StoredSecrets {
  readonly id: string;
  readonly applicationId: number;
  readonly appId: string;
  readonly format: SourceFormatName;
  readonly createDevices: boolean;
  readonly isMoving: boolean;
}

/** Finds the sources that have one of these secrets, also as the one before. */
export async function findSources(db: Database, secrets: readonly Buffer[]): Promise<StoredSource[]> {
  const { rows } = await sql<StoredSource>`
    select source.id, application_id as "applicationId", app_id as "appId", format, create_devices as "createDevices",
      moving_since is not null as "isMoving",
      secret_sha256 as "secretSha256", previous_secret_sha256 as "previousSha256", previous_secret_until as "previousUntil"
    from source join application on application.id = application_id
    where source.deleted_at is null and application.deleted_at is null
      and (secret_sha256 = any (${secrets}::bytea[]) or previous_secret_sha256 = any (${secrets}::bytea[]))`.execute(
    db,
  );
  return rows;
}

export interface StoredDevice extends StoredSecrets {
  readonly id: string;
  readonly applicationId: number | null;
  /** The rates that its application sets for its devices. */
  readonly uploadsPerSecond: number | null;
  readonly bytesPerSecond: number | null;
  readonly isMoving: boolean;
}

/** Finds the secrets and rates of devices. */
export async function findDeviceSecrets(db: Database, deviceIds: readonly string[]): Promise<StoredDevice[]> {
  const { rows } = await sql<StoredDevice>`
    select device.id, application_id as "applicationId", secret_sha256 as "secretSha256",
      previous_secret_sha256 as "previousSha256", previous_secret_until as "previousUntil",
      device_uploads_per_second as "uploadsPerSecond", device_bytes_per_second as "bytesPerSecond",
      moving_since is not null as "isMoving"
    from device left join application on application.id = application_id
    where device.id = any (${deviceIds}::text[])`.execute(db);
  return rows;
}

/** Ends the validity of the secret before this one. */
export async function endPreviousSourceSecret(db: Database, sourceId: string, secretSha256: Buffer): Promise<void> {
  await sql`update source set previous_secret_sha256 = null, previous_secret_until = null
    where id = ${sourceId}::uuid and secret_sha256 = ${secretSha256}`.execute(db);
}

/** Ends the validity of the secret of a device before this one. */
export async function endPreviousDeviceSecret(db: Database, deviceId: string, secretSha256: Buffer): Promise<void> {
  await sql`select confirm_device_secret(${deviceId}, ${secretSha256})`.execute(db);
}

/** Finds the owners of devices: null for one in stock or deleted; a device that does not exist is missing. */
export async function findOwners(db: Database, deviceIds: readonly string[]): Promise<Map<string, number | null>> {
  const { rows } = await sql<{ id: string; owner: number | null }>`select id, application_id as owner
    from device where id = any (${deviceIds}::text[])`.execute(db);
  return new Map(rows.map(({ id, owner }) => [id, owner]));
}

/**
 * Creates devices in stock of an application, of the model that is named after the format of the source, with random secrets
 * that nobody has, and records each in the audit.
 * @returns those of the ids that did not exist
 */
export async function createDevices(
  db: Database,
  { source, address }: { source: StoredSource; address: string },
  deviceIds: readonly string[],
): Promise<string[]> {
  const secrets = deviceIds.map(() => hashSecret(createSecret()));
  const entry = {
    ...{ chain: source.applicationId, actor: `source:${source.id}`, address },
    ...{
      action: 'device.create',
      subject: sql`'device:' || created.id`,
      details: { model: source.format },
      outcome: 'done',
    },
  };
  const { rows } = await sql<{ id: string }>`
    with created as (
      insert into device (id, model_id, application_id, secret_sha256)
      select id, ${source.format}, ${source.applicationId}::integer, secret
      from unnest(${deviceIds}::text[], ${secrets}::bytea[]) as new (id, secret)
      on conflict (id) do nothing returning id)
    select id, ${auditCall(entry)} from created`.execute(db);
  return rows.map(({ id }) => id);
}

/** Counts of a source since they were last written. */
export interface SourceUsage {
  readonly sourceId: string;
  readonly lastSeenMs: number;
  readonly messages: number;
  readonly unknownMessages: number;
  readonly refusedRequests: number;
  /** Devices of its application. */
  readonly deviceIds: readonly string[];
}

/** Adds to the counts of sources, and keeps their devices. */
export async function addUsage(db: Database, usage: readonly SourceUsage[]): Promise<void> {
  await sql`
    update source set last_seen_at = greatest(last_seen_at, to_timestamp(used.seen / 1000)),
      messages = source.messages + used.messages, unknown_messages = source.unknown_messages + used.unknown,
      refused_requests = source.refused_requests + used.refused
    from unnest(${usage.map(({ sourceId }) => sourceId)}::uuid[],
      ${usage.map(({ lastSeenMs }) => lastSeenMs)}::double precision[], ${usage.map(({ messages }) => messages)}::bigint[],
      ${usage.map(({ unknownMessages }) => unknownMessages)}::bigint[],
      ${usage.map(({ refusedRequests }) => refusedRequests)}::bigint[]) as used (id, seen, messages, unknown, refused)
    where source.id = used.id`.execute(db);
  const pairs = usage.flatMap(({ sourceId, deviceIds }) => deviceIds.map((deviceId) => [sourceId, deviceId] as const));
  if (pairs.length === 0) return;
  await sql`insert into source_device (source_id, device_id)
    select * from unnest(${pairs.map(([sourceId]) => sourceId)}::uuid[], ${pairs.map(([, deviceId]) => deviceId)}::text[])
    on conflict do nothing`.execute(db);
}

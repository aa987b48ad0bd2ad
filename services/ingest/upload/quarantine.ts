import { type RejectedReading, type UploadReject, uploadRejectsChannel } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { sql } from 'kysely';
import {
  groupBy,
  type QuarantineFault,
  type UploadInProgress,
  uncheckedReadings,
  uploadBytes,
} from '../pipeline/readings.ts';

export const quotaWindowMs = 3_600_000;
/** Devices counted at a time. */
const maxDevices = 100_000;

/**
 * Limits the uploads of one device that are kept in quarantine in an hour, so that a device that sends nothing but garbage
 * does not fill the disk. Each ingest process counts for itself. Replays do not count: their uploads are kept already.
 */
export class QuarantineQuota {
  readonly #perHour: number;
  readonly #kept = new WindowCounter(quotaWindowMs, maxDevices);

  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** Separates the uploads to keep from those beyond the quota. Count the kept ones after the commit. */
  split(uploads: readonly UploadInProgress[], nowMs: number) {
    const kept = uploads.filter(({ upload }) => upload.quarantineId !== undefined);
    const dropped: UploadInProgress[] = [];
    const left = new Map<string, number>();
    for (const inProgress of uploads) {
      if (inProgress.upload.quarantineId !== undefined) continue;
      const sender = senderOf(inProgress);
      const free = left.get(sender) ?? this.#perHour - this.#kept.read(sender, nowMs);
      left.set(sender, free - 1);
      (free > 0 ? kept : dropped).push(inProgress);
    }
    return { kept, dropped };
  }

  count(kept: readonly UploadInProgress[], nowMs: number): void {
    for (const one of kept) if (one.upload.quarantineId === undefined) this.#kept.add(senderOf(one), nowMs);
  }
}

/** A device, apart from a source that names it: no source uses up the quota of a device of another application. */
export function senderOf({ upload: { deviceId, applicationId } }: Pick<UploadInProgress, 'upload'>): string {
  return applicationId === undefined ? deviceId : `${applicationId} ${deviceId}`;
}

function sealUpload({ upload, faults }: UploadInProgress, sealer: Sealer) {
  const bytes = uploadBytes(upload);
  const { applicationId } = upload;
  // The same bytes of the device itself, and of the sources of each application, are different uploads.
  const prefix = applicationId === undefined ? '' : `application ${applicationId} `;
  return {
    deviceId: upload.deviceId,
    received: new Date(upload.receivedAtMs),
    format: upload.format ?? 'native',
    applicationId: applicationId ?? null,
    bytes: bytes.length,
    sealed: sealer.seal(bytes, quarantineContext(upload.deviceId)),
    fingerprint: sealer.fingerprint(Buffer.concat([Buffer.from(prefix), bytes])),
    faults: JSON.stringify(faults),
  };
}

/**
 * Stores sealed uploads with their faults. Repeated bytes increase a count instead; a replay that still has faults changes its
 * own row, unless that was deleted meanwhile.
 */
export async function quarantineUploads(
  db: Database,
  sealer: Sealer,
  uploads: readonly UploadInProgress[],
): Promise<void> {
  const found = await updateReplayed(db, uploads, false);
  const added = uploads.filter(({ upload }) => !found.has(Number(upload.quarantineId)));
  if (added.length === 0) return;
  const sealed = added.map((upload) => sealUpload(upload, sealer));
  // A statement may not update a row twice, and locks rows in a fixed order.
  const distinct = new Map(sealed.map((one) => [`${one.deviceId} ${one.fingerprint.toString('hex')}`, one]));
  const rows = [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  await sql`
    insert into quarantine (device_id, received_at, format, application_id, payload_bytes, sealed_payload,
      payload_fingerprint, faults)
    select * from unnest(${rows.map(({ deviceId }) => deviceId)}::text[],
      ${rows.map(({ received }) => received)}::timestamptz[], ${rows.map(({ format }) => format)}::text[],
      ${rows.map(({ applicationId }) => applicationId)}::integer[], ${rows.map(({ bytes }) => bytes)}::integer[],
      ${rows.map(({ sealed }) => sealed)}::bytea[], ${rows.map(({ fingerprint }) => fingerprint)}::bytea[],
      ${rows.map(({ faults }) => faults)}::jsonb[])
    on conflict (device_id, payload_fingerprint) do update set
      faults = excluded.faults, times_seen = quarantine.times_seen + 1, resolved_at = null, dismissed_reason = null,
      is_partial = false`.execute(db);
}

/** Records the outcome of replays on their rows. @returns the ids of the rows */
async function updateReplayed(
  db: Database,
  uploads: readonly UploadInProgress[],
  isPartial: boolean,
): Promise<ReadonlySet<number>> {
  const replayed = uploads.filter(({ upload }) => upload.quarantineId !== undefined);
  if (replayed.length === 0) return new Set();
  const { rows } = await sql<{ id: number }>`
    update quarantine set faults = replayed.faults, is_partial = ${isPartial}::boolean, times_seen = times_seen + 1,
      resolved_at = null, dismissed_reason = null
    from unnest(${replayed.map(({ upload }) => Number(upload.quarantineId))}::bigint[],
      ${replayed.map(({ upload }) => upload.deviceId)}::text[],
      ${replayed.map(({ faults }) => JSON.stringify(faults))}::jsonb[]) as replayed (id, device_id, faults)
    where quarantine.id = replayed.id and quarantine.device_id = replayed.device_id returning quarantine.id`.execute(
    db,
  );
  return new Set(rows.map(({ id }) => id));
}

const dayMs = 86_400_000;
/** Faults that a row for dropped values lists. */
const maxValueFaults = 100;

/** Returns reason and field of a dropped value, without its list index. */
const kindOfFault = ({ reason, field = '' }: QuarantineFault): string =>
  `${reason} ${field.replace(/\.\d+(?=\.|$)/g, '.*')}`;

/** Groups dropped values by device, kind of fault and day; each group keeps its first upload and counts them all. */
function groupDropped(uploads: readonly UploadInProgress[], nowMs: number) {
  const day = Math.floor(nowMs / dayMs);
  const groups = uploads.flatMap((inProgress) =>
    [...groupBy(inProgress.faults, kindOfFault)].map(([kind, faults]) => {
      const key = `dropped on day ${day} ${senderOf(inProgress)} ${kind}`;
      return { key, inProgress, faults: JSON.stringify(faults.slice(0, maxValueFaults)) };
    }),
  );
  return [...groupBy(groups, ({ key }) => key).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, uploads: others.length + 1 }],
  );
}

/**
 * Stores what was dropped from readings that are stored: one row for each device, reason, field and day (UTC), with the first
 * such upload; `times_seen` counts the uploads. A faulty sensor thus adds one row a day. A replay changes its own row.
 */
export async function quarantineValues(
  db: Database,
  sealer: Sealer,
  uploads: readonly UploadInProgress[],
  nowMs: number,
): Promise<void> {
  await updateReplayed(db, uploads, true);
  const received = uploads.filter(({ upload }) => upload.quarantineId === undefined);
  if (received.length === 0) return;
  const values = groupDropped(received, nowMs);
  const first = [...new Set(values.map(({ inProgress }) => inProgress))];
  const sealed = first.map((inProgress) => sealUpload(inProgress, sealer));
  await sql`
    insert into quarantine (device_id, received_at, format, application_id, payload_bytes, sealed_payload,
      payload_fingerprint, faults, times_seen, is_partial)
    select device_id, received_at, format, application_id, bytes, sealed, fingerprint, faults, times_seen, true
    from unnest(${sealed.map(({ deviceId }) => deviceId)}::text[],
      ${sealed.map(({ received }) => received)}::timestamptz[], ${sealed.map(({ format }) => format)}::text[],
      ${sealed.map(({ applicationId }) => applicationId)}::integer[], ${sealed.map(({ bytes }) => bytes)}::integer[],
      ${sealed.map((one) => one.sealed)}::bytea[])
      with ordinality as upload (device_id, received_at, format, application_id, bytes, sealed, number)
    join unnest(${values.map(({ inProgress }) => first.indexOf(inProgress) + 1)}::bigint[],
      ${values.map(({ key }) => Buffer.from(key))}::bytea[],
      ${values.map(({ faults }) => faults)}::jsonb[],
      ${values.map((one) => one.uploads)}::integer[]) as value (number, fingerprint, faults, times_seen) using (number)
    order by device_id, fingerprint
    on conflict (device_id, payload_fingerprint) do update set
      times_seen = quarantine.times_seen + excluded.times_seen`.execute(db);
}

/**
 * Counts uploads beyond the quota in one row for each device and hour, without payload: `times_seen` is their number. The
 * replay of all unresolved uploads skips empty payloads.
 */
export async function countDropped(
  db: Database,
  sealer: Sealer,
  uploads: readonly UploadInProgress[],
  nowMs: number,
): Promise<void> {
  if (uploads.length === 0) return;
  const hour = Math.floor(nowMs / quotaWindowMs);
  const fault = { index: null, reason: 'QUOTA_EXCEEDED', message: 'uploads beyond the quarantine quota of the device' };
  const rows = [...groupBy(uploads, senderOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [{ ...first.upload, times: others.length + 1 }]));
  const empty = Buffer.alloc(0);
  await sql`
    insert into quarantine (device_id, application_id, received_at, payload_bytes, sealed_payload, payload_fingerprint,
      faults, times_seen)
    select device_id, application_id, to_timestamp(${nowMs} / 1000.0), 0, sealed, fingerprint,
      ${JSON.stringify([fault])}::jsonb, times_seen
    from unnest(${rows.map(({ deviceId }) => deviceId)}::text[],
      ${rows.map(({ applicationId }) => applicationId ?? null)}::integer[],
      ${rows.map(({ deviceId }) => sealer.seal(empty, quarantineContext(deviceId)))}::bytea[],
      ${rows.map(({ applicationId }) => Buffer.from(`dropped in hour ${hour}${applicationId === undefined ? '' : ` of ${applicationId}`}`))}::bytea[],
      ${rows.map(({ times }) => times)}::integer[]) as dropped (device_id, application_id, sealed, fingerprint, times_seen)
    on conflict (device_id, payload_fingerprint) do update set
      times_seen = quarantine.times_seen + excluded.times_seen`.execute(db);
}

/** Marks replayed uploads as resolved that were stored without a fault; a part of an upload says nothing of the rest. */
export async function resolveQuarantined(db: Database, uploads: readonly UploadInProgress[]): Promise<void> {
  const ids = uploads
    .filter(({ upload, faults, isPart }) => upload.quarantineId !== undefined && faults.length === 0 && !isPart)
    .map(({ upload }) => Number(upload.quarantineId));
  if (ids.length === 0) return;
  await db
    .updateTable('quarantine')
    .set({ resolved_at: sql<Date>`now()`, dismissed_reason: null })
    .where('id', 'in', ids)
    .execute();
}

const windowMs = 60_000;
const messagesPerWindow = 10;
const maxMessages = 1000;
const maxFaults = 10;

/**
 * Announces quarantined uploads to the brokers, whose devices may subscribe to their rejects. At most once: an announcement
 * is lost while Redis or the device is unavailable. At most 10 a minute for a device, from each ingest process.
 */
export class RejectAnnouncer {
  readonly #publish: (channel: string, text: string) => Promise<unknown>;
  readonly #channel: string;
  readonly #announced = new WindowCounter(windowMs, maxDevices);

  constructor(publish: (channel: string, text: string) => Promise<unknown>, prefix: string) {
    this.#publish = publish;
    this.#channel = uploadRejectsChannel(prefix);
  }

  /** Announces uploads, but no replays and none of a source, which the device did not send. @throws when Redis is unavailable */
  async announce(quarantined: readonly UploadInProgress[], nowMs: number): Promise<void> {
    const rejects: UploadReject[] = [];
    for (const inProgress of quarantined) {
      const { deviceId, quarantineId, applicationId } = inProgress.upload;
      if (quarantineId !== undefined || applicationId !== undefined || rejects.length === maxMessages) continue;
      if (this.#announced.read(deviceId, nowMs) >= messagesPerWindow) continue;
      this.#announced.add(deviceId, nowMs);
      rejects.push(describeReject(inProgress));
    }
    if (rejects.length > 0) await this.#publish(this.#channel, JSON.stringify(rejects));
  }
}

/** Of the payload, only the time and sequence number of a rejected reading are repeated, so that no position is. */
function describeReject({ upload, faults }: UploadInProgress): UploadReject {
  const bytes = uploadBytes(upload);
  const readings = uncheckedReadings(upload);
  const message = {
    receivedAt: upload.receivedAtMs / 1000,
    bytes: bytes.length,
    faultCount: faults.length,
    faults: faults.slice(0, maxFaults).map((fault) => ({ ...fault, ...identify(readings, fault.index) })),
  };
  return { deviceId: upload.deviceId, message };
}

function identify(readings: readonly unknown[], index: number | null): Pick<RejectedReading, 'timestamp' | 'sequence'> {
  const reading = index === null ? undefined : readings[index];
  if (typeof reading !== 'object' || reading === null) return {};
  const { timestamp, sequence } = reading as Partial<Record<string, unknown>>;
  return {
    ...(typeof timestamp === 'number' && { timestamp }),
    ...(typeof sequence === 'number' && { sequence }),
  };
}

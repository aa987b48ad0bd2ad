import type { Operator } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { type UploadFormat, uploadFormats } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import type { Resealed } from '@odograph/database/sealed-values';
import { DeviceId, moment, word } from '@odograph/http/schemas';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';

export const idPattern = '^[1-9][0-9]{0,14}$';
export const Id = Type.String({ pattern: idPattern, examples: ['17'] });

const Fault = Type.Object(
  {
    index: Type.Union([Type.Integer(), Type.Null()], {
      description: 'index of the reading, null for the upload as a whole',
    }),
    reason: Type.String({ examples: ['FUTURE'] }),
    field: Type.Optional(Type.String({ examples: ['timestamp'] })),
    message: Type.Optional(Type.String({ examples: ['lies in the future'] })),
  },
  { title: 'QuarantineFault' },
);
export const Quarantined = Type.Object(
  {
    id: Id,
    deviceId: DeviceId,
    receivedAt: moment('when the platform received it'),
    format: word(uploadFormats, { description: 'the format in which the device or its source reports' }),
    bytes: Type.Integer(),
    partial: Type.Boolean({
      description: 'true: the readings are stored, without the values at fault; one row for each device, field and day',
    }),
    faults: Type.Array(Fault),
    timesSeen: Type.Integer(),
    resolvedAt: Type.Union([moment('when it was stored or dismissed'), Type.Null()]),
    dismissedReason: Type.Union([Type.Null(), Type.String()]),
  },
  { title: 'QuarantinedUpload' },
);
type Quarantined = Static<typeof Quarantined>;

export const Reason = Type.Object(
  {
    reason: Type.String({ examples: ['DEVICE_NOT_LINKED'] }),
    uploads: Type.Integer({ examples: [12] }),
    devices: Type.Integer({ examples: [1] }),
    newestAt: moment('when the newest of them was received'),
  },
  { title: 'QuarantineReason' },
);

/** A quarantined upload with its sealed payload. */
export interface SealedUpload {
  id: number;
  deviceId: string;
  receivedAtMs: number;
  format: UploadFormat;
  applicationId: number | null;
  sealed: Buffer;
}

/**
 * SQL on the table `quarantine` that is true for the uploads that an operator sees: those of sources of its applications,
 * and those of devices that its applications own, except while the device was in a vehicle of another application.
 */
function visibleTo({ applicationIds }: Operator): RawBuilder<boolean> {
  if (applicationIds === undefined) return sql<boolean>`true`;
  const ids = sql`${[...applicationIds]}::integer[]`;
  return sql<boolean>`(quarantine.application_id = any (${ids}) or quarantine.application_id is null
    and exists (select from device where device.id = quarantine.device_id
      and device.deleted_at is null and device.application_id = any (${ids}))
    and not exists (select from device_link join vehicle on vehicle.id = device_link.vehicle_id
      where device_link.device_id = quarantine.device_id and device_link.period @> quarantine.received_at
        and vehicle.application_id <> all (${ids})))`;
}

function selectUploads(db: Database) {
  return db
    .selectFrom('quarantine')
    .select(['id', 'device_id as deviceId', 'received_at as receivedAt', 'format', 'payload_bytes as bytes'])
    .select(['is_partial as partial', 'faults', 'times_seen as timesSeen', 'resolved_at as resolvedAt'])
    .select('dismissed_reason as dismissedReason');
}

type Row = Awaited<ReturnType<ReturnType<typeof selectUploads>['executeTakeFirstOrThrow']>>;

function describe({ id, receivedAt, faults, resolvedAt, ...row }: Row): Quarantined {
  return {
    ...row,
    id: String(id),
    receivedAt: receivedAt.toISOString(),
    faults: faults as Quarantined['faults'],
    resolvedAt: resolvedAt?.toISOString() ?? null,
  };
}

interface QuarantineSearch {
  /** The last id of the page before; undefined for the first page. */
  readonly after?: number | undefined;
  readonly limit: number;
  readonly order: 'oldest' | 'newest';
  readonly isOpen?: boolean | undefined;
  readonly deviceId?: string | undefined;
  /** Only uploads of devices while they were linked to this vehicle, or that are linked to it and were to none then. */
  readonly vehicleId?: number | undefined;
  readonly reason?: string | undefined;
}

const ofVehicle = (vehicleId: number) => sql<boolean>`exists (select from device_link as link
  where link.device_id = quarantine.device_id and link.vehicle_id = ${vehicleId} and (
    link.period @> quarantine.received_at or (upper_inf(link.period) and not exists (select from device_link as earlier
      where earlier.device_id = quarantine.device_id and earlier.period @> quarantine.received_at))))`;

/** Lists quarantined uploads in the order of their ids. */
export async function listQuarantine(
  db: Database,
  operator: Operator,
  { after, limit, order, isOpen, deviceId, vehicleId, reason }: QuarantineSearch,
): Promise<Quarantined[]> {
  const isNewest = order === 'newest';
  let query = selectUploads(db).where(visibleTo(operator));
  if (after !== undefined) query = query.where('id', isNewest ? '<' : '>', after);
  if (isOpen !== undefined) query = query.where('resolved_at', isOpen ? 'is' : 'is not', null);
  if (deviceId !== undefined) query = query.where('device_id', '=', deviceId);
  if (vehicleId !== undefined) query = query.where(ofVehicle(vehicleId));
  if (reason !== undefined) query = query.where(sql<boolean>`faults @> ${JSON.stringify([{ reason }])}::jsonb`);
  const rows = await query
    .orderBy('id', isNewest ? 'desc' : 'asc')
    .limit(limit)
    .execute();
  return rows.map(describe);
}

/** Counts the open uploads that an operator sees by the reasons of their faults, the most frequent first. */
export async function countReasons(db: Database, operator: Operator): Promise<Static<typeof Reason>[]> {
  const { rows } = await sql<Static<typeof Reason>>`
    select reason, count(*)::integer as uploads, count(distinct device_id)::integer as devices,
      ${isoTime(sql`max(received_at)`)} as "newestAt"
    from quarantine cross join lateral (
      select distinct fault->>'reason' as reason from jsonb_array_elements(faults) as fault) as of_upload
    where resolved_at is null and ${visibleTo(operator)}
    group by reason order by uploads desc, reason`.execute(db);
  return rows;
}

/** @throws Failure NOT_FOUND */
export async function findQuarantined(db: Database, operator: Operator, id: number): Promise<Quarantined> {
  const row = await selectUploads(db).where('id', '=', id).where(visibleTo(operator)).executeTakeFirst();
  if (!row) throw new Failure('NOT_FOUND', 'no quarantined upload has this id');
  return describe(row);
}

function selectPayloads(db: Database, limit: number) {
  return db
    .selectFrom('quarantine')
    .select(['id', 'device_id as deviceId', 'format', 'application_id as applicationId', 'sealed_payload as sealed'])
    .select(sql<number>`extract(epoch from received_at)::double precision * 1000`.as('receivedAtMs'))
    .orderBy('id')
    .limit(limit);
}

/** Rows that only count uploads beyond the quota have no payload. */
const selectKept = (db: Database, limit: number) => selectPayloads(db, limit).where('payload_bytes', '>', 0);

/** Reads an upload with its sealed payload. @returns undefined if the operator sees none with the id */
export function findPayload(db: Database, operator: Operator, id: number): Promise<SealedUpload | undefined> {
  return selectPayloads(db, 1).where('id', '=', id).where(visibleTo(operator)).executeTakeFirst();
}

/** Reads the sealed payloads of these ids, except for rows that have none. */
export function findPayloads(db: Database, operator: Operator, ids: readonly number[]): Promise<SealedUpload[]> {
  return selectKept(db, ids.length).where('id', 'in', ids).where(visibleTo(operator)).execute();
}

/**
 * Tells whether a device was linked, at one of these times, to a vehicle that an operator does not see.
 * @param times microseconds since the epoch; undefined for any time
 */
export async function wasLinkedElsewhere(
  db: Database,
  { applicationIds }: Operator,
  deviceId: string,
  times: readonly number[] | undefined,
): Promise<boolean> {
  if (applicationIds === undefined) return false;
  const { rows } = await sql`select from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where device_link.device_id = ${deviceId} and vehicle.application_id <> all (${[...applicationIds]}::integer[])
      and (${times === undefined} or exists (select from unnest(${[...(times ?? [])]}::bigint[]) as microseconds
        where device_link.period @> timestamptz 'epoch' + microseconds * interval '1 microsecond'))
    limit 1`.execute(db);
  return rows.length > 0;
}

/** Reads the sealed payloads of unresolved uploads, ids after `after` up to `last`. */
export async function findUnresolvedPayloads(
  db: Database,
  operator: Operator,
  { after, last, limit }: { after: number; last: number; limit: number },
): Promise<SealedUpload[]> {
  return selectKept(db, limit)
    .where('resolved_at', 'is', null)
    .where('id', '>', after)
    .where('id', '<=', last)
    .where(visibleTo(operator))
    .execute();
}

/** Finds the newest id, 0 when the quarantine is empty. */
export async function findLastId(db: Database): Promise<number> {
  const row = await db.selectFrom('quarantine').select('id').orderBy('id', 'desc').executeTakeFirst();
  return row?.id ?? 0;
}

/** @throws Failure NOT_FOUND if the operator does not see an upload with each of the ids */
export async function requirePresent(db: Database, operator: Operator, ids: readonly number[]): Promise<void> {
  const rows = await db
    .selectFrom('quarantine')
    .select('id')
    .where('id', 'in', ids)
    .where(visibleTo(operator))
    .execute();
  const present = new Set(rows.map(({ id }) => id));
  const missing = ids.filter((id) => !present.has(id));
  if (missing.length === 0) return;
  throw new Failure('NOT_FOUND', `no quarantined upload has id ${missing.join(', ')}`, { field: 'ids' });
}

/** Marks uploads as resolved without storing them; those resolved already stay as they are. Returns the ids dismissed. */
export async function dismissUploads(db: Database, ids: readonly number[], reason: string): Promise<number[]> {
  const rows = await db
    .updateTable('quarantine')
    .set({ resolved_at: sql<Date>`now()`, dismissed_reason: reason })
    .where('id', 'in', ids)
    .where('resolved_at', 'is', null)
    .returning('id')
    .execute();
  return rows.map(({ id }) => id);
}

const resealedAtOnce = 100;

/** Seals every quarantined upload under the newest of ENCRYPTION_KEYS. */
export async function resealQuarantine(db: Database, sealer: Sealer): Promise<Resealed> {
  const counts = { resealed: 0, unreadable: 0, total: 0 };
  for (let after = 0; ; ) {
    const rows = await selectKept(db, resealedAtOnce).where('id', '>', after).execute();
    for (const { id, deviceId, sealed } of rows) {
      after = id;
      counts.total += 1;
      if (!sealer.canOpen(sealed)) counts.unreadable += 1;
      else if (!sealer.isCurrent(sealed)) {
        const context = quarantineContext(deviceId);
        const payload = sealer.open(sealed, context);
        await db
          .updateTable('quarantine')
          .set({ sealed_payload: sealer.seal(payload, context) })
          .where('id', '=', id)
          .execute();
        counts.resealed += 1;
      }
    }
    if (rows.length < resealedAtOnce) return counts;
  }
}

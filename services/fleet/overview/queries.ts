import type { Viewer } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import type { DeviceDetail, SortColumn, TableDevice } from './schemas.ts';

/** Which devices the table shows, and in what order. */
export interface DeviceRequest {
  readonly viewer: Viewer;
  /** Part of a device id, a plate or a VIN, in lower case. */
  readonly search?: string | undefined;
  readonly model?: string | undefined;
  readonly appId?: string | undefined;
  readonly isLinked?: boolean | undefined;
  /** Only devices with open quarantined uploads, or only those without. */
  readonly isQuarantined?: boolean | undefined;
  /** Only these devices, or all but these. */
  readonly among?: { readonly ids: readonly string[]; readonly isIn: boolean } | undefined;
  readonly sort: { readonly column: SortColumn; readonly isDescending: boolean };
  /** The last device of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The vehicle that a device is linked to, if the person sees it; its latest state, if the device reported it. */
const tables = (viewer: Viewer) => sql`device
  left join (device_link join vehicle on vehicle.id = device_link.vehicle_id and ${visibleTo(viewer)})
    on device_link.device_id = device.id and device_link.period @> now()
  left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id and device_link.period @> vehicle_latest.time
  left join application on application.id = device.application_id
  left join (select device_id, count(*)::integer as uploads from quarantine
    where resolved_at is null and not is_partial group by device_id)
    as faults on faults.device_id = device.id`;

/** True for the devices of visible vehicles; an operator or an application also sees those that belong to its applications. */
function isVisible({ applicationIds, userId }: Viewer): RawBuilder<boolean> {
  if (userId !== undefined) return sql<boolean>`(device.deleted_at is null and vehicle.id is not null)`;
  const owned =
    applicationIds === undefined
      ? sql`true`
      : sql`(vehicle.id is not null or device.application_id = any(${[...applicationIds]}::integer[]))`;
  return sql<boolean>`(device.deleted_at is null and ${owned})`;
}

const sortKeys: Readonly<Record<SortColumn, RawBuilder<unknown>>> = {
  deviceId: sql`lower(device.id) collate "C"`,
  model: sql`lower(device.model_id) collate "C"`,
  appId: sql`lower(application.app_id) collate "C"`,
  plate: sql`lower(vehicle.plate) collate "C"`,
  createdAt: sql`device.created_at`,
  secretIssuedAt: sql`device.secret_issued_at`,
  lastUpload: sql`vehicle_latest.received_at`,
  quarantined: sql`coalesce(faults.uploads, 0)`,
};

function isRequested(request: DeviceRequest): RawBuilder<boolean> {
  const { viewer, search, model, appId, isLinked, isQuarantined, among } = request;
  const conditions = [
    isVisible(viewer),
    ...(search === undefined
      ? []
      : [sql<boolean>`(strpos(lower(device.id), ${search}) > 0 or strpos(vehicle.search_text, ${search}) > 0)`]),
    ...(model === undefined ? [] : [sql<boolean>`device.model_id = ${model}`]),
    ...(appId === undefined ? [] : [sql<boolean>`application.app_id = ${appId}`]),
    ...(isLinked === undefined ? [] : [sql<boolean>`(vehicle.id is not null) = ${isLinked}`]),
    ...(isQuarantined === undefined ? [] : [sql<boolean>`(faults.uploads is not null) = ${isQuarantined}`]),
    ...(among === undefined ? [] : [sql<boolean>`(device.id = any(${among.ids}::text[])) = ${among.isIn}`]),
  ];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

interface Row {
  id: string;
  model: string;
  protocol: StoredDevice['protocol'];
  app_id: string | null;
  vehicle_id: number | null;
  plate: string | null;
  linked_since: Date | null;
  created_at: Date;
  secret_issued_at: Date;
  previous_secret_until: Date | null;
  last_upload: Date | null;
  quarantined: number;
  total: number;
}

export type StoredDevice = Omit<TableDevice, 'connected' | 'disconnectedSince'>;

function toDevice(row: Row): StoredDevice {
  const optional = (name: keyof StoredDevice, time: Date | null) => (time ? { [name]: time.toISOString() } : {});
  return {
    ...{ deviceId: row.id, model: row.model, protocol: row.protocol },
    ...{ appId: row.app_id ?? '', plate: row.plate ?? '' },
    vehicleId: row.vehicle_id === null ? '' : String(row.vehicle_id),
    ...{ createdAt: row.created_at.toISOString(), secretIssuedAt: row.secret_issued_at.toISOString() },
    ...optional('linkedSince', row.linked_since),
    ...optional('previousSecretUntil', row.previous_secret_until),
    ...optional('lastUpload', row.last_upload),
    quarantined: row.quarantined,
  };
}

/**
 * Reads a page of the table, and one device more if the table goes on.
 * @returns the devices, and how many there are on all pages
 * @throws Failure INVALID_PARAMETER if the person no longer sees the last device of the page before
 */
export async function readDevices(
  db: Database,
  request: DeviceRequest,
): Promise<{ devices: StoredDevice[]; total: number }> {
  const { viewer, after, limit, sort } = request;
  const [direction, follows] = sort.isDescending ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
  const key = sortKeys[sort.column];
  if (after !== undefined) await requireVisible(db, viewer, after);
  const isAfter =
    after === undefined
      ? sql`true`
      : sql`case when border.key is null then found.key is null and found.id ${follows} border.id
          else (found.key, found.id) ${follows} (border.key, border.id) or found.key is null end`;
  const { rows } = await sql<Row>`
    with found as materialized (
      select device.id, ${key} as key from ${tables(viewer)} where ${isRequested(request)}),
    border as (select device.id, ${key} as key from ${tables(viewer)} where device.id = ${after ?? ''}),
    page as materialized (
      select found.id, row_number() over (order by found.key ${direction} nulls last, found.id ${direction}) as place
      from found ${after === undefined ? sql`` : sql`cross join border`} where ${isAfter}
      order by place limit ${limit}::integer)
    select device.id, device.model_id as model,
      (select protocol from device_model where device_model.id = device.model_id) as protocol, application.app_id, vehicle.id as vehicle_id, vehicle.plate,
      lower(device_link.period) as linked_since, device.created_at, device.secret_issued_at,
      case when device.previous_secret_until > now() then device.previous_secret_until end as previous_secret_until,
      vehicle_latest.received_at as last_upload, coalesce(faults.uploads, 0) as quarantined,
      (select count(*) from found) as total
    from page join (${tables(viewer)}) on device.id = page.id order by page.place`.execute(db);
  return { devices: rows.map(toDevice), total: rows[0]?.total ?? 0 };
}

async function requireVisible(db: Database, viewer: Viewer, deviceId: string): Promise<void> {
  const { rows } =
    await sql`select from ${tables(viewer)} where device.id = ${deviceId} and ${isVisible(viewer)}`.execute(db);
  if (rows.length === 0) throw invalidParameter('after', 'must be taken from the Link of an answer');
}

/** Lists the links of a device to vehicles that a person sees, newest first. */
export async function readLinks(db: Database, viewer: Viewer, deviceId: string): Promise<DeviceDetail['links']> {
  const { rows } = await sql<{ vehicle_id: number; plate: string; from: Date | null; until: Date | null }>`
    select vehicle.id as vehicle_id, plate, lower(period) as "from", upper(period) as until
    from device_link join vehicle on vehicle.id = device_link.vehicle_id and ${visibleTo(viewer)}
    where device_id = ${deviceId} order by period desc`.execute(db);
  return rows.map(({ vehicle_id, plate, from, until }) => ({
    ...{ vehicleId: String(vehicle_id), plate },
    ...(from && { from: from.toISOString() }),
    ...(until && { until: until.toISOString() }),
  }));
}

/** Uploads are looked for among so many readings of a vehicle by device time, the newest ones. */
const readingsLookedAt = 500;

/** Lists the uploads that hold the newest readings of a device under a link, newest first. */
export async function readUploads(
  db: Database,
  deviceId: string,
  { vehicleId, from = '-infinity', until = 'infinity' }: DeviceDetail['links'][number],
): Promise<DeviceDetail['uploads']> {
  const { rows } = await sql<{ received_at: Date; readings: number; first: Date; last: Date }>`
    select received_at, count(*)::integer as readings, min(time) as first, max(time) as last
    from (select received_at, time from reading
      where vehicle_id = ${vehicleId}::integer and device_id = ${deviceId}
        and time >= ${from}::timestamptz and time < ${until}::timestamptz
      order by time desc limit ${readingsLookedAt}) as newest
    group by received_at order by received_at desc`.execute(db);
  return rows.map(({ received_at, readings, first, last }) => ({
    ...{ receivedAt: received_at.toISOString(), vehicleId, readings },
    ...{ firstTime: first.toISOString(), lastTime: last.toISOString() },
  }));
}

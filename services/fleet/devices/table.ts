import type { Viewer } from '@odograph/contracts/caller';
import { deviceProtocols } from '@odograph/contracts/device-models';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { visibleTo } from '@odograph/database/vehicle-access';
import { isDescribedBy } from '@odograph/database/vehicle-conditions';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, Flag, isTrue, moment, pageHeaders, text, VehicleId, word } from '@odograph/http/schemas';
import { findPresent, findSessionEnds } from '@odograph/sessions/presence';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';

/** The columns of the table by which it can be sorted. */
export const sortColumns = [
  ...(['deviceId', 'model', 'appId', 'plate', 'createdAt', 'secretIssuedAt', 'lastUpload', 'quarantined'] as const),
] as const;
type SortColumn = (typeof sortColumns)[number];

const word256 = (description: string) => Type.Optional(text(1, 256, { description }));
const name = (description: string, example: string) => Type.String({ description, examples: [example] });

const TableDevice = Type.Object(
  {
    deviceId: name('device identifier', 'unit-0001'),
    model: name('device model', 'generic'),
    protocol: word(deviceProtocols, { description: 'how it reports: MQTT, Teltonika, or through another system' }),
    appId: name('the application that the device belongs to, empty without one', 'app-0001'),
    vehicleId: name('the vehicle that it is linked to, empty without one', '1000000001'),
    plate: name('license plate of that vehicle', 'AB-123-CD'),
    linkedSince: Type.Optional(moment('start of the link; left out for a link without a start')),
    connected: Type.Boolean({ description: 'has a live connection', examples: [true] }),
    disconnectedSince: Type.Optional(
      moment('when its last connection ended; left out while it has one, and if it never had one'),
    ),
    lastUpload: Type.Optional(moment('when the platform last stored a reading of the device for that vehicle')),
    createdAt: moment('when the device was provisioned'),
    secretIssuedAt: moment('when its secret was issued'),
    previousSecretUntil: Type.Optional(moment('until when the secret before is valid, while it is rotated out')),
    quarantined: Type.Integer({
      description: 'uploads in the quarantine without a decision',
      minimum: 0,
      examples: [0],
    }),
  },
  { title: 'TableDevice' },
);
type TableDevice = Static<typeof TableDevice>;

const Link = Type.Object(
  {
    vehicleId: VehicleId,
    plate: name('license plate of the vehicle', 'AB-123-CD'),
    from: Type.Optional(moment('start; left out for a link without a start')),
    until: Type.Optional(moment('end; left out for the current link')),
  },
  { title: 'DeviceLink' },
);
const Upload = Type.Object(
  {
    receivedAt: moment('when the platform received it'),
    vehicleId: VehicleId,
    readings: Type.Integer({ description: 'readings of it that are stored', minimum: 1, examples: [3] }),
    firstTime: moment('device time of its oldest reading'),
    lastTime: moment('device time of its newest reading'),
  },
  { title: 'StoredUpload' },
);

const DeviceDetail = Type.Object(
  {
    ...TableDevice.properties,
    links: Type.Array(Link, { description: 'to vehicles that the person sees, newest first' }),
    uploads: Type.Array(Upload, { description: 'the last ones, newest first, of at most 500 readings' }),
  },
  { title: 'DeviceDetail' },
);
type DeviceDetail = Static<typeof DeviceDetail>;

const DeviceTable = Type.Object(
  {
    devices: Type.Array(TableDevice),
    total: Type.Integer({ description: 'devices on all pages', minimum: 0, examples: [1] }),
  },
  { title: 'DeviceTable' },
);

const DeviceTableQuery = Type.Object({
  q: word256('part of a device id, plate, VIN, make or model, in any case'),
  model: word256('only devices of this model'),
  appId: word256('only devices of this application'),
  linked: Type.Optional(Flag),
  connected: Type.Optional(Flag),
  quarantined: Type.Optional(Flag),
  sort: Type.Optional(
    word([...sortColumns, ...sortColumns.map((column) => `-${column}` as const)], {
      description:
        'column, by default deviceId; with a minus sign in descending order. Unknown values come last in both',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'devices on a page' }),
  after: Type.Optional(DeviceId),
});

const path = '/v1/x/devices';

const flag = (value: Parameters<typeof isTrue>[0] | undefined) => (value === undefined ? undefined : isTrue(value));

/** Awaits a read of the sessions that brokers and gateways record. @throws Failure OVERLOADED when Redis is unavailable */
async function whenKnown<Known>(reading: Promise<Known>): Promise<Known> {
  try {
    return await reading;
  } catch (error) {
    const details = { retryAfterSeconds: 5 };
    throw new Failure('OVERLOADED', 'the sessions of devices are not known now', details, { cause: error });
  }
}

/** Adds to devices whether they have a session, or since when they have none. @throws Failure OVERLOADED */
async function addSessions({ redis, config }: Fleet, devices: readonly StoredDevice[]): Promise<TableDevice[]> {
  const ids = devices.map(({ deviceId }) => deviceId);
  const [connected, ends] = await whenKnown(
    Promise.all([findPresent(redis, config.QUEUE_PREFIX, ids), findSessionEnds(redis, config.QUEUE_PREFIX, ids)]),
  );
  return devices.map((device) => {
    const isConnected = connected.has(device.deviceId);
    const end = isConnected ? undefined : ends.get(device.deviceId);
    const since = end === undefined ? {} : { disconnectedSince: new Date(end).toISOString() };
    return { ...device, connected: isConnected, ...since };
  });
}

/** Additions to the interface: the table of all devices that a person sees, and one of them. */
export const deviceTable: FleetRoutes = { viewer: [addTable, addDetail] };

function addTable(http: Http, fleet: Fleet): void {
  const { db, redis, config } = fleet;
  const tableSchema = {
    operationId: 'getDeviceTable',
    tags: ['vehicles and devices'],
    summary: 'Table of devices with their connection, vehicle, credentials and quarantine, in pages',
    description:
      `A user sees the devices of its vehicles; an application and an operator also those that are linked to no vehicle.
          OVERLOADED while the sessions of devices cannot be read.`.replace(/\s+/g, ' '),
    querystring: DeviceTableQuery,
    answerHeaders: pageHeaders,
    response: answers(DeviceTable),
  };
  http.get(path, { preValidation: leaveOutEmpty(), schema: tableSchema }, async ({ viewer, query }, reply) => {
    const { q, model, appId, sort = 'deviceId', after, limit } = query;
    const connected = flag(query.connected);
    const among =
      connected === undefined
        ? undefined
        : { ids: [...(await whenKnown(findPresent(redis, config.QUEUE_PREFIX)))], isIn: connected };
    const { devices, total } = await readDevices(db, {
      ...{ viewer, search: q?.trim().toLowerCase() || undefined, model, appId, after, limit: limit + 1 },
      ...{ isLinked: flag(query.linked), isQuarantined: flag(query.quarantined), among },
      sort: { column: sort.replace('-', '') as SortColumn, isDescending: sort.startsWith('-') },
    });
    const page = devices.slice(0, limit);
    const last = devices.length > limit ? page.at(-1) : undefined;
    const parameters = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
    return sendPage(
      reply,
      JSON.stringify({ devices: await addSessions(fleet, page), total }),
      last && { path, parameters: { ...parameters, after: last.deviceId } },
    );
  });
}

function addDetail(http: Http, fleet: Fleet): void {
  const { db } = fleet;
  const detailSchema = {
    operationId: 'getDeviceDetail',
    tags: ['vehicles and devices'],
    summary: 'A device with its connection, links in time and last uploads',
    description: 'OVERLOADED while the sessions of devices cannot be read.',
    params: Type.Object({ id: DeviceId }),
    response: answers(DeviceDetail, 'UNKNOWN_DEVICE'),
  };
  http.get(`${path}/:id`, { schema: detailSchema }, async ({ viewer, params: { id } }) => {
    const { devices } = await readDevices(db, {
      ...{ viewer, among: { ids: [id], isIn: true }, limit: 1 },
      sort: { column: 'deviceId', isDescending: false },
    });
    const [device] = await addSessions(fleet, devices);
    if (device === undefined) throw new Failure('UNKNOWN_DEVICE');
    const links = await readLinks(db, viewer, id);
    const [newest] = links;
    return { ...device, links, uploads: newest === undefined ? [] : await readUploads(db, id, newest) };
  });
}

/** Which devices the table shows, and in what order. */
interface DeviceRequest {
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
      : [sql<boolean>`(strpos(lower(device.id), ${search}) > 0 or ${isDescribedBy(search)})`]),
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

type StoredDevice = Omit<TableDevice, 'connected' | 'disconnectedSince'>;

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
async function readDevices(db: Database, request: DeviceRequest): Promise<{ devices: StoredDevice[]; total: number }> {
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
async function readLinks(db: Database, viewer: Viewer, deviceId: string): Promise<DeviceDetail['links']> {
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
async function readUploads(
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

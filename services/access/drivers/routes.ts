import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle, raiseListVersions, requirePermission } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, type RequestContext, requestContext } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer, moment, pageHeaders, VehicleId } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import {
  isOfDriver,
  isVisibleTo,
  type ListedAuthorization,
  type ListFilter,
  listAuthorizations,
} from '../authorizations/queries.ts';
import { AuthorizationId, route as authorizationRoute, categories, DriverId } from '../authorizations/rules.ts';
import { type AccessOptions, changeAccess } from '../shared/access-options.ts';
import { ListPage, sendList } from '../shared/list-stream.ts';

const driverRoute = { tags: ['drivers'] };
const Page = ListPage('authorizations');
const DriverPath = Type.Object({ userid: DriverId });
const Authorization = Type.Object(
  { authorizationId: AuthorizationId, from: moment('start, inclusive'), until: moment('end, exclusive') },
  { title: 'ListedAuthorization' },
);
const List = Type.Object({ authorizations: Type.Array(Authorization) }, { title: 'Authorizations' });
/** Interface specification, "Driver vehicle record". */
const DriverVehicle = Type.Object(
  {
    Id: VehicleId,
    Builder: Type.String({ examples: ['Renault'] }),
    Model: Type.String({ examples: ['Zoe'] }),
    Plate: Type.String({ examples: ['AB-123-CD'] }),
    deviceId: Type.String({ examples: ['unit-0001'] }),
    deviceModel: Type.String({ examples: ['generic'] }),
    Archived: Type.Boolean(),
    authorizations: Type.Array(Authorization, { description: 'the unexpired ones' }),
  },
  { title: 'DriverVehicle' },
);

type DriverVehicle = Type.Static<typeof DriverVehicle>;
type DriverVehicleRow = Omit<DriverVehicle, 'authorizations'> & {
  authorizations: { id: string; fromMs: number; untilMs: number }[];
};

const milliseconds = (column: string) => sql`(extract(epoch from ${sql.ref(column)}) * 1000)::float8`;

/** Lists the vehicles of a driver's current and scheduled authorizations, with these authorizations. */
async function listDriverVehicles(db: Database, caller: Caller, driverId: string, now: Date): Promise<DriverVehicle[]> {
  const { rows } = await sql<DriverVehicleRow>`
    select vehicle.id::text as "Id", vehicle.brand as "Builder", vehicle.model as "Model", vehicle.plate as "Plate",
      coalesce(device.id, '') as "deviceId", coalesce(device.model_id, '') as "deviceModel",
      vehicle.archived_at is not null as "Archived", listed.authorizations
    from (
      select grant_.vehicle_id, json_agg(json_build_object('id', grant_.id, 'fromMs', ${milliseconds('valid_from')},
        'untilMs', ${milliseconds('valid_until')}) order by valid_from, grant_.id) as authorizations
      from bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id
      where ${isOfDriver(caller, driverId)} and revoked_at is null and valid_until > ${now} and ${isVisibleTo(caller)}
      group by grant_.vehicle_id) listed
    join vehicle on vehicle.id = listed.vehicle_id
    left join device_link link on link.vehicle_id = vehicle.id and upper_inf(link.period)
    left join device on device.id = link.device_id
    order by vehicle.id`.execute(db);
  return rows.map((row) => ({
    ...row,
    authorizations: row.authorizations.map(({ id, fromMs, untilMs }) => ({
      authorizationId: id,
      from: new Date(fromMs).toISOString(),
      until: new Date(untilMs).toISOString(),
    })),
  }));
}

/**
 * Revokes all authorizations of a driver that the caller may see, in a transaction.
 * @returns how many
 * @throws Failure UNAUTHORIZED when the caller may see but not change one of them
 */
async function revokeAuthorizations(db: Database, caller: Caller, driverId: string, now: Date): Promise<number> {
  const isRevocable = sql`${isOfDriver(caller, driverId)} and grant_.revoked_at is null and ${isVisibleTo(caller)}`;
  // A concurrent update holds the vehicle, and its replacement is visible only to a statement that starts after the lock.
  await sql`select from vehicle where id in (
      select vehicle.id from bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id where ${isRevocable})
    order by id for no key update`.execute(db);
  const { rows } = await sql<{ id: string; vehicleId: number; unexpired: boolean; permitted: boolean }>`
    select grant_.id, grant_.vehicle_id as "vehicleId", grant_.valid_until > ${now} as unexpired,
      ${accessibleTo(caller, 'book')} as permitted
    from bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id
    where ${isRevocable}
    order by grant_.id for no key update of grant_`.execute(db);
  if (rows.length === 0) return 0;
  requirePermission(rows.every(({ permitted }) => permitted));
  const ids = rows.map(({ id }) => id);
  await sql`update bluetooth_authorization set revoked_at = ${now} where id = any(${ids}::uuid[])`.execute(db);
  const vehicleIds = rows.filter(({ unexpired }) => unexpired).map(({ vehicleId }) => vehicleId);
  if (vehicleIds.length > 0) await raiseListVersions(db, [...new Set(vehicleIds)]);
  return rows.length;
}

/** A device that has not confirmed a key list with revocations. */
interface UnconfirmedDevice {
  readonly deviceId: string;
  readonly listVersion: number;
}

/**
 * Finds the devices that have not confirmed their key lists, of vehicles with unexpired revocations of this driver. Leaves
 * out devices without Bluetooth, which never confirm a list.
 */
async function findUnconfirmed(
  db: Database,
  caller: Caller,
  driverId: string,
  now: Date,
): Promise<UnconfirmedDevice[]> {
  const { rows } = await sql<UnconfirmedDevice>`
    select distinct held.device_id as "deviceId", held.list_version as "listVersion"
    from bluetooth_authorization grant_
    join vehicle on vehicle.id = grant_.vehicle_id and ${isVisibleTo(caller)}
    join device_link link on link.vehicle_id = vehicle.id and upper_inf(link.period)
    join device_key held on held.device_id = link.device_id and held.confirmed_version < held.list_version
    join device on device.id = link.device_id
    join device_model model on model.id = device.model_id and model.bluetooth
    where ${isOfDriver(caller, driverId)} and grant_.revoked_at is not null and grant_.valid_until > ${now}`.execute(
    db,
  );
  return rows;
}

/** Filters the devices that still have not confirmed their key lists. */
async function filterUnconfirmed(db: Database, devices: readonly UnconfirmedDevice[]): Promise<UnconfirmedDevice[]> {
  const rows = await db
    .selectFrom('device_key')
    .select(['device_id', 'confirmed_version'])
    .where(
      'device_id',
      'in',
      devices.map(({ deviceId }) => deviceId),
    )
    .execute();
  const confirmed = new Map(rows.map((row) => [row.device_id, row.confirmed_version]));
  return devices.filter(({ deviceId, listVersion }) => (confirmed.get(deviceId) ?? listVersion) < listVersion);
}

const pollMs = 100;

export interface RevocationOptions extends AccessOptions {
  /** How long to wait for devices to confirm their key lists. */
  readonly ackTimeoutMs: number;
  /** Whether the device has a live session; throws while that is unknown. */
  isConnected(deviceId: string): Promise<boolean>;
}

function notAll(devices: readonly UnconfirmedDevice[], reason: string): Failure {
  const message = `${devices.length} devices have not confirmed the revocation; they receive it once they are connected`;
  return new Failure('NOT_ALL_AUTHORIZATIONS_REVOKED', message, { reason });
}

async function awaitConfirmations(
  db: Database,
  { ackTimeoutMs, isConnected }: RevocationOptions,
  devices: readonly UnconfirmedDevice[],
): Promise<void> {
  const endMs = performance.now() + ackTimeoutMs;
  let waiting = devices;
  if (waiting.length === 0) return;
  const connected = await Promise.all(waiting.map(({ deviceId }) => isConnected(deviceId).catch(() => true)));
  if (connected.includes(false)) throw notAll(waiting, 'DEVICE_OFFLINE');
  for (;;) {
    waiting = await filterUnconfirmed(db, waiting);
    if (waiting.length === 0) return;
    if (performance.now() >= endMs) throw notAll(waiting, 'NO_ACKNOWLEDGEMENT');
    await delay(pollMs);
  }
}

/**
 * Revokes all authorizations of a driver that the caller may see, and waits until their devices have confirmed it.
 * @throws Failure NOT_ALL_AUTHORIZATIONS_REVOKED after `ackTimeoutMs`; at once when a device has no session
 */
async function revokeDriver(
  options: RevocationOptions,
  { caller, address: ip, now }: RequestContext,
  driverId: string,
): Promise<void> {
  const { db } = options;
  await changeAccess(options, async (trx) => {
    const authorizations = await revokeAuthorizations(trx, caller, driverId, now);
    await auditChange(trx, originOf({ caller, ip }), 'driver.delete', `driver:${driverId}`, { authorizations });
  });
  await awaitConfirmations(db, options, await findUnconfirmed(db, caller, driverId, now));
}

type Reply = Parameters<typeof sendList>[0];

function sendAuthorizations(
  { db, clock }: AccessOptions,
  reply: Reply,
  caller: Caller,
  { path, ...filter }: ListFilter & { path: string },
  page: ListPage,
): Promise<Reply> {
  const now = clock();
  return sendList<ListedAuthorization>(reply, page, {
    ...{ name: 'authorizations', path },
    describe: ({ id, from, until }) => ({ authorizationId: id, from, until }),
    read: (part) => listAuthorizations(db, caller, filter, { now, ...part }),
  });
}

function addVehicleLists(http: Http, options: AccessOptions): void {
  for (const category of categories) {
    http.get(
      `/v1/vehicles/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of all vehicles`,
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, query }, reply) => {
        const path = `/v1/vehicles/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category }, query);
      },
    );

    http.get(
      `/v1/vehicle/:id/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of a vehicle`,
          params: Type.Object({ id: VehicleId }),
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }, reply) => {
        const { id: vehicleId } = await findVehicle(options.db, caller, params.id);
        const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category, vehicleId }, query);
      },
    );
  }
}

function addDriverLists(http: Http, options: AccessOptions): void {
  for (const category of ['scheduled', 'expired'] as const) {
    http.get(
      `/v1/user/:userid/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of a driver`,
          params: DriverPath,
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, params: { userid: driverId }, query }, reply) => {
        const path = `/v1/user/${encodeURIComponent(driverId)}/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category, driverId }, query);
      },
    );
  }
}

function addDriver(http: Http, options: RevocationOptions): void {
  http.get(
    '/v1/user/:userid/vehicles',
    {
      schema: {
        ...driverRoute,
        summary: 'The vehicles of the current and scheduled authorizations of a driver',
        params: DriverPath,
        response: answers(Type.Array(DriverVehicle)),
      },
    },
    async ({ caller, params }) => listDriverVehicles(options.db, caller, params.userid, options.clock()),
  );

  http.delete(
    '/v1/user/:userid',
    {
      schema: {
        ...driverRoute,
        summary: 'Revoke all authorizations of a driver, and wait until the devices have confirmed it',
        params: DriverPath,
        response: answers(EmptyAnswer, 'NOT_ALL_AUTHORIZATIONS_REVOKED', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      await revokeDriver(options, requestContext(request, options.clock), request.params.userid);
      return {};
    },
  );
}

/** The routes of the interface specification, "Driver data and authorization lists". */
export function driverRoutes(options: RevocationOptions): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', leaveOutEmpty());
    addVehicleLists(http, options);
    addDriverLists(http, options);
    addDriver(http, options);
  };
}

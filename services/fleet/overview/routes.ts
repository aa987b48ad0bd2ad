import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, isTrue, pageHeaders } from '@odograph/http/schemas';
import Type from 'typebox';
import { readDevices, readLinks, readUploads, type StoredDevice } from './queries.ts';
import { DeviceDetail, DeviceTable, DeviceTableQuery, type SortColumn, type TableDevice } from './schemas.ts';

const path = '/v1/x/devices';

/** Reads what brokers and gateways record of the sessions of devices. */
export interface DeviceSessions {
  /** Finds the devices with a live session, of these or of all. @throws when Redis is unavailable */
  findConnected(ids?: readonly string[]): Promise<ReadonlySet<string>>;
  /** Finds when the last sessions of these ended, UNIX milliseconds. @throws when Redis is unavailable */
  findEnds(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

const flag = (value: Parameters<typeof isTrue>[0] | undefined) => (value === undefined ? undefined : isTrue(value));

/** Waits for what is read of sessions. @throws Failure OVERLOADED when Redis is unavailable */
async function whenKnown<Known>(reading: Promise<Known>): Promise<Known> {
  try {
    return await reading;
  } catch (error) {
    const details = { retryAfterSeconds: 5 };
    throw new Failure('OVERLOADED', 'the sessions of devices are not known now', details, { cause: error });
  }
}

/** Adds to devices whether they have a session, or since when they have none. @throws Failure OVERLOADED */
async function addSessions(sessions: DeviceSessions, devices: readonly StoredDevice[]): Promise<TableDevice[]> {
  const ids = devices.map(({ deviceId }) => deviceId);
  const [connected, ends] = await whenKnown(Promise.all([sessions.findConnected(ids), sessions.findEnds(ids)]));
  return devices.map((device) => {
    const isConnected = connected.has(device.deviceId);
    const end = isConnected ? undefined : ends.get(device.deviceId);
    const since = end === undefined ? {} : { disconnectedSince: new Date(end).toISOString() };
    return { ...device, connected: isConnected, ...since };
  });
}

/** Additions to the interface: the table of all devices that a person sees, and one of them. */
export function deviceTableRoutes(db: Database, sessions: DeviceSessions): RoutePlugin {
  return (http) => {
    addTable(http, db, sessions);
    addDetail(http, db, sessions);
  };
}

function addTable(http: Http, db: Database, sessions: DeviceSessions): void {
  http.get(
    path,
    {
      preValidation: leaveOutEmpty(),
      schema: {
        operationId: 'getDeviceTable',
        tags: ['vehicles and devices'],
        summary: 'Table of devices with their connection, vehicle, credentials and quarantine, in pages',
        description:
          `A user sees the devices of its vehicles; an application and an operator also those that are linked to no vehicle.
          OVERLOADED while the sessions of devices cannot be read.`.replace(/\s+/g, ' '),
        querystring: DeviceTableQuery,
        answerHeaders: pageHeaders,
        response: answers(DeviceTable),
      },
    },
    async ({ viewer, query }, reply) => {
      const { q, model, appId, sort = 'deviceId', after, limit } = query;
      const connected = flag(query.connected);
      const among =
        connected === undefined
          ? undefined
          : { ids: [...(await whenKnown(sessions.findConnected()))], isIn: connected };
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
        JSON.stringify({ devices: await addSessions(sessions, page), total }),
        last && { path, parameters: { ...parameters, after: last.deviceId } },
      );
    },
  );
}

function addDetail(http: Http, db: Database, sessions: DeviceSessions): void {
  http.get(
    `${path}/:id`,
    {
      schema: {
        operationId: 'getDeviceDetail',
        tags: ['vehicles and devices'],
        summary: 'A device with its connection, links in time and last uploads',
        description: 'OVERLOADED while the sessions of devices cannot be read.',
        params: Type.Object({ id: DeviceId }),
        response: answers(DeviceDetail, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ viewer, params: { id } }) => {
      const { devices } = await readDevices(db, {
        ...{ viewer, among: { ids: [id], isIn: true }, limit: 1 },
        sort: { column: 'deviceId', isDescending: false },
      });
      const [device] = await addSessions(sessions, devices);
      if (device === undefined) throw new Failure('UNKNOWN_DEVICE');
      const links = await readLinks(db, viewer, id);
      const [newest] = links;
      return { ...device, links, uploads: newest === undefined ? [] : await readUploads(db, id, newest) };
    },
  );
}

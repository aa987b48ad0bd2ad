import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendPage } from '@odograph/http/paging';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, isTrue, pageHeaders } from '@odograph/http/schemas';
import { readDevices } from './queries.ts';
import { DeviceTable, DeviceTableQuery, type SortColumn } from './schemas.ts';

const path = '/v1/x/devices';

/**
 * Finds the devices with a live MQTT session, of these or of all.
 * @throws when Redis is unavailable
 */
export type FindConnected = (ids?: readonly string[]) => Promise<ReadonlySet<string>>;

const flag = (value: Parameters<typeof isTrue>[0] | undefined) => (value === undefined ? undefined : isTrue(value));

/** An addition to the interface: the table of all devices that a person sees. */
export function deviceTableRoutes(db: Database, findConnected: FindConnected): RoutePlugin {
  const find: FindConnected = (ids) =>
    findConnected(ids).catch((error: unknown) => {
      throw new Failure(
        'OVERLOADED',
        'the sessions of devices are not known now',
        { retryAfterSeconds: 5 },
        { cause: error },
      );
    });
  return (http) => {
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
        const { devices, total } = await readDevices(db, {
          ...{ viewer, search: q?.trim().toLowerCase() || undefined, model, appId, after, limit: limit + 1 },
          ...{ isLinked: flag(query.linked), isQuarantined: flag(query.quarantined) },
          among: connected === undefined ? undefined : { ids: [...(await find())], isIn: connected },
          sort: { column: sort.replace('-', '') as SortColumn, isDescending: sort.startsWith('-') },
        });
        const page = devices.slice(0, limit);
        const live = await find(page.map(({ deviceId }) => deviceId));
        const last = devices.length > limit ? page.at(-1) : undefined;
        const parameters = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
        return sendPage(
          reply,
          JSON.stringify({
            devices: page.map((device) => ({ ...device, connected: live.has(device.deviceId) })),
            total,
          }),
          last && { path, parameters: { ...parameters, after: last.deviceId } },
        );
      },
    );
  };
}

import { randomUUID } from 'node:crypto';
import type { GbfsSettings } from '@odograph/contracts/gbfs';
import { hashSecret } from '@odograph/runtime/secrets';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createDevice, createUser } from '@odograph/testkit/fixtures';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { createOwner, missingNames } from './owner.fixture.ts';
import type { Route } from './route-table.fixture.ts';

/** Names of one resource of each kind that routes for operators name. */
export interface OperatedNames {
  readonly application: string;
  readonly user: string;
  readonly vehicle: string;
  readonly device: string;
  readonly request: string;
  readonly upload: string;
  readonly source: string;
  readonly apiKey: string;
  readonly notification: string;
  readonly driver: string;
  readonly plate: string;
  readonly share: string;
  readonly group: string;
  readonly schedule: string;
}

export interface Operated {
  readonly applicationId: number;
  readonly names: OperatedNames;
}

/** Creates an application with one resource of each kind that operators handle. */
export async function createOperated({ db, httpUrl }: TestPlatform): Promise<Operated> {
  const { application, vehicle, names } = await createOwner({ db, httpUrl });
  const user = await createUser(db, application, { vehicleIds: [vehicle.id] });
  const request = await db
    .insertInto('vehicle_request')
    .values({
      application_id: application.id,
      user_id: user.id,
      plate: randomUUID().slice(0, 13),
      request: 'a vehicle',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { rows } = await sql<{ id: string }>`insert into quarantine
      (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
    values (${vehicle.deviceId}, now(), '\\x01', 1, ${hashSecret(randomUUID())}, '[]') returning id::text`.execute(db);
  const source = await db
    .insertInto('source')
    .values({ application_id: application.id, format: 'traccar', secret_sha256: hashSecret(randomUUID()) })
    .returning('id')
    .executeTakeFirstOrThrow();
  const settings = JSON.stringify(gbfsSettings(application.appId));
  await db
    .insertInto('gbfs_system')
    .values({ application_id: application.id, system_id: application.appId, settings, id_key: hashSecret(settings) })
    .execute();
  const { driver, plate, share, group } = names;
  // The walk deletes this grant.
  const grant = { application_id: application.id, user_id: user.id, group_id: group, role: 'viewer' as const };
  await db.insertInto('group_grant').values(grant).execute();
  return {
    applicationId: application.id,
    names: {
      ...{ application: application.appId, user: user.id, vehicle: vehicle.id, device: vehicle.deviceId },
      ...{ request: request.id, upload: rows[0]?.id ?? '', source: source.id },
      apiKey: names['api key'],
      notification: names.notification,
      schedule: names['report schedule'],
      ...{ driver, plate, share, group },
    },
  };
}

/** Well-formed names of resources that do not exist. */
export function missingOperated(): OperatedNames {
  const { vehicle, device, driver, plate, share, group } = missingNames();
  const application = `app-${randomUUID()}`;
  return {
    application,
    user: randomUUID(),
    vehicle,
    device,
    request: randomUUID(),
    upload: '900000000',
    source: randomUUID(),
    apiKey: randomUUID(),
    notification: randomUUID(),
    driver,
    plate,
    share,
    group,
    schedule: randomUUID(),
  };
}

/** Creates a device that belongs to no application. @returns its id */
export async function createUnownedDevice({ db }: TestPlatform): Promise<string> {
  return (await createDevice(db)).deviceId;
}

const fileSha256 = 'a'.repeat(64);
const bicycle = { vehicle_type_id: 'bicycle', form_factor: 'bicycle', propulsion_type: 'human' } as const;
const gbfsSettings = (systemId: string): GbfsSettings => ({
  publicUrl: 'https://telematics.example',
  system: {
    ...{ system_id: systemId, languages: ['en'], name: [{ text: 'A walk', language: 'en' }], opening_hours: '24/7' },
    ...{ feed_contact_email: 'data@share.example', timezone: 'UTC' },
  },
  ...{ vehicleTypes: [bicycle], stations: 'none' },
});
const model = { actions: [], proprietaryCan: false, bluetooth: false, encryptedCommands: [] };

const telegram = { botToken: `1:${'x'.repeat(30)}`, chatId: '1' };

const schedule = { kind: 'trips', format: 'pdf', every: 'month', recipients: ['office@example.com'] };

/** The body or query of each route that has one. */
const parameters: Readonly<Record<string, (names: OperatedNames) => Record<string, unknown>>> = {
  'POST applications': () => ({ name: 'created by a walk' }),
  'PUT applications/{appId}': () => ({ view: 'fleet' }),
  'GET users': ({ application }) => ({ appId: application }),
  'POST users': ({ application }) => ({ appId: application, username: randomUUID(), password: 'correct horse' }),
  'POST users/{userId}/password': () => ({ password: 'correct horse' }),
  'POST users/{userId}/vehicles': ({ vehicle }) => ({ vehicleId: vehicle }),
  'POST users/{userId}/groups': ({ group }) => ({ groupId: group, role: 'viewer' }),
  'POST operators': () => ({ name: randomUUID(), role: 'viewer' }),
  'PUT operators/{name}': () => ({ role: 'viewer' }),
  'GET vehicles': ({ application }) => ({ appId: application }),
  'POST vehicles': ({ application }) => ({ appId: application, plate: randomUUID().slice(0, 13) }),
  'PUT vehicles/{id}': () => ({ tankLitres: 7 }),
  'GET devices': ({ application }) => ({ appId: application }),
  'POST devices': ({ application }) => ({ appId: application, id: `walk-${randomUUID()}`, model: 'generic' }),
  'POST device-imports': ({ application }) => ({
    csv: `id,model,appId\nwalk-${randomUUID()},generic,${application}`,
  }),
  'POST vehicle-imports': ({ application }) => ({ appId: application, csv: `plate\n${randomUUID().slice(0, 13)}` }),
  'GET api-keys': ({ application }) => ({ appId: application }),
  'POST api-keys': ({ application }) => ({ appId: application, name: randomUUID(), scopes: ['read'] }),
  'GET groups': ({ application }) => ({ appId: application }),
  'POST groups': ({ application }) => ({ appId: application, name: randomUUID() }),
  'PUT groups/{id}/vehicles': ({ vehicle }) => ({ vehicleIds: [vehicle] }),
  'GET notifications': ({ application }) => ({ appId: application }),
  'POST notifications': ({ application }) => ({ appId: application, events: ['*'], telegram }),
  'GET report-schedules': ({ application }) => ({ appId: application }),
  'POST report-schedules': ({ application }) => ({ ...schedule, appId: application }),
  'GET sources': ({ application }) => ({ appId: application }),
  'POST sources': ({ application }) => ({ appId: application, format: 'flespi' }),
  'POST devices/{id}/link': ({ vehicle }) => ({ vehicleId: vehicle }),
  'PUT devices/{id}/link': ({ vehicle }) => ({ vehicleId: vehicle }),
  'PUT device-models/{name}': () => ({ ...model, digitalOutputs: {}, scenarii: {} }),
  'PUT can-databases/{name}': () => ({ shipped: 'obd2' }),
  'POST can-redecodings': () => ({ model: `walk-${randomUUID()}` }),
  'PUT gbfs/{appId}': ({ application }) => gbfsSettings(application),
  'POST shares': ({ vehicle }) => ({ vehicleId: vehicle, until: Math.floor(Date.now() / 1000) + 60 }),
  'GET requests': ({ application }) => ({ appId: application }),
  'POST requests/{id}/decline': () => ({ reason: 'a walk' }),
  'POST quarantine/replay': ({ upload }) => ({ ids: [upload] }),
  'POST quarantine/dismiss': ({ upload }) => ({ ids: [upload], reason: 'a walk' }),
  'POST registrations': ({ application }) => ({ appId: application, fileSha256, position: 0, rows: [], last: true }),
  'GET registrations/{plate_or_vin}': ({ application }) => ({ appId: application }),
  'DELETE registrations/{plate_or_vin}': ({ application }) => ({ appId: application }),
  'GET registration-imports/{file_sha256}': ({ application }) => ({ appId: application }),
  'DELETE registration-imports/{file_sha256}': ({ application }) => ({ appId: application }),
  'GET audit': ({ application }) => ({ appId: application }),
};

const prefix = '/v1/x/admin/';

/** The method and the path of a route below /v1/x/admin. */
export const nameOf = ({ method, path }: Route): string => `${method} ${path.slice(prefix.length)}`;

/** The value of the parameter `id`, by the first segment of the path. */
const ids = {
  vehicles: 'vehicle',
  devices: 'device',
  requests: 'request',
  quarantine: 'upload',
  sources: 'source',
  'api-keys': 'apiKey',
  notifications: 'notification',
  persons: 'driver',
  shares: 'share',
  groups: 'group',
  'report-schedules': 'schedule',
  'can-redecodings': 'upload',
} as const;

/** @throws Error for an unknown parameter, so that a new route is added here */
function parameterOf(route: Route, parameter: string, names: OperatedNames): string {
  const values: Readonly<Record<string, string>> = {
    ...{ appId: names.application, userId: names.user, vehicleId: names.vehicle, plate_or_vin: names.plate },
    groupId: names.group,
    ...{ file_sha256: fileSha256, name: 'walk' },
  };
  const kind = Object.entries(ids).find(([collection]) => route.path.startsWith(`${prefix}${collection}/`))?.[1];
  const value = parameter === 'id' && kind !== undefined ? names[kind] : values[parameter];
  if (value === undefined)
    throw new Error(`add to operator-routes.fixture.ts what ${parameter} of ${nameOf(route)} is`);
  return value;
}

/** Calls a route below /v1/x/admin with the resources of these names. */
export async function callOperatorRoute(client: ApiClient, route: Route, names: OperatedNames) {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(parameterOf(route, name, names)),
  );
  const given = parameters[nameOf(route)]?.(names) ?? {};
  const query = new URLSearchParams(
    Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]),
  );
  if (route.method === 'GET') return client.get(`${path}?${query.toString()}`);
  if (route.method === 'POST') return client.post(path, given);
  return route.method === 'PUT' ? client.put(path, given) : client.delete(`${path}?${query.toString()}`, {});
}

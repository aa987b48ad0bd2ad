import { randomUUID } from 'node:crypto';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import {
  createApplication,
  createToken,
  createVehicle,
  type TestApplication,
  type TestVehicle,
  unlinkDevice,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { accessService } from '../service.ts';

let platform: TestPlatform;
let application: TestApplication;
let api: ApiClient;
let driver: string;

beforeAll(async () => {
  platform = await startTestPlatform([accessService], { ACK_TIMEOUT_MS: '300' });
});
afterAll(() => platform?.stop());
beforeEach(async () => {
  application = await createApplication(platform.db);
  api = clientWithToken(platform.httpUrl, application.token);
  driver = `driver ${randomUUID()}/é`;
});

const minute = 60_000;
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * minute).toISOString();
const newVehicle = (options?: { model?: string }) => createVehicle(platform.db, application, options);

async function issue(vehicle: TestVehicle, fromMinutes: number, userId = driver): Promise<string> {
  const period = { from: inMinutes(fromMinutes), until: inMinutes(fromMinutes + 60) };
  const body = { vehicleId: vehicle.id, userId, level: 'DRIVE', ...period };
  return (await api.post('/v1/bluetooth-token', body)).body.authorizationId;
}

/** As time would. */
const expire = async (id: string) =>
  sql`update bluetooth_authorization set valid_from = now() - interval '2 hours',
    valid_until = now() - interval '1 hour' where id = ${id}`.execute(platform.db);

const idsOf = async (path: string, who = api): Promise<string[]> => {
  const { body } = await who.get(path);
  return body.authorizations.map(({ authorizationId }: { authorizationId: string }) => authorizationId);
};
const ofDriver = (category: string) => `/v1/user/${encodeURIComponent(driver)}/authorizations/${category}`;

async function createUser(...vehicles: TestVehicle[]): Promise<ApiClient> {
  const { id } = await platform.db
    .insertInto('user_account')
    .values({ application_id: application.id, username: randomUUID(), password_hash: '-' })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const vehicle of vehicles) {
    await platform.db
      .insertInto('vehicle_grant')
      .values({ user_id: id, vehicle_id: Number(vehicle.id) })
      .execute();
  }
  return clientWithToken(platform.httpUrl, await createToken(platform.db, application.id, id));
}

describe('the lists of authorizations', () => {
  it('hold each authorization in the category of its time, and only three fields of it', async () => {
    const vehicle = await newVehicle();
    const [expired, current, scheduled] = [await issue(vehicle, -1), await issue(vehicle, -1), await issue(vehicle, 5)];
    await expire(expired);
    for (const base of ['/v1/vehicles', `/v1/vehicle/${vehicle.id}`]) {
      expect(await idsOf(`${base}/authorizations/expired`)).toEqual([expired]);
      expect(await idsOf(`${base}/authorizations/current`)).toEqual([current]);
      expect(await idsOf(`${base}/authorizations/scheduled`)).toEqual([scheduled]);
    }
    expect(await idsOf(ofDriver('expired'))).toEqual([expired]);
    expect(await idsOf(ofDriver('scheduled'))).toEqual([scheduled]);
    const { body } = await api.get(`/v1/vehicle/${vehicle.id}/authorizations/current`);
    const { from, until } = (await api.get(`/v1/bluetooth-token/${current}`)).body;
    expect(body).toEqual({ authorizations: [{ authorizationId: current, from, until }] });
  });

  it('leave out what was deleted or replaced', async () => {
    const vehicle = await newVehicle();
    const [deleted, replaced] = [await issue(vehicle, -1), await issue(vehicle, -1)];
    await api.delete('/v1/bluetooth-token', { authorizationId: deleted });
    const { body } = await api.post(`/v1/bluetooth-token/${replaced}`, { until: inMinutes(90) });
    expect(await idsOf('/v1/vehicles/authorizations/current')).toEqual([body.authorizationId]);
  });

  it('show a user the authorizations of granted vehicles alone, and nobody those of another application', async () => {
    const [granted, hidden] = [await newVehicle(), await newVehicle()];
    const [seen] = [await issue(granted, 5), await issue(hidden, 5)];
    const user = await createUser(granted);
    expect(await idsOf('/v1/vehicles/authorizations/scheduled', user)).toEqual([seen]);
    expect(await idsOf(ofDriver('scheduled'), user)).toEqual([seen]);
    const stranger = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
    for (const who of [user, stranger]) {
      const { status, body } = await who.get(`/v1/vehicle/${hidden.id}/authorizations/scheduled`);
      expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    expect(await idsOf('/v1/vehicles/authorizations/scheduled', stranger)).toEqual([]);
    expect(await idsOf(ofDriver('scheduled'), stranger)).toEqual([]);
  });

  it('are paged by offset and limit, 100 unless it is given and 1,000 at most, and tell how to go on', async () => {
    const vehicle = await newVehicle();
    await sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
      select ${Number(vehicle.id)}, ${driver}, 'DRIVE', now() + n * interval '1 minute', now() + interval '1 year'
      from generate_series(1, 1203) n`.execute(platform.db);
    const path = `/v1/vehicle/${vehicle.id}/authorizations/scheduled`;
    expect(await idsOf(path)).toHaveLength(100);
    expect(await idsOf(`${path}?limit=5000`)).toHaveLength(1000);
    expect(await idsOf(`${path}?limit=0`)).toEqual([]);
    const walked: string[] = [];
    for (let next: string | undefined = `${path}?limit=500&offset=100`; next !== undefined; ) {
      const { body, headers } = await api.get(next);
      walked.push(...body.authorizations.map((one: { authorizationId: string }) => one.authorizationId));
      next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      expect(headers.get('x-has-more')).toBe(String(next !== undefined));
    }
    expect(walked).toHaveLength(1103);
    expect(new Set(walked).size).toBe(1103);
    for (const wrong of ['limit=-1', 'limit=x', 'offset=-1', 'offset=1e99', 'limit=1.5']) {
      const { status, body } = await api.get(`${path}?${wrong}`);
      expect([wrong, status, body.error]).toEqual([wrong, 400, 'INVALID_PARAMETER']);
    }
    expect((await api.get(ofDriver('scheduled'))).headers.get('link')).toContain(ofDriver('scheduled'));
  });
});

describe('GET /v1/user/{userid}/vehicles', () => {
  const vehiclesOf = (who = api) => who.get(`/v1/user/${encodeURIComponent(driver)}/vehicles`);

  it('lists the vehicles with what the driver may do or will be allowed to, by the record of the interface', async () => {
    const [vehicle, later, over] = [await newVehicle(), await newVehicle(), await newVehicle()];
    const [first, second, third] = [await issue(vehicle, -1), await issue(vehicle, 5), await issue(later, 5)];
    await expire(await issue(over, -1));
    await issue(over, -1, 'somebody else');
    const { status, body } = await vehiclesOf();
    const { plate } = await platform.db
      .selectFrom('vehicle')
      .select('plate')
      .where('id', '=', Number(vehicle.id))
      .executeTakeFirstOrThrow();
    const { from, until } = (await api.get(`/v1/bluetooth-token/${first}`)).body;
    expect(status).toBe(200);
    expect(body).toHaveLength(2);
    expect(body[0]).toEqual({
      ...{ Id: vehicle.id, Builder: 'Renault', Model: 'Zoe', Plate: plate, Archived: false },
      ...{ deviceId: vehicle.deviceId, deviceModel: 'generic' },
      authorizations: [{ authorizationId: first, from, until }, expect.objectContaining({ authorizationId: second })],
    });
    expect(body[1].authorizations[0].authorizationId).toBe(third);
  });

  it('shows an archived vehicle as archived, one without a device with empty fields, and no foreign one', async () => {
    const [archived, bare] = [await newVehicle(), await newVehicle()];
    await issue(archived, -1);
    await issue(bare, -1);
    await sql`update vehicle set archived_at = now() where id = ${Number(archived.id)}`.execute(platform.db);
    await unlinkDevice(platform.db, bare.deviceId);
    const { body } = await vehiclesOf();
    expect(body.map((one: { Archived: boolean }) => one.Archived)).toEqual([true, false]);
    expect([body[1].deviceId, body[1].deviceModel]).toEqual(['', '']);
    const stranger = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
    expect((await vehiclesOf(stranger)).body).toEqual([]);
    expect((await vehiclesOf(await createUser(bare))).body).toHaveLength(1);
  });
});

describe('DELETE /v1/user/{userid}', () => {
  const deleteDriver = (who = api) => who.delete(`/v1/user/${encodeURIComponent(driver)}`);

  it('revokes everything here at once, and says NOT_ALL_AUTHORIZATIONS_REVOKED as long as a box does not know', async () => {
    const vehicle = await newVehicle();
    const [current, other] = [await issue(vehicle, -1), await issue(vehicle, -1, 'somebody else')];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { status, body } = await deleteDriver();
      expect([status, body.error, body.reason]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED', 'DEVICE_OFFLINE']);
      expect((await api.get(`/v1/bluetooth-token/${current}`)).body.error).toBe('UNKNOWN_AUTHORIZATION');
    }
    expect((await api.get(`/v1/bluetooth-token/${other}`)).status).toBe(200);
    await sql`update device_key set confirmed_version = list_version
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    expect((await deleteDriver()).status).toBe(200);
  });

  it('has nobody to wait for when the driver is unknown, or all is over, or the vehicle has no device', async () => {
    expect((await deleteDriver()).body).toEqual({});
    const [over, bare] = [await newVehicle(), await newVehicle()];
    const expired = await issue(over, -1);
    await expire(expired);
    await issue(bare, -1);
    await unlinkDevice(platform.db, bare.deviceId);
    const { status, body } = await deleteDriver();
    expect([status, body]).toEqual([200, {}]);
    expect(await idsOf(ofDriver('expired'))).toEqual([]);
  });

  it('leaves alone what the caller may not see', async () => {
    const [granted, hidden] = [await newVehicle(), await newVehicle()];
    const [, kept] = [await issue(granted, 5), await issue(hidden, 5)];
    const stranger = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
    expect((await deleteDriver(stranger)).status).toBe(200);
    expect(await idsOf(ofDriver('scheduled'))).toHaveLength(2);
    await deleteDriver(await createUser(granted));
    expect(await idsOf(ofDriver('scheduled'))).toEqual([kept]);
  });
});

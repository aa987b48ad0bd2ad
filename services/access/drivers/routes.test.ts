import { randomUUID } from 'node:crypto';
import {
  createApplication,
  createUser,
  createVehicle,
  fillWithoutTriggers,
  type TestVehicle,
  unlinkDevice,
} from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, inMinutes, useAccess } from '../access.fixture.ts';
import { insertAuthorization, lockAuthorization, markRevoked } from '../authorizations/queries.ts';

const access = await useAccess({ ACK_TIMEOUT_MS: '300' });
const { newVehicle } = access;
let driver: string;
beforeEach(() => {
  driver = `driver ${randomUUID()}/é`;
});

async function issue(vehicle: TestVehicle, fromMinutes: number, userId = driver): Promise<string> {
  const period = { from: inMinutes(fromMinutes), until: inMinutes(fromMinutes + 60) };
  const body = { vehicleId: vehicle.id, userId, level: 'DRIVE', ...period };
  return (await access.api.post('/v1/bluetooth-token', body)).body.authorizationId;
}

/** Moves an authorization into the past. */
const expire = async (id: string) =>
  sql`update bluetooth_authorization set valid_from = now() - interval '2 hours',
    valid_until = now() - interval '1 hour' where id = ${id}`.execute(access.platform.db);

const idsOf = async (path: string, who = access.api): Promise<string[]> => {
  const { body } = await who.get(path);
  return body.authorizations.map(({ authorizationId }: { authorizationId: string }) => authorizationId);
};
const ofDriver = (category: string) => `/v1/user/${encodeURIComponent(driver)}/authorizations/${category}`;

const manager = async (vehicle: TestVehicle) => (await access.createUser('manager', vehicle)).api;

describe('the lists of authorizations', () => {
  it('list each authorization in the category of its interval, with three fields', async () => {
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
    const { body } = await access.api.get(`/v1/vehicle/${vehicle.id}/authorizations/current`);
    const { from, until } = (await access.api.get(`/v1/bluetooth-token/${current}`)).body;
    expect(body).toEqual({ authorizations: [{ authorizationId: current, from, until }] });
  });

  it('show a manager authorizations of granted vehicles only', async () => {
    const [granted, hidden] = [await newVehicle(), await newVehicle()];
    const [seen] = [await issue(granted, 5), await issue(hidden, 5)];
    const user = await manager(granted);
    expect(await idsOf('/v1/vehicles/authorizations/scheduled', user)).toEqual([seen]);
    expect(await idsOf(ofDriver('scheduled'), user)).toEqual([seen]);
    const { status, body } = await user.get(`/v1/vehicle/${hidden.id}/authorizations/scheduled`);
    expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
  });

  it('are whole without a limit, and paged by offset and limit with a link to the next page', async () => {
    const vehicle = await newVehicle();
    await fillWithoutTriggers(
      access.platform.db,
      sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
        select ${Number(vehicle.id)}, ${driver}, 'DRIVE', now() + (n / 7) * interval '10 microseconds' + interval '1 hour',
          now() + interval '1 year'
        from generate_series(1, 2403) n`,
    );
    const path = `/v1/vehicle/${vehicle.id}/authorizations/scheduled`;
    const whole = await idsOf(path);
    expect(new Set(whole).size).toBe(2403);
    expect(await idsOf(`${path}?limit=&offset=`)).toEqual(whole);
    expect(await idsOf(`${path}?limit=5000`)).toEqual(whole);
    expect(await idsOf(`${path}?limit=1500&offset=800`)).toEqual(whole.slice(800, 2300));
    expect(await idsOf(`${path}?limit=0`)).toEqual([]);
    const walked: string[] = [];
    for (let next: string | undefined = `${path}?limit=500&offset=100`; next !== undefined; ) {
      const { body, headers } = await access.api.get(next);
      walked.push(...body.authorizations.map((one: { authorizationId: string }) => one.authorizationId));
      next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      expect(headers.get('x-has-more')).toBe(String(next !== undefined));
    }
    expect(walked).toEqual(whole.slice(100));
    for (const wrong of ['limit=-1', 'limit=x', 'offset=-1', 'offset=1e99', 'limit=1.5']) {
      const { status, body } = await access.api.get(`${path}?${wrong}`);
      expect([wrong, status, body.error]).toEqual([wrong, 400, 'INVALID_PARAMETER']);
    }
    const { headers } = await access.api.get(`${ofDriver('scheduled')}?limit=1`);
    expect(headers.get('link')).toContain(ofDriver('scheduled'));
  });
});

describe('GET /v1/user/{userid}/vehicles', () => {
  const vehiclesOf = (who = access.api) => who.get(`/v1/user/${encodeURIComponent(driver)}/vehicles`);

  it('lists the vehicles of current and scheduled authorizations in the form of the specification', async () => {
    const [vehicle, later, over] = [await newVehicle(), await newVehicle(), await newVehicle()];
    const [first, second, third] = [await issue(vehicle, -1), await issue(vehicle, 5), await issue(later, 5)];
    await expire(await issue(over, -1));
    await issue(over, -1, 'driver-2');
    const { status, body } = await vehiclesOf();
    const { plate } = await access.platform.db
      .selectFrom('vehicle')
      .select('plate')
      .where('id', '=', Number(vehicle.id))
      .executeTakeFirstOrThrow();
    const { from, until } = (await access.api.get(`/v1/bluetooth-token/${first}`)).body;
    expect(status).toBe(200);
    expect(body).toHaveLength(2);
    expect(body[0]).toEqual({
      ...{ Id: vehicle.id, Builder: 'Renault', Model: 'Zoe', Plate: plate, Archived: false },
      ...{ deviceId: vehicle.deviceId, deviceModel: 'generic' },
      authorizations: [{ authorizationId: first, from, until }, expect.objectContaining({ authorizationId: second })],
    });
    expect(body[1].authorizations[0].authorizationId).toBe(third);
  });

  it('shows an archived vehicle as archived, a missing device as empty fields, and no foreign vehicle', async () => {
    const [archived, bare] = [await newVehicle(), await newVehicle()];
    await issue(archived, -1);
    await issue(bare, -1);
    await sql`update vehicle set archived_at = now() where id = ${Number(archived.id)}`.execute(access.platform.db);
    await unlinkDevice(access.platform.db, bare.deviceId);
    const { body } = await vehiclesOf();
    expect(body.map((one: { Archived: boolean }) => one.Archived)).toEqual([true, false]);
    expect([body[1].deviceId, body[1].deviceModel]).toEqual(['', '']);
    expect((await vehiclesOf(access.foreign)).body).toEqual([]);
    expect((await vehiclesOf(await manager(bare))).body).toHaveLength(1);
  });
});

describe('DELETE /v1/user/{userid}', () => {
  const deleteDriver = (who = access.api) => who.delete(`/v1/user/${encodeURIComponent(driver)}`);

  it('revokes at once, and answers NOT_ALL_AUTHORIZATIONS_REVOKED until the device has confirmed', async () => {
    const vehicle = await newVehicle();
    const [current, other] = [await issue(vehicle, -1), await issue(vehicle, -1, 'driver-2')];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { status, body } = await deleteDriver();
      expect([status, body.error, body.reason]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED', 'DEVICE_OFFLINE']);
      expect((await access.api.get(`/v1/bluetooth-token/${current}`)).body.error).toBe('UNKNOWN_AUTHORIZATION');
    }
    expect((await access.api.get(`/v1/bluetooth-token/${other}`)).status).toBe(200);
    await sql`update device_key set confirmed_version = list_version
      where device_id = ${vehicle.deviceId}`.execute(access.platform.db);
    expect((await deleteDriver()).status).toBe(200);
  });

  it('does not wait for devices without Bluetooth, which confirm no revocation', async () => {
    for (const model of ['tracker', 'teltonika']) await issue(await newVehicle({ model }), -1);
    const { status, body } = await deleteDriver();
    expect([status, body]).toEqual([200, {}]);
    expect(await idsOf(ofDriver('scheduled'))).toEqual([]);
  });

  it('does not wait for an unknown driver, expired authorizations or a vehicle without a device', async () => {
    expect((await deleteDriver()).body).toEqual({});
    const [over, bare] = [await newVehicle(), await newVehicle()];
    const expired = await issue(over, -1);
    await expire(expired);
    await issue(bare, -1);
    await unlinkDevice(access.platform.db, bare.deviceId);
    const { status, body } = await deleteDriver();
    expect([status, body]).toEqual([200, {}]);
    expect(await idsOf(ofDriver('expired'))).toEqual([]);
  });

  it('makes no new key list due for expired authorizations', async () => {
    const vehicle = await newVehicle();
    await expire(await issue(vehicle, -1));
    const versions = () =>
      access.platform.db
        .selectFrom('device_key')
        .select('list_version')
        .where('device_id', '=', vehicle.deviceId)
        .execute();
    const before = await versions();
    expect(before).toHaveLength(1);
    expect((await deleteDriver()).status).toBe(200);
    expect(await versions()).toEqual(before);
  });

  it('does not revoke what the caller may not see', async () => {
    const [granted, hidden] = [await newVehicle(), await newVehicle()];
    const [, kept] = [await issue(granted, 5), await issue(hidden, 5)];
    expect((await deleteDriver(access.foreign)).status).toBe(200);
    expect(await idsOf(ofDriver('scheduled'))).toHaveLength(2);
    await deleteDriver(await manager(granted));
    expect(await idsOf(ofDriver('scheduled'))).toEqual([kept]);
  });

  it.each(['scheduled', 'expired'])('also revokes a concurrent replacement of one that is %s', async (category) => {
    const vehicle = await newVehicle();
    const id = await issue(vehicle, 5);
    if (category === 'expired') await expire(id);
    await unlinkDevice(access.platform.db, vehicle.deviceId);
    const { replacementId, pending } = await access.platform.db.transaction().execute(async (trx) => {
      const replaced = await lockAuthorization(trx, { applicationId: access.application.id }, id);
      const replacement = { ...replaced, id: randomUUID(), until: new Date(inMinutes(60)) };
      await insertAuthorization(trx, replacement, null, new Date());
      await markRevoked(trx, id, new Date(), replacement.id);
      const deletion = deleteDriver();
      await waitForLock(trx);
      return { replacementId: replacement.id, pending: deletion };
    });
    expect((await pending).status).toBe(200);
    expectFailure(await access.api.get(`/v1/bluetooth-token/${replacementId}`), 404, 'UNKNOWN_AUTHORIZATION');
  });

  it('revokes what names the same account, by id or username in any case, in this application only', async () => {
    const { db } = access.platform;
    const vehicle = await newVehicle();
    const { id, username } = await access.createUser();
    const other = await createApplication(db);
    const namesake = await createUser(db, other);
    await db.updateTable('user_account').set({ username }).where('id', '=', namesake.id).execute();
    const foreign = access.platform.as(other.token);
    const wish = { level: 'DRIVE', from: inMinutes(5), until: inMinutes(65) };
    const { id: vehicleId } = await createVehicle(db, other);
    for (const userId of [username, id]) await foreign.post('/v1/bluetooth-token', { ...wish, vehicleId, userId });
    const kept = await issue(vehicle, 5, `${username}-2`);

    const names = [id, id.toUpperCase(), username, username.toUpperCase()];
    for (const [who, name] of [
      [access.api, id.toUpperCase()],
      [access.api, username],
      [await manager(vehicle), username.toUpperCase()],
    ] as const) {
      for (const each of names) await issue(vehicle, 5, each);
      driver = name;
      await deleteDriver(who);
      expect(await idsOf(`/v1/vehicle/${vehicle.id}/authorizations/scheduled`)).toEqual([kept]);
    }
    expect(await idsOf('/v1/vehicles/authorizations/scheduled', foreign)).toHaveLength(2);
  });

  it('revokes authorizations that name a deleted account in any case, but none of a newer namesake', async () => {
    const { db } = access.platform;
    const vehicle = await newVehicle();
    const { id, username } = await access.createUser();
    await db.updateTable('user_account').set({ deleted_at: new Date() }).where('id', '=', id).execute();
    const path = `/v1/vehicle/${vehicle.id}/authorizations/scheduled`;
    for (const each of [id.toUpperCase(), username.toUpperCase()]) await issue(vehicle, 5, each);
    driver = username;
    await deleteDriver();
    expect(await idsOf(path)).toEqual([]);

    const namesake = await access.createUser();
    await db.updateTable('user_account').set({ username }).where('id', '=', namesake.id).execute();
    const kept = [await issue(vehicle, 5, namesake.id), await issue(vehicle, 5, username)];
    driver = id;
    await deleteDriver();
    expect(new Set(await idsOf(path))).toEqual(new Set(kept));
  });

  it('distinguishes upper and lower case in the names of drivers without an account', async () => {
    const vehicle = await newVehicle();
    const [, kept] = [await issue(vehicle, 5), await issue(vehicle, 5, driver.toUpperCase())];
    await deleteDriver();
    expect(await idsOf(`/v1/vehicle/${vehicle.id}/authorizations/scheduled`)).toEqual([kept]);
  });
});

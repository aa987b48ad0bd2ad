import { randomUUID } from 'node:crypto';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import {
  createApplication,
  createDevice,
  createToken,
  createVehicle,
  type TestApplication,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetService } from '../service.ts';
import { applyStep, byOrder, type ModelPeriod, type Step } from './link-model.fixture.ts';

let platform: TestPlatform;
let application: TestApplication;
let api: ApiClient;

beforeAll(async () => {
  platform = await startTestPlatform([fleetService]);
  application = await createApplication(platform.db);
  api = clientWithToken(platform.httpUrl, application.token);
});
afterAll(() => platform?.stop());

async function emptyVehicle(applicationId = application.id): Promise<string> {
  const { id } = await platform.db
    .insertInto('vehicle')
    .values({ application_id: applicationId, plate: randomUUID() })
    .returning('id')
    .executeTakeFirstOrThrow();
  return String(id);
}

const newDevice = async (applicationId: number | null = application.id) =>
  (await createDevice(platform.db, { applicationId })).deviceId;

interface Period {
  deviceId: string;
  vehicleId: string;
  from: string | null;
  until: string | null;
}

/** The links of these devices and vehicles in the order of their beginnings, with microseconds. */
async function periodsOf(ids: readonly string[]): Promise<Period[]> {
  const { rows } = await sql<Period>`
    select device_id as "deviceId", vehicle_id::text as "vehicleId", lower(period)::text as "from",
      upper(period)::text as until
    from device_link where device_id = any(${ids}::text[]) or vehicle_id::text = any(${ids}::text[])
    order by lower(period) nulls first`.execute(platform.db);
  return rows;
}

describe('/v1/device', () => {
  it('links a new device to a new vehicle without bound: it may have recorded before the operator entered it', async () => {
    const [vehicleId, deviceId] = [await emptyVehicle(), await newDevice(null)];
    const { status, body } = await api.post('/v1/device', { vehicleId, deviceId });
    expect([status, body]).toEqual([200, {}]);
    expect(await periodsOf([deviceId])).toEqual([{ deviceId, vehicleId, from: null, until: null }]);
    const device = await platform.db.selectFrom('device').selectAll().where('id', '=', deviceId).executeTakeFirst();
    expect(device?.application_id).toBe(application.id);
  });

  it('replaces a device so that the periods of the vehicle are adjacent', async () => {
    const [vehicleId, old, fresh] = [await emptyVehicle(), await newDevice(), await newDevice()];
    await api.post('/v1/device', { vehicleId, deviceId: old });
    expect((await api.delete('/v1/device', { deviceId: old })).status).toBe(200);
    expect((await api.post('/v1/device', { vehicleId, deviceId: fresh })).status).toBe(200);
    const [first, second] = await periodsOf([vehicleId]);
    expect([first?.deviceId, first?.from, second?.deviceId, second?.until]).toEqual([old, null, fresh, null]);
    expect(first?.until).not.toBeNull();
    expect(second?.from).toBe(first?.until);
  });

  it('moves a device to another vehicle at one moment', async () => {
    const [from, to, deviceId] = [await emptyVehicle(), await emptyVehicle(), await newDevice()];
    await api.post('/v1/device', { vehicleId: from, deviceId });
    const before = Date.now();
    expect((await api.put('/v1/device', { vehicleId: to, deviceId })).status).toBe(200);
    const [first, second] = await periodsOf([deviceId]);
    expect([first?.vehicleId, second?.vehicleId, second?.from]).toEqual([from, to, first?.until]);
    expect(Math.abs(Date.parse(first?.until ?? '') - before)).toBeLessThan(10_000);
    expect((await api.put('/v1/device', { vehicleId: to, deviceId })).status).toBe(200);
    expect(await periodsOf([deviceId])).toEqual([first, second]);
  });

  it('answers DEVICE_ALREADY_LINKED and VEHICLE_ALREADY_LINKED, and changes nothing', async () => {
    const linked = await createVehicle(platform.db, application);
    const [vehicleId, deviceId] = [await emptyVehicle(), await newDevice()];
    const before = await periodsOf([linked.id, vehicleId]);
    for (const answer of [
      await api.post('/v1/device', { vehicleId, deviceId: linked.deviceId }),
      await api.post('/v1/device', { vehicleId: linked.id, deviceId: linked.deviceId }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'DEVICE_ALREADY_LINKED']);
    }
    for (const answer of [
      await api.post('/v1/device', { vehicleId: linked.id, deviceId }),
      await api.put('/v1/device', { vehicleId: linked.id, deviceId }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'VEHICLE_ALREADY_LINKED']);
    }
    expect(await periodsOf([linked.id, vehicleId])).toEqual(before);
  });

  it("answers for another application's device or vehicle as if it did not exist, linked or not", async () => {
    const other = await createApplication(platform.db);
    const theirs = await createVehicle(platform.db, other);
    const [vehicleId, deviceId] = [await emptyVehicle(), await newDevice()];
    const unknownDevices = [theirs.deviceId, await newDevice(other.id), 'none'];
    for (const unknown of unknownDevices) {
      const body = { vehicleId, deviceId: unknown };
      for (const answer of [
        await api.post('/v1/device', body),
        await api.put('/v1/device', body),
        await api.delete('/v1/device', body),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'UNKNOWN_DEVICE', message: 'no such device' }]);
      }
    }
    for (const unknown of [theirs.id, await emptyVehicle(other.id), '1', '1999999999', 'none']) {
      for (const answer of [
        await api.post('/v1/device', { vehicleId: unknown, deviceId }),
        await api.put('/v1/device', { vehicleId: unknown, deviceId }),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'UNKNOWN_VEHICLE', message: 'no such vehicle' }]);
      }
    }
    expect((await api.delete('/v1/device', { deviceId: await newDevice(null) })).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('shows a user neither vehicles it is not granted nor the devices in them', async () => {
    const user = await platform.db
      .insertInto('user_account')
      .values({ application_id: application.id, username: randomUUID(), password_hash: '-' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const asUser = clientWithToken(platform.httpUrl, await createToken(platform.db, application.id, user.id));
    const hidden = await createVehicle(platform.db, application);
    const [vehicleId, deviceId] = [await emptyVehicle(), await newDevice()];
    expect((await asUser.delete('/v1/device', { deviceId: hidden.deviceId })).body.error).toBe('UNKNOWN_DEVICE');
    expect((await asUser.post('/v1/device', { vehicleId, deviceId })).body.error).toBe('UNKNOWN_VEHICLE');
    await platform.db
      .insertInto('vehicle_grant')
      .values([Number(vehicleId), Number(hidden.id)].map((id) => ({ user_id: user.id, vehicle_id: id })))
      .execute();
    expect((await asUser.delete('/v1/device', { deviceId: hidden.deviceId })).status).toBe(200);
    expect((await asUser.post('/v1/device', { vehicleId, deviceId })).status).toBe(200);
  });

  it('answers VEHICLE_NOT_AVAILABLE for an archived vehicle, whose device can still be taken out', async () => {
    const archived = await createVehicle(platform.db, application);
    const deviceId = await newDevice();
    await platform.db
      .updateTable('vehicle')
      .set({ archived_at: new Date() })
      .where('id', '=', Number(archived.id))
      .execute();
    for (const answer of [
      await api.post('/v1/device', { vehicleId: archived.id, deviceId }),
      await api.put('/v1/device', { vehicleId: archived.id, deviceId }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    }
    expect((await api.delete('/v1/device', { deviceId: archived.deviceId })).status).toBe(200);
  });

  it.each([
    ['post', 'vehicleId', { deviceId: 'x' }],
    ['post', 'deviceId', { vehicleId: 'x' }],
    ['put', 'deviceId', { vehicleId: 'x', deviceId: 'a\0b' }],
    ['delete', 'deviceId', {}],
  ] as const)('on %s names %s when it is missing or malformed', async (method, field, parameters) => {
    const { status, body } = await api[method]('/v1/device', parameters);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('lets one of many links of a vehicle at the same moment pass', async () => {
    const vehicleId = await emptyVehicle();
    const devices = await Promise.all([1, 2, 3, 4, 5].map(() => newDevice()));
    const answers = await Promise.all(devices.map((deviceId) => api.post('/v1/device', { vehicleId, deviceId })));
    const errors = answers.map(({ body }) => body.error).filter((error) => error !== undefined);
    expect(errors).toEqual([
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
    ]);
    expect(await periodsOf([vehicleId])).toHaveLength(1);
  });

  const anyStep: fc.Arbitrary<Step> = fc.record({
    verb: fc.constantFrom('post', 'put', 'delete'),
    device: fc.nat({ max: 2 }),
    vehicle: fc.nat({ max: 2 }),
  });

  it('keeps every period as a simple model has it, whatever is linked, moved and unlinked in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 14 }), async (steps) => {
        const devices = await Promise.all([0, 1, 2].map(() => newDevice()));
        const vehicles = await Promise.all([0, 1, 2].map(() => emptyVehicle()));
        const history: ModelPeriod[] = [];
        for (const [moment, step] of steps.entries()) {
          const body = { deviceId: devices[step.device], vehicleId: vehicles[step.vehicle] };
          expect((await api[step.verb]('/v1/device', body)).body.error).toBe(applyStep(history, step, moment));
        }
        const stored = (await periodsOf(devices)).map((period) => ({
          ...period,
          who: `${devices.indexOf(period.deviceId)} in ${vehicles.indexOf(period.vehicleId)}`,
        }));
        const modelled = history.map((period) => ({ ...period, who: `${period.device} in ${period.vehicle}` }));
        expect(byOrder(stored)).toEqual(byOrder(modelled));
      }),
      { numRuns: 25 },
    );
  }, 60_000);

  it('waits for readings that are being placed, and changes the link only after them', async () => {
    const [from, to, deviceId] = [await emptyVehicle(), await emptyVehicle(), await newDevice()];
    await api.post('/v1/device', { vehicleId: from, deviceId });
    const { moving, placedAt } = await platform.db.transaction().execute(async (writer) => {
      await shareIngestBarrier(writer);
      const answer = api.put('/v1/device', { vehicleId: to, deviceId });
      await waitForLock(writer);
      const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(writer);
      return { moving: { answer }, placedAt: rows[0]?.now ?? '' };
    });
    expect((await moving.answer).status).toBe(200);
    const { rows } = await sql<{ later: boolean }>`select lower(period) > ${placedAt}::timestamptz as later
      from device_link where device_id = ${deviceId} and upper_inf(period)`.execute(platform.db);
    expect(rows).toEqual([{ later: true }]);
  });

  it('keeps changes in order when the clock is set back', async () => {
    const [from, to, deviceId] = [await emptyVehicle(), await emptyVehicle(), await newDevice()];
    await api.post('/v1/device', { vehicleId: from, deviceId });
    await api.delete('/v1/device', { deviceId });
    await sql`update device_link set period = tstzrange(null, now() + interval '1 hour') where device_id = ${deviceId}`.execute(
      platform.db,
    );
    expect((await api.post('/v1/device', { vehicleId: to, deviceId })).status).toBe(200);
    const [first, second] = await periodsOf([deviceId]);
    expect(second?.from).toBe(first?.until);
    expect((await api.delete('/v1/device', { deviceId })).status).toBe(200);
    expect(await periodsOf([deviceId])).toEqual([first]);
  });
});

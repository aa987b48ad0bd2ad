import { randomUUID } from 'node:crypto';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import {
  archiveVehicle,
  createApplication,
  createDevice,
  createUnlinkedVehicle,
  createVehicle,
} from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { applyStep, type ModelLink, rankTimes, type Step } from './link-model.fixture.ts';

const { platform, application, api, admin, as } = await startFleet();

const newVehicle = (owner = application) => createUnlinkedVehicle(platform.db, owner);
const newDevice = async (applicationId: number | null = application.id) =>
  (await createDevice(platform.db, { applicationId })).deviceId;

interface LinkInterval {
  deviceId: string;
  vehicleId: string;
  from: string | null;
  until: string | null;
}

/** The links of devices and vehicles by start, with microseconds. */
async function linksOf(ids: readonly string[]): Promise<LinkInterval[]> {
  const { rows } = await sql<LinkInterval>`
    select device_id as "deviceId", vehicle_id::text as "vehicleId", lower(period)::text as "from",
      upper(period)::text as until
    from device_link where device_id = any(${ids}::text[]) or vehicle_id::text = any(${ids}::text[])
    order by lower(period) nulls first`.execute(platform.db);
  return rows;
}

describe('/v1/device', () => {
  it('links a new device to a new vehicle over all time, since it may have recorded before it was registered', async () => {
    const [vehicleId, deviceId] = [await newVehicle(), await newDevice()];
    const { status, body } = await api.post('/v1/device', { vehicleId, deviceId });
    expect([status, body]).toEqual([200, {}]);
    expect(await linksOf([deviceId])).toEqual([{ deviceId, vehicleId, from: null, until: null }]);
  });

  it('gives a device without an owner only to an application with its claim code', async () => {
    const other = await createApplication(platform.db);
    const otherApi = as(other.token);
    const [vehicleId, otherVehicleId] = [await newVehicle(), await newVehicle(other)];
    const { body: device } = await admin.post('/v1/x/admin/devices', { id: `test-${randomUUID()}`, model: 'generic' });
    const { deviceId, claimCode } = device;
    expect(claimCode).toMatch(/^[A-HJKMNP-TV-Z2-9]{4}(-[A-HJKMNP-TV-Z2-9]{4}){3}$/);
    for (const presented of [undefined, '', 'AAAA-AAAA-AAAA-AAAA', `${claimCode}A`]) {
      const link = { vehicleId: otherVehicleId, deviceId, claimCode: presented };
      for (const answer of [await otherApi.post('/v1/device', link), await otherApi.put('/v1/device', link)]) {
        expect([answer.status, answer.body.error]).toEqual([400, 'INVALID_CLAIM_CODE']);
      }
    }
    const typed = claimCode.toLowerCase().replaceAll('-', ' ');
    expect((await api.post('/v1/device', { vehicleId, deviceId, claimCode: typed })).status).toBe(200);
    const stolen = await otherApi.put('/v1/device', { vehicleId: otherVehicleId, deviceId, claimCode });
    expect(stolen.body.error).toBe('UNKNOWN_DEVICE');
  });

  it('answers VEHICLE_ARCHIVED for links to an archived vehicle, and still unlinks its device', async () => {
    const archived = await createVehicle(platform.db, application);
    const deviceId = await newDevice();
    await archiveVehicle(platform.db, archived.id);
    for (const answer of [
      await api.post('/v1/device', { vehicleId: archived.id, deviceId }),
      await api.put('/v1/device', { vehicleId: archived.id, deviceId }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'VEHICLE_ARCHIVED']);
    }
    expect((await api.delete('/v1/device', { deviceId: archived.deviceId })).status).toBe(200);
  });

  it.each([
    ['post', 'vehicleId', { deviceId: 'x' }],
    ['post', 'deviceId', { vehicleId: 'x' }],
    ['put', 'deviceId', { vehicleId: 'x', deviceId: 'a\0b' }],
    ['delete', 'deviceId', {}],
  ] as const)('on %s names %s if it is missing or malformed', async (method, field, parameters) => {
    const { status, body } = await api[method]('/v1/device', parameters);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('admits one of several concurrent links of a vehicle', async () => {
    const vehicleId = await newVehicle();
    const devices = await Promise.all([1, 2, 3, 4, 5].map(() => newDevice()));
    const answers = await Promise.all(devices.map((deviceId) => api.post('/v1/device', { vehicleId, deviceId })));
    const errors = answers.map(({ body }) => body.error).filter((error) => error !== undefined);
    expect(errors).toEqual([
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
      'VEHICLE_ALREADY_LINKED',
    ]);
    expect(await linksOf([vehicleId])).toHaveLength(1);
  });

  const anyStep: fc.Arbitrary<Step> = fc.record({
    verb: fc.constantFrom('post', 'put', 'delete'),
    device: fc.nat({ max: 2 }),
    vehicle: fc.nat({ max: 2 }),
  });

  it('keeps the links of a simple model for any sequence of links, moves and unlinks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 14 }), async (steps) => {
        const devices = await Promise.all([0, 1, 2].map(() => newDevice()));
        const vehicles = await Promise.all([0, 1, 2].map(() => newVehicle()));
        const history: ModelLink[] = [];
        for (const [time, step] of steps.entries()) {
          const body = { deviceId: devices[step.device], vehicleId: vehicles[step.vehicle] };
          expect((await api[step.verb]('/v1/device', body)).body.error).toBe(applyStep(history, step, time));
        }
        const stored = (await linksOf(devices)).map((link) => ({
          ...link,
          link: `${devices.indexOf(link.deviceId)} in ${vehicles.indexOf(link.vehicleId)}`,
        }));
        const modelled = history.map((link) => ({ ...link, link: `${link.device} in ${link.vehicle}` }));
        expect(rankTimes(stored)).toEqual(rankTimes(modelled));
      }),
      { numRuns: 25 },
    );
  }, 60_000);

  it('waits for ingest in flight, and changes the link after it', async () => {
    const [from, to, deviceId] = [await newVehicle(), await newVehicle(), await newDevice()];
    await api.post('/v1/device', { vehicleId: from, deviceId });
    const { moving, storedAt } = await platform.db.transaction().execute(async (writer) => {
      await shareIngestBarrier(writer);
      const answer = api.put('/v1/device', { vehicleId: to, deviceId });
      await waitForLock(writer);
      const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(writer);
      return { moving: { answer }, storedAt: rows[0]?.now ?? '' };
    });
    expect((await moving.answer).status).toBe(200);
    const { rows } = await sql<{ later: boolean }>`select lower(period) > ${storedAt}::timestamptz as later
      from device_link where device_id = ${deviceId} and upper_inf(period)`.execute(platform.db);
    expect(rows).toEqual([{ later: true }]);
  });

  it('links a device to its own vehicle again without a deadlock while its first device key is created', async () => {
    const { id, deviceId } = await createVehicle(platform.db, application);
    const { moving } = await platform.db.transaction().execute(async (issue) => {
      await sql`select from vehicle where id = ${Number(id)} for no key update`.execute(issue);
      const answer = api.put('/v1/device', { vehicleId: id, deviceId });
      await waitForLock(issue);
      await sql`select from device where id = ${deviceId} for no key update`.execute(issue);
      return { moving: { answer } };
    });
    expect((await moving.answer).status).toBe(200);
  });

  it('keeps the order of changes if the clock is set back', async () => {
    const [from, to, deviceId] = [await newVehicle(), await newVehicle(), await newDevice()];
    await api.post('/v1/device', { vehicleId: from, deviceId });
    await api.delete('/v1/device', { deviceId });
    await sql`update device_link set period = tstzrange(null, now() + interval '1 hour')
      where device_id = ${deviceId}`.execute(platform.db);
    expect((await api.post('/v1/device', { vehicleId: to, deviceId })).status).toBe(200);
    const [first, second] = await linksOf([deviceId]);
    expect(second?.from).toBe(first?.until);
    expect((await api.delete('/v1/device', { deviceId })).status).toBe(200);
    expect(await linksOf([deviceId])).toEqual([first]);
  });
});

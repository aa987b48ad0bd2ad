import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import {
  createApplication,
  createToken,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import Value from 'typebox/value';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createUser, storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { queryService } from '../service.ts';
import { FleetStatus, PositionAnswer } from './fleet-status.ts';

let platform: TestPlatform;
let application: TestApplication;
let client: ApiClient;
let vehicle: TestVehicle;
const time = '2025-11-21T08:00:00.25Z';
const location = { latitude: 48.8566, longitude: 2.3522, angle: 90, speed: 52 };

beforeAll(async () => {
  platform = await startTestPlatform([queryService]);
});
afterAll(() => platform.stop());
beforeEach(async () => {
  application = await createApplication(platform.db);
  client = clientWithToken(platform.httpUrl, application.token);
  vehicle = await createVehicle(platform.db, application);
});

const byId = () => `/v1/vehicle/status?vehicleId=${vehicle.id}`;
const combinedPath = () => `/v1/vehicle/${vehicle.id}/status`;
async function refusal(path: string, by = client): Promise<unknown[]> {
  const { status, body } = await by.get(path);
  return [status, body.error, ...(body.field === undefined ? [] : [body.field])];
}
async function read(): Promise<FleetStatus> {
  const { body } = await client.get(byId());
  Value.Assert(FleetStatus, body);
  return body;
}
async function plateOf({ id }: TestVehicle): Promise<string> {
  const row = await platform.db.selectFrom('vehicle').select('plate').where('id', '=', Number(id)).executeTakeFirst();
  return row?.plate ?? '';
}
describe('a position', () => {
  const paths = () => [`/v1/vehicle/position?vehicleId=${vehicle.id}`, `/v1/vehicle/${vehicle.id}/position`];

  it('is the last known one, by id and by plate', async () => {
    await storeLatest(platform.db, vehicle.id, '2025-11-21T08:00:00.123456Z', { location });
    const byPlate = `/v1/vehicle/position?plate=${await plateOf(vehicle)}`;
    for (const path of [...paths(), byPlate]) {
      const { status, body } = await client.get(path);
      expect([status, Value.Check(PositionAnswer, body)]).toEqual([200, true]);
      expect(body).toEqual({
        Position: { latitude: 48.8566, longitude: 2.3522, timestamp: '2025-11-21T08:00:00.123456Z' },
      });
    }
  });

  it('is POSITION_UNKNOWN if there was none', async () => {
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
    await storeLatest(platform.db, vehicle.id, time, { status: { ignition: true } });
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
  });

  it('is unknown and absent from the status while privacy is on; afterwards the earlier one is shown again', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location, fleet: { lock: 'LOCKED' } });
    const before = await read();
    await turnPrivacyOn(platform.db, vehicle.id);
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
    const { position, ...rest } = before;
    expect(await read()).toEqual({ ...rest, privacy: true });
    const { body } = await client.get(combinedPath());
    expect(body).not.toHaveProperty('position');
    expect(body).not.toHaveProperty('location');
    await sql`update privacy_period set period = tstzrange(lower(period), now())
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(await read()).toEqual(before);
    expect((await client.get(paths()[0] ?? '')).body).toEqual({ Position: position });
  });

  it('is hidden by a privacy interval that starts in the future, set by a clock ahead of this one', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    await turnPrivacyOn(platform.db, vehicle.id, new Date(Date.now() + 60_000).toISOString());
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
  });
});

describe('access', () => {
  const paths = (plate: string) => [
    byId(),
    `/v1/vehicle/status?plate=${plate}`,
    combinedPath(),
    `${combinedPath()}?view=fleet`,
    `/v1/vehicle/position?vehicleId=${vehicle.id}`,
    `/v1/vehicle/position?plate=${plate}`,
    `/v1/vehicle/${vehicle.id}/position`,
  ];

  it('is limited to the application and the grants of the user: other vehicles are UNKNOWN_VEHICLE', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    const other = await createVehicle(platform.db, application);
    const userId = await createUser(platform.db, application.id, [other.id]);
    const plate = await plateOf(vehicle);
    for (const token of [
      (await createApplication(platform.db)).token,
      await createToken(platform.db, application.id, userId),
    ]) {
      const stranger = clientWithToken(platform.httpUrl, token);
      for (const path of paths(plate)) expect(await refusal(path, stranger)).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    for (const path of paths(plate)) expect((await client.get(path)).status).toBe(200);
    await platform.db
      .updateTable('vehicle')
      .set({ deleted_at: new Date() })
      .where('id', '=', Number(vehicle.id))
      .execute();
    for (const path of paths(plate)) expect(await refusal(path)).toEqual([404, 'UNKNOWN_VEHICLE']);
  });
});

import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { storeLatest, turnPrivacyOn } from '../query.fixture.ts';

setUpApplication();

it('covers the positions that the viewer may see, with a margin, except private vehicles and 0,0', async () => {
  expect((await client.get('/v1/x/vehicles/area')).body).toEqual({});
  const park = async (latitude: number, longitude: number, owner = application) => {
    const vehicle = await createVehicle(platform.db, owner);
    await storeLatest(platform.db, vehicle.id, '2025-03-01T08:00:00Z', { location: { latitude, longitude } });
    return vehicle;
  };
  await park(48, 2);
  expect((await client.get('/v1/x/vehicles/area')).body).toEqual({ bbox: '1.8,47.8,2.2,48.2' });
  await park(52, 12);
  await park(0, 0);
  await turnPrivacyOn(platform.db, (await park(-30, 120)).id);
  expect((await client.get('/v1/x/vehicles/area')).body).toEqual({ bbox: '1,47.6,13,52.4' });
  const other = await createApplication(platform.db);
  await park(60, 20, other);
  expect((await clientWithToken(platform.httpUrl, other.token).get('/v1/x/vehicles/area')).body).toEqual({
    bbox: '19.8,59.8,20.2,60.2',
  });
  const admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
  const [west = 0, south = 0, east = 0, north = 0] = (await admin.get('/v1/x/vehicles/area')).body.bbox.split(',');
  expect([Number(west) < 1.9, Number(south) < 47.8, Number(east) > 20, Number(north) > 60]).toEqual(
    Array(4).fill(true),
  );
});

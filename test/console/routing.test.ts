import { createVehicle } from '@odograph/testkit/fixtures';
import { browserPath } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { sendJson, startUpstream } from '../../services/fleet/places/places.fixture.ts';
import { storeLatest } from '../../services/query/query.fixture.ts';
import { findBarriers, findOverflow, watchPage } from './browser.fixture.ts';
import { startConsole } from './console.fixture.ts';

/** A line through Vaduz, and the remaining driving time. */
const route = {
  ...{ distance: 600, duration: 1200 },
  geometry: {
    type: 'LineString',
    coordinates: [
      [9.5214, 47.1401],
      [9.5219, 47.1377],
      [9.5226, 47.1307],
    ],
  },
};

it.skipIf(browserPath === undefined)(
  'a router snaps a trip to roads, drawn with the measured line, and estimates the arrival on the page of a share',
  async () => {
    const { url } = await startUpstream(({ pathname }, response) =>
      sendJson(response, pathname.startsWith('/match') ? { matchings: [route] } : { routes: [route] }),
    );
    const setup = await startConsole({ ROUTER_URL: url, ROUTER_REQUESTS_PER_SECOND: '50' });
    onTestFinished(() => setup.stop());
    const { platform, application, browser } = setup;
    const { id } = await createVehicle(platform.db, application);
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, device_id, received_at)
      select now() - interval '1 hour' + make_interval(secs => 30 * step), ${application.id}, ${Number(id)},
        47.1401 - 0.0005 * step, 9.5214 + 0.0001 * (step % 3), 40, '', now() from generate_series(0, 20) as step`.execute(
      platform.db,
    );
    await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
      values (${Number(id)}, now() - interval '1 hour', now() - interval '50 minutes', now(), true, false, 1.1)`.execute(
      platform.db,
    );
    await storeLatest(platform.db, id, new Date().toISOString(), {
      location: { latitude: 47.1301, longitude: 9.5216 },
    });
    const { page, errors } = await setup.open(`/vehicles/${id}/trips`, await setup.accountOf('viewer'));
    await page.getByRole('button', { name: 'Snap to roads' }).click();
    await page.getByText('Dashed: computed from a road map, not measured').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findOverflow(page)).toEqual([]);
    expect(errors).toEqual([]);

    const until = new Date(Date.now() + 3_600_000).toISOString();
    const place = { latitude: 47, longitude: 9.5, radiusMetres: 100 };
    const { body } = await platform.as(application.token).post('/v1/x/shares', { vehicleId: id, until, place });
    const shared = await watchPage(browser, platform.httpUrl);
    await shared.page.goto(body.url);
    await shared.page.getByText('Estimated arrival').waitFor();
  },
  120_000,
);

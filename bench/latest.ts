import { defineBenchmark } from './parts/benchmark.ts';
import { compareAnswers, openComparers } from './parts/compare-answers.ts';
import type { Pool } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { startServices } from './parts/processes.ts';

const options = {
  vehicles: [10_000, 'vehicles of the application'],
  rounds: [9, 'requests per kind'],
} as const;

/** Stores the latest state of every vehicle, as ingest does after an upload of location, status and electric. */
async function fillLatest(pool: Pool, { vehicles }: BenchFleet): Promise<void> {
  await pool.query(
    `insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, electric, electric_time, received_at)
    select id, now(), jsonb_build_object('latitude', 48.8566 + id % 1000 / 1e4, 'longitude', 2.3522, 'angle', id % 360, 'altitude', 35,
        'speed', id % 90, 'satellites', 9), now(),
      jsonb_build_object('ignition', true, 'movement', true, 'mileage', 12345.6 + id % 1000, 'autonomy', 310), now(),
      jsonb_build_object('soc', id % 100, 'soh', 97, 'current', -12.3, 'voltage', 390.2, 'energy', 41.2), now(), now()
    from unnest($1::integer[]) as id`,
    [vehicles.map(({ vehicleId }) => vehicleId)],
  );
  await pool.query('vacuum analyze vehicle, vehicle_latest');
}

export const benchmark = defineBenchmark(
  'the latest state of 10,000 vehicles over HTTP, compared with plain SQL for the same rows',
  options,
  async (engines, settings) => {
    const fleet = await createFleet(engines.pool, settings.vehicles);
    await fillLatest(engines.pool, fleet);
    const { httpUrl } = await startServices(engines, ['query']);
    const status = {
      title: 'GET /v1/vehicles/status',
      path: '/v1/vehicles/status',
      query: `select row_to_json(latest)::text from (
        select vehicle.id, plate, vin, brand, model, extract(epoch from time) as timestamp, location, status, electric, sensors,
          towing, accident, maintenance, breakdown, stolen, unavailable
        from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
        where application_id = ${fleet.applicationId} and deleted_at is null order by vehicle.id) as latest`,
      goal: 'under 2',
    };
    await compareAnswers(await openComparers(engines, httpUrl, fleet.token), status, settings.rounds);
  },
);

import { createApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { liveState, writeVehicle } from '../live/live-fleet.ts';
import { findVehicles } from '../live/queries.ts';
import type { LiveVehicle } from '../live/schemas.ts';
import { createFleet, turnPrivacyOn } from '../query.fixture.ts';
import { queryService } from '../service.ts';

const platform = await usePlatform([queryService]);

interface LatestState {
  readonly location?: { readonly atMicroseconds: number } | undefined;
  readonly status?: { readonly atMicroseconds: number } | undefined;
  readonly fleet?: { readonly atMicroseconds: number } | undefined;
  readonly silentSeconds: number;
  readonly isPrivate: boolean;
  readonly wasParked: boolean;
}

/** Replaces the latest states and the privacy intervals of vehicles. */
async function storeStates(ids: readonly string[], states: readonly LatestState[]): Promise<void> {
  const rows = states.map((state, index) => ({ ...state, id: Number(ids[index]) }));
  const time = (group: string) =>
    sql`timestamptz '2025-03-01T08:00:00Z' + (one->${sql.lit(group)}->>'atMicroseconds')::integer * interval '1 microsecond'`;
  await sql`delete from vehicle_latest
    where vehicle_id = any(${rows.map(({ id }) => id)}::integer[])`.execute(platform.db);
  await sql`delete from privacy_period
    where vehicle_id = any(${rows.map(({ id }) => id)}::integer[])`.execute(platform.db);
  await sql`insert into vehicle_latest (vehicle_id, time, received_at, location, location_time, status, status_time, fleet,
      fleet_time, electric, electric_time, parked_location, parked_at)
    select (one->>'id')::integer, now(), now() - (one->>'silentSeconds')::integer * interval '1 second',
      one->'location', ${time('location')}, one->'status', ${time('status')}, one->'fleet', ${time('fleet')},
      '{"soc": 80}', now(), case when (one->>'wasParked')::boolean then '{}'::jsonb end,
      case when (one->>'wasParked')::boolean then timestamptz '2025-03-01T07:00:00Z' end
    from jsonb_array_elements(${JSON.stringify(rows)}::jsonb) as one`.execute(platform.db);
  for (const { id, isPrivate } of rows) if (isPrivate) await turnPrivacyOn(platform.db, String(id));
}

describe('the table of vehicles', () => {
  it('has the same state, speed, charge and parking time as the live stream, whatever was reported', async () => {
    const application = await createApplication(platform.db);
    const client = platform.as(application.token);
    const fleet = await createFleet(platform.db, application.id, 20);
    const moment = fc.integer({ min: -2, max: 2 });
    const speed = fc.constantFrom(undefined, 0, 5, 5.1, 50);
    const latest = fc.record({
      location: fc.option(fc.record({ atMicroseconds: moment, speed }), { nil: undefined }),
      status: fc.option(fc.record({ atMicroseconds: moment, ignition: fc.constantFrom(undefined, true, false) }), {
        nil: undefined,
      }),
      fleet: fc.option(fc.record({ atMicroseconds: moment, speed, engine: fc.constantFrom(undefined, 'ON', 'OFF') }), {
        nil: undefined,
      }),
      silentSeconds: fc.constantFrom(0, 540, 660, 89_000, 91_000),
      isPrivate: fc.boolean(),
      wasParked: fc.boolean(),
    });
    const cases = fc.array(latest, { minLength: fleet.length, maxLength: fleet.length });
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        await storeStates(fleet, given);
        const rows = await findVehicles(platform.db, fleet.map(Number));
        const live = rows.map((row) => writeVehicle(row, liveState(row, Date.now())));
        const shared = ({ id, state, speed: kmh, soc, parkedSince }: Partial<LiveVehicle>) => ({
          ...{ id, state, kmh, soc, parkedSince },
        });
        const { body } = await client.get('/v1/x/vehicles?sort=id');
        expect(body.vehicles.map(shared)).toEqual(live.map(shared));
      }),
      { numRuns: 15 },
    );
  }, 60_000);
});

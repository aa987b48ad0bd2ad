import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { stateFlags } from './routes.ts';

const { platform, application, api } = await startFleet();

async function rowOf(vehicleId: string) {
  return platform.db.selectFrom('vehicle').selectAll().where('id', '=', Number(vehicleId)).executeTakeFirstOrThrow();
}

describe('POST /v1/vehicle/{id}/{flag}', () => {
  it.each(stateFlags)('sets and clears only %s, and answers it under its own name', async (flag) => {
    const vehicle = await createVehicle(platform.db, application);
    const { status, body } = await api.post(`/v1/vehicle/${vehicle.id}/${flag}?state=true`);
    expect([status, body]).toEqual([200, { [flag]: true }]);
    const raised = await rowOf(vehicle.id);
    expect(stateFlags.filter((one) => raised[one])).toEqual([flag]);
    expect(raised.states_lowered).toEqual({});
    const before = Date.now();
    const lowered = await api.post(`/v1/vehicle/${vehicle.id}/${flag}`, { state: false });
    expect([lowered.status, lowered.body]).toEqual([200, { [flag]: false }]);
    const after = await rowOf(vehicle.id);
    expect(after[flag]).toBe(false);
    expect(Object.keys(after.states_lowered)).toEqual([flag]);
    expect(Math.abs(Date.parse(after.states_lowered[flag] ?? '') - before)).toBeLessThan(10_000);
  });

  it('keeps the time each state was cleared, and prefers the body to the query', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await api.post(`/v1/vehicle/${vehicle.id}/stolen?state=false`);
    const { body } = await api.post(`/v1/vehicle/${vehicle.id}/towing?state=true`, { state: 'false' });
    expect(body).toEqual({ towing: false });
    expect(Object.keys((await rowOf(vehicle.id)).states_lowered).sort()).toEqual(['stolen', 'towing']);
  });

  it('records the caller in the audit', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await api.post(`/v1/vehicle/${vehicle.id}/breakdown?state=true`);
    await api.post(`/v1/vehicle/${vehicle.id}/breakdown?state=true`);
    const { rows } = await sql`select actor, address, action, details, outcome from audit
      where subject = ${`vehicle:${vehicle.id}`} order by position`.execute(platform.db);
    const row = { actor: 'application', address: '127.0.0.1', action: 'state.breakdown', details: { state: true } };
    expect(rows).toEqual([
      { ...row, outcome: 'done' },
      { ...row, outcome: 'unchanged' },
    ]);
  });

  it.each(['', '?state=', '?state=maybe', '?state=2', '?state=true&state=false', '?State=true'])(
    'names state if it is missing or no Boolean: %s',
    async (query) => {
      const vehicle = await createVehicle(platform.db, application);
      const { status, body } = await api.post(`/v1/vehicle/${vehicle.id}/accident${query}`);
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'state']);
    },
  );

  it.each([
    ['?state=TRUE', true],
    ['?state=1', true],
    ['?state=False', false],
    ['?state=0', false],
  ])('accepts Booleans in any case and as 1 and 0: %s', async (query, state) => {
    const vehicle = await createVehicle(platform.db, application);
    expect((await api.post(`/v1/vehicle/${vehicle.id}/towing${query}`)).body).toEqual({ towing: state });
    expect((await api.post(`/v1/vehicle/${vehicle.id}/stolen`, { state: Number(state) })).body).toEqual({
      stolen: state,
    });
  });

  it("answers UNKNOWN_VEHICLE for another application's vehicle without a change", async () => {
    const theirs = await createVehicle(platform.db, await createApplication(platform.db));
    for (const id of [theirs.id, '1999999999', 'none']) {
      const { status, body } = await api.post(`/v1/vehicle/${id}/stolen?state=true`);
      expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    expect((await rowOf(theirs.id)).stolen).toBe(false);
  });

  it('accepts concurrent changes of many states of many vehicles', async () => {
    const vehicles = await Promise.all([1, 2, 3].map(() => createVehicle(platform.db, application)));
    const calls = vehicles.flatMap(({ id }) =>
      stateFlags.flatMap((flag) => [true, false].map((state) => api.post(`/v1/vehicle/${id}/${flag}`, { state }))),
    );
    const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
    expect([...statuses]).toEqual([200]);
  });
});

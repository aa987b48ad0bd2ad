import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { describe, expect, it } from 'vitest';
import { storeReadings } from '../query.fixture.ts';
import { queryService } from '../service.ts';

const platform = await usePlatform([queryService]);
const application = await createApplication(platform.db);
const client = platform.as(application.token);
const vehicle = await createVehicle(platform.db, application);
await storeReadings(platform.db, application.id, [
  { time: '2025-11-21T08:00:00Z', vehicle_id: vehicle.id },
  { time: '2025-11-21T08:00:01Z', vehicle_id: vehicle.id },
]);

/** Sends a request that must be refused. @returns status, code and field of the answer */
async function refusal(path: string): Promise<unknown[]> {
  const { status, body } = await client.get(path);
  return [status, body.error, body.field];
}

describe('a malformed parameter of a history', () => {
  it.each([
    ['until=1', 'from'],
    ['from=1', 'until'],
    ['from=&until=1', 'from'],
    ['from=-1&until=1', 'from'],
    ['from=yesterday&until=1', 'from'],
    ['from=NaN&until=1', 'from'],
    ['from=Infinity&until=1', 'from'],
    ['from=1&from=2&until=3', 'from'],
    ['from=2025-02-30&until=2025-03-01', 'from'],
    ['from=1960-01-01&until=2025-03-01', 'from'],
    ['from=1&until=99999999999999999999', 'until'],
    ['from=1&until=1e99', 'until'],
    // In microseconds.
    ['from=1&until=100000000000000', 'until'],
    ['from=1763712000123456&until=2', 'from'],
    ['from=1&until=2&limit=-1', 'limit'],
    ['from=1&until=2&limit=1.5', 'limit'],
    ['from=1&until=2&limit=many', 'limit'],
    ['from=1&until=2&limit=Infinity', 'limit'],
    ['from=1&until=2&offset=-1', 'offset'],
    ['from=1&until=2&offset=x', 'offset'],
    ['from=1&until=2&offset=Infinity', 'offset'],
    ['from=1&until=2&after=x', 'after'],
    ['from=1&until=2&after=1763712000000000-9999999999', 'after'],
    ['from=1&until=2&after=999999999999999999-1000000001', 'after'],
  ])('%s is refused as %s', async (query, field) => {
    expect(await refusal(`/v1/vehicles/history?${query}`)).toEqual([400, 'INVALID_PARAMETER', field]);
    expect(await refusal(`/v1/vehicle/${vehicle.id}/history?${query}`)).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

describe('a malformed parameter of customcan', () => {
  it.each([
    ['x', 'timestamp'],
    ['-1', 'timestamp'],
    ['NaN', 'timestamp'],
    ['2025-13-01', 'timestamp'],
    ['1?after=x', 'after'],
    ['1?after=1-1&after=2-2', 'after'],
  ])('%s is refused as %s', async (rest, field) => {
    expect(await refusal(`/v1/vehicles/customcan/from/${rest}`)).toEqual([400, 'INVALID_PARAMETER', field]);
    expect(await refusal(`/v1/vehicle/${vehicle.id}/customcan/from/${rest}`)).toEqual([
      400,
      'INVALID_PARAMETER',
      field,
    ]);
  });
});

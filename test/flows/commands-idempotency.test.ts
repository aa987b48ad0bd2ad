import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CommandHouse, expectFailure, startCommandHouse } from './command-house.ts';

let house: CommandHouse;

beforeAll(async () => {
  house = await startCommandHouse();
});

afterEach(() => house.disconnectAll());

afterAll(() => house?.stop());

const keyed = (key: string) => ({ 'idempotency-key': key });

it('answers the outcome of the first request to every other with its key, also at once and at another replica', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.silent(vehicle);
  const key = randomUUID();
  const requests = Array.from({ length: 8 }, (_, index) =>
    house.act('unlock', vehicle, index % 2 ? house.client : house.replicaClient, keyed(key)),
  );
  const { id } = await device.next();
  await device.acknowledge({ id, ok: true });
  for (const request of requests) expect(await request).toMatchObject({ status: 200, body: { Status: 'OPEN' } });
  await device.close();
  expect(await house.act('unlock', vehicle, house.client, keyed(key))).toMatchObject({
    status: 200,
    body: { Status: 'OPEN' },
  });
  expect(device.heard).toHaveLength(1);
  expect(await house.statesOf(vehicle)).toEqual(['acknowledged']);
});

it('answers a refusal and an unknown outcome again for their keys, and what a late acknowledgement told', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.silent(vehicle);
  const [refused, unknown] = [randomUUID(), randomUUID()];
  const first = house.act('lock', vehicle, house.client, keyed(refused));
  await device.acknowledge({ id: (await device.next()).id, ok: false, reason: 'a door is open' });
  expectFailure(await first, 'REFUSED');
  const repeated = await house.act('lock', vehicle, house.replicaClient, keyed(refused));
  expectFailure(repeated, 'REFUSED');
  expect(repeated.body.message).toBe('a door is open');
  expectFailure(await house.act('lock', vehicle, house.client, keyed(unknown)), 'NO_ACKNOWLEDGEMENT');
  expectFailure(await house.act('lock', vehicle, house.client, keyed(unknown)), 'NO_ACKNOWLEDGEMENT');
  await device.acknowledge({ id: (await device.next()).id, ok: true });
  await house.expectState(vehicle, 'refused', 'acknowledged');
  expect((await house.act('lock', vehicle, house.client, keyed(unknown))).body).toEqual({ Status: 'CLOSED' });
  expect(device.heard).toHaveLength(2);
});

it('refuses a key of another action or vehicle, and one that is too long', async () => {
  const [vehicle, other] = [await house.createVehicle(), await house.createVehicle()];
  const device = await house.connected(vehicle);
  await house.connected(other);
  const key = 'k'.repeat(255);
  const headers = keyed(key);
  expect((await house.act('lock', vehicle, house.client, headers)).status).toBe(200);
  for (const answer of [
    await house.act('unlock', vehicle, house.client, headers),
    await house.act('lock', other, house.client, headers),
    await house.act('lock', vehicle, house.client, keyed(`${key}k`)),
  ]) {
    expect(answer.body).toMatchObject({ error: 'INVALID_PARAMETER', field: 'Idempotency-Key' });
    expect(answer.status).toBe(400);
  }
  expect(device.heard).toHaveLength(1);
});

it("keeps the keys of users and of the application apart, so that none reads another's outcome", async () => {
  const vehicle = await house.createVehicle();
  const device = await house.connected(vehicle);
  const headers = keyed('the same for all');
  const users = [await house.createUserToken(vehicle), await house.createUserToken(vehicle)];
  const clients = [house.client, ...users.map((token) => clientWithToken(house.platform.httpUrl, token))];
  for (const by of [...clients, ...clients]) expect((await house.act('lock', vehicle, by, headers)).status).toBe(200);
  expect(device.heard).toHaveLength(3);
});

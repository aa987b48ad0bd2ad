import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CommandFixture, expectFailure, startCommandFixture } from './command.fixture.ts';

let fixture: CommandFixture;

beforeAll(async () => {
  fixture = await startCommandFixture();
});

afterEach(() => fixture.disconnectAll());

afterAll(() => fixture?.stop());

const keyed = (key: string) => ({ 'idempotency-key': key });

it('answers every request with the same idempotency key like the first, also concurrent ones and at another replica', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const key = randomUUID();
  const requests = Array.from({ length: 8 }, (_, index) =>
    fixture.act('unlock', vehicle, index % 2 ? fixture.client : fixture.replicaClient, keyed(key)),
  );
  const { id } = await device.next();
  await device.acknowledge({ id, ok: true });
  const answers = await Promise.all(requests);
  for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { Status: 'OPEN' } });
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(7);
  await device.close();
  expect(await fixture.act('unlock', vehicle, fixture.client, keyed(key))).toMatchObject({
    status: 200,
    body: { Status: 'OPEN' },
  });
  expect(device.heard).toHaveLength(1);
  expect(await fixture.statesOf(vehicle)).toEqual(['acknowledged']);
});

it('repeats a refusal, an unknown outcome and the outcome of a late acknowledgement for the same idempotency key', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.silent(vehicle);
  const [refused, unknown] = [randomUUID(), randomUUID()];
  const first = fixture.act('lock', vehicle, fixture.client, keyed(refused));
  await device.acknowledge({ id: (await device.next()).id, ok: false, reason: 'a door is open' });
  expectFailure(await first, 'REFUSED');
  const repeated = await fixture.act('lock', vehicle, fixture.replicaClient, keyed(refused));
  expectFailure(repeated, 'REFUSED');
  expect(repeated.body.message).toBe('a door is open');
  expectFailure(await fixture.act('lock', vehicle, fixture.client, keyed(unknown)), 'NO_ACKNOWLEDGEMENT');
  expectFailure(await fixture.act('lock', vehicle, fixture.client, keyed(unknown)), 'NO_ACKNOWLEDGEMENT');
  await device.acknowledge({ id: (await device.next()).id, ok: true });
  await fixture.expectState(vehicle, 'refused', 'acknowledged');
  expect((await fixture.act('lock', vehicle, fixture.client, keyed(unknown))).body).toEqual({ Status: 'CLOSED' });
  expect(device.heard).toHaveLength(2);
});

it('rejects an idempotency key used for another action or vehicle, and one that is too long', async () => {
  const [vehicle, other] = [await fixture.createVehicle(), await fixture.createVehicle()];
  const device = await fixture.connected(vehicle);
  await fixture.connected(other);
  const key = 'k'.repeat(255);
  const headers = keyed(key);
  expect((await fixture.act('lock', vehicle, fixture.client, headers)).status).toBe(200);
  for (const answer of [
    await fixture.act('unlock', vehicle, fixture.client, headers),
    await fixture.act('lock', other, fixture.client, headers),
  ]) {
    expect([answer.status, answer.body.error]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
  }
  const { status, body } = await fixture.act('lock', vehicle, fixture.client, keyed(`${key}k`));
  expect([status, body]).toEqual([
    400,
    expect.objectContaining({ error: 'INVALID_PARAMETER', field: 'Idempotency-Key' }),
  ]);
  expect(device.heard).toHaveLength(1);
});

it("separates the idempotency keys of users and the application, so that none reads another's outcome", async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  const headers = keyed('the same for all');
  const users = [await fixture.createUserToken(vehicle), await fixture.createUserToken(vehicle)];
  const clients = [fixture.client, ...users.map((token) => clientWithToken(fixture.platform.httpUrl, token))];
  for (const by of [...clients, ...clients]) expect((await fixture.act('lock', vehicle, by, headers)).status).toBe(200);
  expect(device.heard).toHaveLength(3);
});

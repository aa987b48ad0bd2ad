import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createGroup,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRule, raiseAlarm } from '../notifications/notifications.fixture.ts';
import { createEventService } from '../service.ts';
import { type Answer, endCommands, numbersOf, startReceiver, type TestReceiver, verify } from '../webhooks.fixture.ts';

const day = 86_400_000;
const waitMs = 60_000;
/** The time of the service is ahead of the wall clock by this. */
let aheadMs = 0;
let application: TestApplication;
let [vehicle, otherVehicle]: TestVehicle[] = [];
let api: ApiClient;
const receivers: TestReceiver[] = [];

const service = createEventService({ clock: () => new Date(Date.now() + aheadMs), timeLimitMs: 2000 });
const platform = await usePlatform([service], { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
beforeEach(async () => {
  aheadMs = 0;
  application = await createApplication(platform.db);
  vehicle = await createVehicle(platform.db, application);
  otherVehicle = await createVehicle(platform.db, application);
  api = platform.as(application.token);
});
afterEach(async () => {
  const { webhooks } = (await api.get('/v1/x/webhooks')).body;
  for (const { id } of webhooks) await api.delete(`/v1/x/webhooks/${id}`);
  for (const receiver of receivers.splice(0)) await receiver.close();
});

async function receive(answer?: Answer): Promise<TestReceiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  return receiver;
}

async function register({ url }: TestReceiver, fields: object = {}): Promise<{ id: string; secret: string }> {
  const { status, body } = await api.post('/v1/x/webhooks', { url, types: ['command.ended'], ...fields });
  expect({ status, body }).toMatchObject({ status: 200 });
  return body;
}

const end = (one: TestVehicle | undefined, count: number, first = 0) =>
  endCommands(platform.db, one ?? Object.create(null), count, first);
const stateOf = async (id: string) => (await api.get(`/v1/x/webhooks/${id}`)).body;
const range = (count: number) => Array.from({ length: count }, (_unused, n) => n);
const accepted = (receiver: TestReceiver, one: TestVehicle | undefined) => numbersOf(receiver.accepted, one?.id ?? '');

/** Waits until the receiver has accepted exactly these events of a vehicle, in this order. */
const awaitAccepted = (receiver: TestReceiver, one: TestVehicle | undefined, numbers: readonly number[]) =>
  eventually(async () => expect(accepted(receiver, one)).toEqual(numbers), waitMs);

describe('a delivery', { timeout: 2 * waitMs }, () => {
  it('is an event as the list has it, signed as Standard Webhooks', async () => {
    const receiver = await receive();
    const { secret } = await register(receiver);
    await end(vehicle, 2);
    await awaitAccepted(receiver, vehicle, [0, 1]);
    const [first] = receiver.accepted;
    if (!first) throw new Error('nothing was received');
    verify(secret, first);
    expect(() => verify(secret, { ...first, body: `${first.body} ` })).toThrow();
    expect(first.event).toMatchObject({ type: 'command.ended', appId: application.appId, vehicleId: vehicle?.id });
    expect(first.headers).toMatchObject({ 'webhook-id': first.event.id, 'content-type': 'application/json' });
  });

  it('is of a vehicle in the group of its webhook or in a subgroup', async () => {
    const receiver = await receive();
    const parentId = await createGroup(platform.db, application);
    await createGroup(platform.db, application, { parentId, vehicleIds: [vehicle?.id ?? ''] });
    await register(receiver, { groupId: parentId });
    await end(otherVehicle, 1);
    await end(vehicle, 2);
    await awaitAccepted(receiver, vehicle, [0, 1]);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('an event that waits to be sent', { timeout: 2 * waitMs }, () => {
  it('is sent without data that became private in the meantime', async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const receiver = await receive(() => answered);
    await register(receiver, { types: ['alarm.raised'] });
    const ruleId = await createRule(platform.db, application.id);
    const alarmIds: string[] = [];
    await platform.db.transaction().execute(async (trx) => {
      for (const one of range(3)) alarmIds[one] = await raiseAlarm(trx, ruleId, vehicle ?? Object.create(null));
    });
    await eventually(async () => expect(receiver.received).toHaveLength(1), waitMs);
    await sql`update alarm set latitude = null, longitude = null where id = ${alarmIds[2]}`.execute(platform.db);
    await sql`delete from alarm where id = ${alarmIds[1]}`.execute(platform.db);
    aheadMs = 60_000;
    answer();
    const locations = () => new Map(receiver.received.map(({ event: { data } }) => [data['id'], data['location']]));
    await eventually(async () => expect(locations().has(alarmIds[2])).toBe(true), waitMs);
    const shown = expect.objectContaining({ latitude: 48.85661 });
    expect([...locations()]).toEqual([
      [alarmIds[0], shown],
      [alarmIds[2], undefined],
    ]);
  });
});

describe('the order of deliveries', { timeout: 2 * waitMs }, () => {
  it('holds for a vehicle whose event fails, while those of other vehicles go on', async () => {
    let isRefused = true;
    const receiver = await receive(({ event }, response) => {
      if (isRefused && event.vehicleId === vehicle?.id) response.statusCode = 500;
    });
    const { id } = await register(receiver);
    await end(vehicle, 3);
    await end(otherVehicle, 5);
    await awaitAccepted(receiver, otherVehicle, range(5));
    await eventually(
      async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1, state: 'active' }),
      waitMs,
    );
    expect(numbersOf(receiver.received, vehicle?.id ?? '')).toEqual([0]);
    isRefused = false;
    aheadMs = 10_000;
    await awaitAccepted(receiver, vehicle, range(3));
    await end(vehicle, 2, 3);
    await awaitAccepted(receiver, vehicle, range(5));
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 0 }), waitMs);
  });

  it('holds for every vehicle whatever fails, and nothing is left out', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { minLength: 10, maxLength: 25 }), async (failures) => {
        let requests = 0;
        const receiver = await receive((_received, response) => {
          const failure = failures[requests];
          requests += 1;
          if (failure === 1) response.statusCode = 503;
          if (failure === 2) response.destroy();
        });
        const { id } = await register(receiver);
        const vehicles = [vehicle, otherVehicle];
        for (const first of [0, 10]) for (const one of vehicles) await end(one, 10, first);
        await eventually(async () => {
          // Every pause and every wait is over at once.
          aheadMs += 3_600_000 / 4;
          expect(vehicles.map((one) => new Set(accepted(receiver, one)).size)).toEqual([20, 20]);
        }, waitMs);
        for (const one of vehicles) {
          const firsts = accepted(receiver, one).filter((number, index, all) => all.indexOf(number) === index);
          expect(firsts).toEqual(range(20));
        }
        await api.delete(`/v1/x/webhooks/${id}`);
        aheadMs = 0;
      }),
      { numRuns: 2 },
    );
  });
});

describe('a receiver', { timeout: 2 * waitMs }, () => {
  it('that is slow or dead delays no other', async () => {
    const slow = await receive(() => delay(60_000, undefined, { ref: false }));
    const dead = await receive();
    await dead.close();
    const failing = [await register(slow), await register(dead)];
    const fast = await receive();
    await register(fast);
    for (const one of [vehicle, otherVehicle]) await end(one, 100);
    await awaitAccepted(fast, vehicle, range(100));
    await awaitAccepted(fast, otherVehicle, range(100));
    for (const { id } of failing) {
      await eventually(async () => expect(await stateOf(id)).toMatchObject({ state: 'failing' }), waitMs);
    }
    const errors = await Promise.all(failing.map(async ({ id }) => (await stateOf(id)).lastError));
    expect(errors).toEqual(['no answer in 2 s', 'the connection was refused']);
  });

  it('that answers 410 disables its webhook, which continues where it was when it is enabled again', async () => {
    let isGone = true;
    const receiver = await receive((_received, response) => {
      if (isGone) response.statusCode = 410;
    });
    const { id } = await register(receiver);
    await end(vehicle, 3);
    await eventually(
      async () => expect(await stateOf(id)).toMatchObject({ state: 'disabled', disabledReason: 'GONE' }),
      waitMs,
    );
    isGone = false;
    const { body } = await api.put(`/v1/x/webhooks/${id}`, { url: receiver.url, types: ['command.*'] });
    expect(body).toMatchObject({ state: 'active', types: ['command.*'] });
    await awaitAccepted(receiver, vehicle, range(3));
  });

  it('that redirects is not followed, and is told so', async () => {
    const target = await receive();
    const receiver = await receive((_received, response) => {
      response.writeHead(307, { location: target.url });
    });
    const { id } = await register(receiver);
    await end(vehicle, 1);
    await eventually(async () => expect((await stateOf(id)).lastError).toContain('redirects are not followed'), waitMs);
    expect(target.received).toEqual([]);
  });

  it('that answers without end is read no further than 64 KiB, and its 200 counts', async () => {
    let written = 0;
    const receiver = await receive(async (_received, response) => {
      response.writeHead(200);
      while (!response.destroyed && written < 200_000_000) {
        written += 65_536;
        if (!response.write(Buffer.alloc(65_536)))
          await Promise.race([delay(50), new Promise((done) => response.once('drain', done))]);
      }
    });
    const { id } = await register(receiver);
    await end(vehicle, 1);
    await eventually(async () => {
      const { deliveries } = (await api.get(`/v1/x/webhooks/${id}/deliveries`)).body;
      expect(deliveries).toMatchObject([{ status: 200, attempt: 1 }]);
    }, waitMs);
    // The capacity of the buffers of two sockets.
    expect(written).toBeLessThan(50_000_000);
  });

  it('that asks to be left alone gets nothing until then', async () => {
    const receiver = await receive((_received, response) => {
      if (aheadMs < 3_000_000) response.writeHead(429, { 'retry-after': '3600' });
    });
    const { id } = await register(receiver);
    await end(vehicle, 1);
    await eventually(async () => expect((await stateOf(id)).nextAttemptAt).toBeDefined(), waitMs);
    const { nextAttemptAt } = await stateOf(id);
    expect(Math.abs(Date.parse(nextAttemptAt) - Date.now() - 3_600_000)).toBeLessThan(120_000);
    await end(otherVehicle, 1);
    aheadMs = 3_700_000;
    await awaitAccepted(receiver, vehicle, [0]);
    await awaitAccepted(receiver, otherVehicle, [0]);
    expect(receiver.received.length - receiver.accepted.length).toBe(1);
  });
});

describe('an event that fails for three days', { timeout: 2 * waitMs }, () => {
  it('is a dead letter, which is sent again on request', async () => {
    let isRefused = true;
    const receiver = await receive(({ event }, response) => {
      if (isRefused && event.data['status'] === '1') response.statusCode = 400;
    });
    const { id } = await register(receiver);
    await end(vehicle, 4);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1 }), waitMs);
    aheadMs = 3 * day + 60_000;
    await awaitAccepted(receiver, vehicle, [0, 2, 3]);
    const deadLetters = await eventually(async () => {
      const { body } = await api.get(`/v1/x/webhooks/${id}/dead-letters`);
      expect(body.deadLetters).toMatchObject([
        { type: 'command.ended', vehicleId: vehicle?.id, error: 'answered 400' },
      ]);
      return body.deadLetters;
    }, waitMs);
    // A replay loads the webhook again: deliveries that are not saved yet are repeated.
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 0 }), waitMs);
    isRefused = false;
    const replay = { eventIds: [deadLetters[0].eventId, 'another'] };
    expect((await api.post(`/v1/x/webhooks/${id}/replay`, replay)).body).toEqual({ deadLetters: 1 });
    await awaitAccepted(receiver, vehicle, [0, 2, 3, 1]);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0 }), waitMs);
  });

  it('is sent again on request even if the database fails once in the meantime', async () => {
    let isRefused = true;
    const receiver = await receive((_received, response) => {
      if (isRefused) response.statusCode = 400;
    });
    const { id } = await register(receiver);
    await end(vehicle, 1);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1 }), waitMs);
    aheadMs = 3 * day + 60_000;
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 1 }), waitMs);
    const { deadLetters } = (await api.get(`/v1/x/webhooks/${id}/dead-letters`)).body;
    await sql`create function fail() returns trigger language plpgsql as 'begin raise exception ''failed''; end'`.execute(
      platform.db,
    );
    await sql`create trigger fail before delete on webhook_dead_letter execute function fail()`.execute(platform.db);
    isRefused = false;
    await api.post(`/v1/x/webhooks/${id}/replay`, { eventIds: [deadLetters[0].eventId] });
    await awaitAccepted(receiver, vehicle, [0]);
    await sql`drop function fail cascade`.execute(platform.db);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0 }), waitMs);
  });

  it('is sent again on request even if the webhook changes while others are sent', async () => {
    const count = 5;
    let answer: Answer = (_received, response) => {
      response.statusCode = 400;
    };
    const receiver = await receive((received, response) => answer(received, response));
    const { id } = await register(receiver);
    await end(vehicle, count);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1 }), waitMs);
    aheadMs = 3 * day + 60_000;
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: count }), waitMs);
    const { deadLetters } = (await api.get(`/v1/x/webhooks/${id}/dead-letters`)).body;
    const eventIds = deadLetters.map(({ eventId }: { eventId: string }) => eventId);
    // The second delivery stays open until the change of the webhook closes the connection.
    let replayed = 0;
    answer = async (_received, response) => {
      replayed += 1;
      if (replayed === 2) await once(response, 'close');
    };
    await api.post(`/v1/x/webhooks/${id}/replay`, { eventIds });
    await eventually(async () => expect(replayed).toBe(2), waitMs);
    const change = { url: receiver.url, types: ['command.*'] };
    expect((await api.put(`/v1/x/webhooks/${id}`, change)).status).toBe(200);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0 }), waitMs);
    expect(new Set(accepted(receiver, vehicle))).toEqual(new Set(range(count)));
  });

  it.each(['vehicles', 'group'] as const)(
    'is not sent again once its vehicle is not in the %s of the webhook any more',
    async (limit) => {
      let isRefused = true;
      const receiver = await receive((_received, response) => {
        if (isRefused) response.statusCode = 400;
      });
      const groupId = await createGroup(platform.db, application, { vehicleIds: [vehicle?.id ?? ''] });
      const { id } = await register(receiver, limit === 'group' ? { groupId } : { vehicleIds: [vehicle?.id] });
      await end(vehicle, 1);
      await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1 }), waitMs);
      aheadMs = 3 * day + 60_000;
      await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 1 }), waitMs);
      const { deadLetters } = (await api.get(`/v1/x/webhooks/${id}/dead-letters`)).body;
      const change = { url: receiver.url, types: ['command.ended'], vehicleIds: [otherVehicle?.id] };
      if (limit === 'vehicles') await api.put(`/v1/x/webhooks/${id}`, change);
      else await sql`delete from vehicle_group_member where group_id = ${groupId}`.execute(platform.db);
      isRefused = false;
      await api.post(`/v1/x/webhooks/${id}/replay`, { eventIds: [deadLetters[0].eventId] });
      await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0 }), waitMs);
      expect(accepted(receiver, vehicle)).toEqual([]);
    },
  );

  it('is sent again on request even if many events of other vehicles precede it', async () => {
    let isRefused = true;
    const receiver = await receive(({ event }, response) => {
      if (isRefused && event.vehicleId === vehicle?.id) response.statusCode = 400;
    });
    const { id } = await register(receiver);
    await end(vehicle, 1);
    await end(otherVehicle, 30);
    await end(vehicle, 1, 1);
    await awaitAccepted(receiver, otherVehicle, range(30));
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ waitingVehicles: 1 }), waitMs);
    aheadMs = 3 * day + 60_000;
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 2 }), waitMs);
    const { deadLetters } = (await api.get(`/v1/x/webhooks/${id}/dead-letters`)).body;
    isRefused = false;
    const eventIds = deadLetters.map(({ eventId }: { eventId: string }) => eventId);
    expect((await api.post(`/v1/x/webhooks/${id}/replay`, { eventIds })).body).toEqual({ deadLetters: 2 });
    await awaitAccepted(receiver, vehicle, [0, 1]);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0 }), waitMs);
  });

  it('becomes a dead letter with all as old while the receiver is down, and a replay from a time sends all again', async () => {
    let isDown = true;
    const receiver = await receive((_received, response) => {
      if (isDown) response.statusCode = 502;
    });
    const { id } = await register(receiver);
    const from = new Date(Date.now() - 3_600_000).toISOString();
    for (const one of [vehicle, otherVehicle]) await end(one, 12);
    await eventually(async () => {
      aheadMs += 600_000;
      expect(await stateOf(id)).toMatchObject({ state: 'failing', waitingVehicles: 2 });
      expect(receiver.received.length).toBeGreaterThan(10);
    }, waitMs);
    await eventually(async () => {
      aheadMs += day / 4;
      expect(await stateOf(id)).toMatchObject({ deadLetters: 24, state: 'failing' });
    }, waitMs);
    isDown = false;
    await end(vehicle, 1, 12);
    aheadMs += day;
    await awaitAccepted(receiver, vehicle, [12]);
    expect((await api.post(`/v1/x/webhooks/${id}/replay`, { from })).status).toBe(200);
    await awaitAccepted(receiver, vehicle, [12, ...range(13)]);
    await awaitAccepted(receiver, otherVehicle, range(12));
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ deadLetters: 0, state: 'active' }), waitMs);
  });
});

describe('the secret of a webhook', { timeout: waitMs }, () => {
  it('signs with the one before it for 24 hours after a rotation', async () => {
    const receiver = await receive();
    const { id, secret } = await register(receiver);
    const { secret: rotated } = (await api.post(`/v1/x/webhooks/${id}/rotate`)).body;
    expect((await api.post(`/v1/x/webhooks/${id}/test`)).body).toMatchObject({ delivered: true, status: 204 });
    const [both] = receiver.accepted;
    if (!both) throw new Error('nothing was received');
    verify(secret, both);
    verify(rotated, both);
    expect(both.event).toMatchObject({ type: 'webhook.test', data: {} });
    aheadMs = day + 60_000;
    await api.post(`/v1/x/webhooks/${id}/test`);
    expect(receiver.accepted.map(({ headers }) => headers['webhook-signature']?.split(' ').length)).toEqual([2, 1]);
  });
});

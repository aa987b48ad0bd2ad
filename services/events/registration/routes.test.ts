import type { ApiClient } from '@odograph/testkit/api-client';
import {
  createApplication,
  createGroup,
  createUser,
  createVehicle,
  type TestApplication,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventService } from '../service.ts';

const path = '/v1/x/webhooks';
const hook = { url: 'https://receiver.invalid/hook?key=planted', types: ['alarm.*', 'trip.finished'] };
let application: TestApplication;
let api: ApiClient;

const platform = await usePlatform([createEventService()]);
beforeEach(async () => {
  application = await createApplication(platform.db);
  api = platform.as(application.token);
});

const create = async (fields: object = {}) => (await api.post(path, { ...hook, ...fields })).body;

describe('the registration of a webhook', () => {
  it('shows the secret once, in the form of Standard Webhooks, and stores it sealed', async () => {
    const { id, secret } = await create();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const answers = [await api.get(path), await api.get(`${path}/${id}`), await api.put(`${path}/${id}`, hook)];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(secret.slice('whsec_'.length));
    }
    const { rows } = await sql<{ row: string }>`select webhook::text as row from webhook
      where id = ${id}`.execute(platform.db);
    expect(rows[0]?.row).not.toContain(Buffer.from(secret).toString('hex'));
    expect(answers[1]?.body).toMatchObject({ ...hook, state: 'active', waitingVehicles: 0, deadLetters: 0 });
  });

  it.each([
    ['no URL', 'receiver', 'url'],
    ['another protocol', 'ftp://receiver.example/', 'url'],
    ['no TLS', 'http://receiver.example/', 'url'],
    ['a user name', 'https://user:password@receiver.example/', 'url'],
    ['a loopback address', 'https://127.0.0.1/', 'url'],
    ['a loopback address as a number', 'https://2130706433/', 'url'],
    ['a loopback address in octal', 'https://0177.0.0.01/', 'url'],
    ['a private address in hexadecimal', 'https://0xa.0.0.1/', 'url'],
    ['an IPv4-mapped address', 'https://[::ffff:169.254.169.254]/', 'url'],
  ])('is refused for a URL with %s', async (_fault, url, field) => {
    const { status, body } = await api.post(path, { ...hook, url });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('is refused with a group of another application, and shows its own', async () => {
    const other = await createApplication(platform.db);
    const [groupId, foreign] = [await createGroup(platform.db, application), await createGroup(platform.db, other)];
    const { id } = await create({ groupId });
    expect((await api.get(`${path}/${id}`)).body).toMatchObject({ groupId });
    for (const { status, body } of [
      await api.post(path, { ...hook, groupId: foreign }),
      await api.put(`${path}/${id}`, { ...hook, groupId: foreign }),
    ])
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'groupId']);
    expect((await api.put(`${path}/${id}`, hook)).body.groupId).toBeUndefined();
  });

  it.each([
    [{ types: [] }, 'types'],
    [{ types: ['alarm.imagined'] }, 'types.0'],
    [{ types: ['alarm.*', 'alarm.*'] }, 'types'],
    [{ vehicleIds: [] }, 'vehicleIds'],
  ])('is refused with %j', async (fields, field) => {
    const { status, body } = await api.post(path, { ...hook, ...fields });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('is limited to vehicles of the application', async () => {
    const own = await createVehicle(platform.db, application);
    const foreign = await createVehicle(platform.db, await createApplication(platform.db));
    const { id } = await create({ vehicleIds: [own.id] });
    expect((await api.get(`${path}/${id}`)).body.vehicleIds).toEqual([own.id]);
    for (const vehicleIds of [[foreign.id], [own.id, foreign.id], ['7']]) {
      expect((await api.post(path, { ...hook, vehicleIds })).body.error).toBe('UNKNOWN_VEHICLE');
      expect((await api.put(`${path}/${id}`, { ...hook, vehicleIds })).body.error).toBe('UNKNOWN_VEHICLE');
    }
    expect((await api.get(path)).body.webhooks).toHaveLength(1);
  });

  it('shows no deleted vehicle, and stays limited to none when all of its vehicles are deleted', async () => {
    const [kept, deleted] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    const { id } = await create({ vehicleIds: [kept.id, deleted.id] });
    const remove = (vehicle: { id: string }) =>
      sql`update vehicle set deleted_at = now() where id = ${Number(vehicle.id)}`.execute(platform.db);
    await remove(deleted);
    expect((await api.get(`${path}/${id}`)).body.vehicleIds).toEqual([kept.id]);
    expect((await api.put(`${path}/${id}`, { ...hook, vehicleIds: [deleted.id] })).body.error).toBe('UNKNOWN_VEHICLE');
    await remove(kept);
    const { vehicleIds } = (await api.get(`${path}/${id}`)).body;
    expect(vehicleIds).toEqual([]);
    expect((await api.put(`${path}/${id}`, { ...hook, vehicleIds })).body.vehicleIds).toEqual([]);
    const { body } = await api.put(`${path}/${id}`, { ...hook, enabled: false });
    expect(body).toMatchObject({ state: 'disabled', disabledReason: 'REQUESTED' });
    expect(body.vehicleIds).toBeUndefined();
  });

  it('is for applications, not for their users', async () => {
    const { id } = await create();
    const user = platform.as((await createUser(platform.db, application)).token);
    for (const answer of [
      await user.get(path),
      await user.post(path, hook),
      await user.get(`${path}/${id}/deliveries`),
      await user.post(`${path}/${id}/rotate`),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([403, 'UNAUTHORIZED']);
    }
  });

  it('ends at 50 webhooks of an application, also when they are created at the same time', async () => {
    const created = await Promise.all(Array.from({ length: 55 }, () => api.post(path, hook)));
    expect(created.filter(({ status }) => status === 200)).toHaveLength(50);
    expect(created.find(({ status }) => status !== 200)?.body.error).toBe('TOO_MANY');
  });

  it('of one that does not exist is NOT_FOUND on every route', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x']) {
      const answers = [
        await api.get(`${path}/${id}`),
        await api.put(`${path}/${id}`, hook),
        await api.delete(`${path}/${id}`),
        await api.get(`${path}/${id}/deliveries`),
        await api.get(`${path}/${id}/dead-letters`),
        await api.post(`${path}/${id}/rotate`),
        await api.post(`${path}/${id}/test`),
        await api.post(`${path}/${id}/replay`, { from: 1 }),
      ];
      expect(answers.map(({ body }) => body.error)).toEqual(answers.map(() => 'NOT_FOUND'));
    }
  });

  it('is recorded in the audit of the application', async () => {
    const { id } = await create();
    await api.post(`${path}/${id}/rotate`);
    await api.delete(`${path}/${id}`);
    const { rows } = await sql<{ action: string }>`select action from audit where subject = ${`webhook:${id}`}
      order by position`.execute(platform.db);
    expect(rows.map(({ action }) => action)).toEqual(['webhook.create', 'webhook.rotate', 'webhook.delete']);
  });
});

describe('the log of deliveries', () => {
  it('has every attempt, in pages, without what was sent or where to', async () => {
    const { id } = await create();
    for (let n = 0; n < 3; n += 1) await api.post(`${path}/${id}/test`);
    const first = await api.get(`${path}/${id}/deliveries?limit=2`);
    expect(first.body.deliveries).toHaveLength(2);
    expect(first.body.deliveries[0]).toMatchObject({
      ...{ type: 'webhook.test', attempt: 1, error: 'the host has no public address' },
    });
    const next = /<(.+)>/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await api.get(next);
    expect([second.body.deliveries.length, second.headers.get('x-has-more')]).toEqual([1, 'false']);
    const { eventId } = second.body.deliveries[0];
    expect((await api.get(`${path}/${id}/deliveries?eventId=${eventId}&failed=true`)).body.deliveries).toHaveLength(1);
    expect((await api.get(`${path}/${id}/deliveries?failed=false`)).body.deliveries).toEqual([]);
    expect(JSON.stringify([first.body, second.body])).not.toContain('planted');
  });
});

describe('a replay', () => {
  it.each([[{}], [{ from: 1, eventIds: ['x'] }], [{ from: 'yesterday' }], [{ eventIds: [] }]])(
    'with %j is refused',
    async (body) => {
      const { id } = await create();
      expect((await api.post(`${path}/${id}/replay`, body)).body.error).toBe('INVALID_PARAMETER');
    },
  );

  it('names both of its parameters unless exactly one is given', async () => {
    const { id } = await create();
    const { body } = await api.post(`${path}/${id}/replay`, {});
    expect(body.message).toBe('from or eventIds must be given, not both');
  });

  it('from a time before the oldest event kept is rejected with that time', async () => {
    const { id } = await create();
    const { id: vehicleId } = await createVehicle(platform.db, application);
    await sql`update application set events_forgotten_until = pg_current_xact_id()`.execute(platform.db);
    await sql`update vehicle set stolen = true where id = ${Number(vehicleId)}`.execute(platform.db);
    const { status, body } = await api.post(`${path}/${id}/replay`, { from: 1 });
    expect([status, body]).toMatchObject([400, { error: 'INVALID_PARAMETER', field: 'from', reason: 'EXPIRED' }]);
    expect((await api.post(`${path}/${id}/replay`, { from: body.oldest })).status).toBe(200);
    await sql`update application set events_forgotten_until = '0'`.execute(platform.db);
  });
});

describe('the dead letters', () => {
  it('are listed in pages, the latest failure first', async () => {
    const { id } = await create();
    await sql`insert into webhook_dead_letter (webhook_id, event_id, type, position, position_behind, occurred_at, failed_at, error)
      select ${id}, 'event-' || n, 'alarm.raised', '1-1', '1-2', now(), timestamptz '2026-01-01' + n / 2 * interval '1 s', 'answered 500'
      from generate_series(1, 5) as n`.execute(platform.db);
    const listed: string[] = [];
    for (let next = `${path}/${id}/dead-letters?limit=2`; next !== ''; ) {
      const { body, headers } = await api.get(next);
      listed.push(...body.deadLetters.map(({ eventId }: { eventId: string }) => eventId));
      next = /<(.+)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
    }
    expect(listed).toEqual(['event-5', 'event-4', 'event-3', 'event-2', 'event-1']);
    for (const after of ['x', '2026-01-01T00:00:00.000Z_%00']) {
      const { status, body } = await api.get(`${path}/${id}/dead-letters?after=${after}`);
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'after']);
    }
  });
});

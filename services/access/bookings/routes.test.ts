import { randomBytes, randomUUID } from 'node:crypto';
import type { ApiKeyScope } from '@odograph/contracts/caller';
import { hashSecret } from '@odograph/runtime/secrets';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import { archiveVehicle, fillWithoutTriggers, unlinkDevice } from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { inMinutes, useAccess } from '../access.fixture.ts';
import { answerOf, book, floating, pathOf, planned } from './bookings.fixture.ts';

const access = await useAccess();

const authorization = (id: string) => access.api.get(`/v1/bluetooth-token/${id}`);

describe('POST /v1/vehicle/{id}/booking with an Idempotency-Key', () => {
  const keyed = (key: string = randomUUID()) => ({ 'idempotency-key': key });
  const createBooking = (headers: Record<string, string>, body: object, api = access.api) =>
    api.post(pathOf(access.vehicle), body, headers);
  const bookingCount = async () =>
    (
      await access.platform.db
        .selectFrom('booking')
        .select('id')
        .where('vehicle_id', '=', Number(access.vehicle.id))
        .execute()
    ).length;
  const isReplayed = ({ headers }: ApiAnswer) => headers.get('idempotency-replayed') === 'true';

  it('creates one booking for concurrent requests, and answers all of them like the first', async () => {
    const [headers, body] = [keyed(), planned()];
    const answers = await Promise.all(Array.from({ length: 8 }, () => createBooking(headers, body)));
    const [first] = answers.filter((answer) => !isReplayed(answer));
    expect(answers.filter(isReplayed)).toHaveLength(7);
    expect(answers.map((answer) => [answer.status, answer.body])).toEqual(answers.map(() => [200, first?.body]));
    expect(first?.body.authorization.token).toHaveLength(107);
    expect(await bookingCount()).toBe(1);
  });

  it('rejects the same key with other parameters, and creates nothing', async () => {
    const [headers, body] = [keyed(), planned()];
    await createBooking(headers, body);
    const other = await createBooking(headers, { ...body, driver: 'driver-2' });
    expect(answerOf(other)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    const stopped = await access.api.post(`/v1/booking/${randomUUID()}/stop`, {}, headers);
    expect(answerOf(stopped)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect(await bookingCount()).toBe(1);
  });

  it('is executed again after a failure, and after 24 hours', async () => {
    const [headers, body] = [keyed(), planned()];
    const blocking = await book(access.api, access.vehicle, body);
    expect(answerOf(await createBooking(headers, body))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    await access.api.delete(`/v1/booking/${blocking.bookingId}`);
    const first = await createBooking(headers, body);
    expect([first.status, isReplayed(first)]).toEqual([200, false]);
    await sql`update idempotent_request set created_at = now() - interval '24 hours 1 second'
      where key_sha256 = ${hashSecret(headers['idempotency-key'])}`.execute(access.platform.db);
    expect(answerOf(await createBooking(headers, body))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
  });

  it('never returns the answer of another application or user', async () => {
    const [headers, body] = [keyed(), planned()];
    const manager = await access.createUser('manager');
    const first = await createBooking(headers, body);
    expect(answerOf(await createBooking(headers, body, manager.api))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    expect(answerOf(await createBooking(headers, body, access.foreign))).toEqual([404, 'UNKNOWN_VEHICLE']);
    expect((await createBooking(headers, body)).body).toEqual(first.body);
  });

  it('is not executed while it is unknown what an earlier request with the key created', async () => {
    const [headers, body] = [keyed(), planned()];
    await createBooking(headers, body);
    const ofKey = sql`key_sha256 = ${hashSecret(headers['idempotency-key'])}`;
    await sql`update idempotent_request set sealed_answer = null where ${ofKey}`.execute(access.platform.db);
    expect(answerOf(await createBooking(headers, body))).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
    expect(await bookingCount()).toBe(1);
  });

  it.skipIf(!inject('isNativeDatabase'))(
    'has an unknown outcome if its database session ends, and keeps its key',
    async () => {
      const headers = keyed();
      const answer = await access.platform.db.transaction().execute(async (blocking) => {
        await sql`select from vehicle where id = ${Number(access.vehicle.id)} for update`.execute(blocking);
        const booking = createBooking(headers, planned());
        await waitForLock(blocking);
        await sql`select pg_terminate_backend(pid) from pg_locks
          where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(blocking);
        return booking;
      });
      const { error, reason } = answer.body;
      expect([answer.status, error, reason]).toEqual([503, 'OVERLOADED', 'OUTCOME_UNKNOWN']);
      const ofKey = sql`key_sha256 = ${hashSecret(headers['idempotency-key'])} and sealed_answer is null`;
      const { rows } = await sql`select from idempotent_request where ${ofKey}`.execute(access.platform.db);
      expect([rows.length, await bookingCount()]).toEqual([1, 0]);
    },
  );

  it('leaves neither its key nor its answer readable in the database', async () => {
    const headers = keyed();
    const { body } = await createBooking(headers, planned());
    const { rows } = await sql<{ row: string }>`select row_to_json(one)::text || encode(sealed_answer, 'escape') as row
      from idempotent_request one
      where key_sha256 = ${hashSecret(headers['idempotency-key'])}`.execute(access.platform.db);
    expect(rows).toHaveLength(1);
    for (const secret of [
      headers['idempotency-key'],
      body.authorization.token,
      body.authorization.key,
      body.bookingId,
    ]) {
      expect(rows[0]?.row).not.toContain(secret);
    }
  });
});

describe('POST /v1/vehicle/{id}/booking', () => {
  it('answers exactly the documented fields, with an authorization to drive for the interval', async () => {
    const request = planned();
    const body = await book(access.api, access.vehicle, request);
    const { bookingId, authorizationId } = body;
    const record = { from: request.from, until: request.until, vehicleId: access.vehicle.id, userId: 'driver-1' };
    const { token, key } = (await authorization(authorizationId)).body;
    expect(body).toEqual({
      ...record,
      ...{ booked: true, bookingId, authorizationId, bookingType: 'BOOKING' },
      authorization: { id: authorizationId, token, key },
      commands: (await access.api.get(`/v1/bluetooth-token/${authorizationId}/commands`)).body,
    });
    expect([token.length, key.length, body.commands.immobilize.length]).toEqual([107, 43, 27]);
    expect((await authorization(authorizationId)).body).toEqual({ ...record, token, key });
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body).toEqual({
      ...record,
      ...{ id: bookingId, authorizationId, bookingType: 'BOOKING' },
    });
  });

  it('accepts UNIX seconds and milliseconds, also in the query string', async () => {
    const [from, until] = [Date.now() + 60_000, Date.now() + 120_000];
    const search = new URLSearchParams({ type: 'BOOKING', from: String(from / 1000), until: String(until) });
    const { body } = await access.api.post(`${pathOf(access.vehicle)}?${search.toString()}`);
    expect([Date.parse(body.from), Date.parse(body.until)]).toEqual([from, until]);
    const later = { ...planned(), from: until / 1000, until: until + 1 };
    expect(Date.parse((await book(access.api, access.vehicle, later)).until)).toBe(until + 1);
  });

  it('leaves a free-floating booking open-ended, with an authorization that ends after 30 days', async () => {
    for (const until of [undefined, '', null]) {
      const body = await book(access.api, access.vehicle, { ...floating(), until });
      expect([body.until, body.bookingType]).toEqual(['', 'FREE_FLOATING']);
      const { from, until: end } = (await authorization(body.authorizationId)).body;
      expect((Date.parse(end) - Date.parse(from)) / 86_400_000).toBeCloseTo(30, 2);
      await access.api.post(`/v1/booking/${body.bookingId}/stop`);
    }
  });

  it('makes the application the driver when the request names none', async () => {
    const { driver: _driver, ...request } = planned();
    expect((await book(access.api, access.vehicle, request)).userId).toBe(access.application.appId);
    expect(
      (await book(access.api, access.vehicle, { ...request, driver: '', from: inMinutes(200), until: inMinutes(201) }))
        .userId,
    ).toBe(access.application.appId);
  });

  it('gives an API key what opens the vehicle only with the scope commands, and so does PUT', async () => {
    const clientOf = async (...scopes: ApiKeyScope[]) => {
      const { application, platform } = access;
      const key = `${application.appId}.${randomBytes(32).toString('base64url')}`;
      const row = {
        application_id: application.id,
        name: scopes.join(),
        key_sha256: hashSecret(key),
        scopes,
        networks: [],
      };
      await platform.db.insertInto('api_key').values(row).execute();
      return platform.as(key);
    };
    for (const [client, opens] of [
      [await clientOf('write'), false],
      [await clientOf('write', 'commands'), true],
    ] as const) {
      const {
        bookingId,
        authorizationId,
        authorization: issued,
        commands,
      } = await book(client, access.vehicle, planned());
      const { body: record } = await access.api.get(`/v1/bluetooth-token/${authorizationId}/commands`);
      expect(Object.keys(commands).sort()).toEqual(Object.keys(record).sort());
      const { body: changed } = await client.put(`/v1/booking/${bookingId}`, { until: inMinutes(130) });
      expect(changed.updated).toBe(true);
      const secrets = [issued.token, issued.key, commands.key, commands.unlock, changed.token, changed.key];
      expect(secrets.map((secret) => secret !== '')).toEqual(secrets.map(() => opens));
      expect((await authorization(changed.authorizationId)).body.token).toHaveLength(107);
      await client.delete(`/v1/booking/${bookingId}`);
    }
  });

  it('answers empty commands for a device without Bluetooth', async () => {
    access.vehicle = await access.newVehicle({ model: 'tracker' });
    const { commands } = await book(access.api, access.vehicle, planned());
    expect(commands).toMatchObject({ key: '', lock: '', encryptLock: false, digitalOutput: {} });
  });

  it.each([
    ['INVALID_BOOKING_TYPE', { type: 'RENTAL' }],
    ['INVALID_BOOKING_TYPE', { type: undefined }],
    ['INVALID_INTERVAL', { until: undefined }],
    ['INVALID_INTERVAL', { until: '' }],
    ['INVALID_INTERVAL', { from: inMinutes(-4), until: inMinutes(-1) }],
    ['INVALID_INTERVAL', { type: 'FREE_FLOATING', from: inMinutes(-4), until: inMinutes(-1) }],
    ['INVALID_INTERVAL', { from: inMinutes(-5.1) }],
    ['INVALID_INTERVAL', { from: '2020-01-01', until: '2020-01-02' }],
    ['INVALID_INTERVAL', { from: '2035-01-01', until: '2035-01-01' }],
    ['INVALID_INTERVAL', { from: '2035-01-02', until: '2035-01-01' }],
    ['INVALID_INTERVAL', { type: 'FREE_FLOATING', from: '2035-01-02', until: '2035-01-01' }],
  ])('answers %s for %j', async (error, changes) => {
    expect(answerOf(await access.api.post(pathOf(access.vehicle), { ...planned(), ...changes }))).toEqual([400, error]);
  });

  it.each([
    ['from', undefined],
    ['from', 'soon'],
    ['until', {}],
    ['driver', ' '],
    ['driver', 'a\0b'],
    ['driver', ['a']],
  ])('names %s in the failure when it is %j', async (field, value) => {
    const { status, body } = await access.api.post(pathOf(access.vehicle), { ...planned(), [field]: value });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('answers NO_DEVICE for a vehicle without a device', async () => {
    await unlinkDevice(access.platform.db, access.vehicle.deviceId);
    expect(answerOf(await access.api.post(pathOf(access.vehicle), planned()))).toEqual([404, 'NO_DEVICE']);
  });

  it.each(['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'])(
    'answers VEHICLE_NOT_AVAILABLE for a vehicle with %s, and names it',
    async (column) => {
      await access.changeVehicle({ [column]: true });
      const { status, body } = await access.api.post(pathOf(access.vehicle), planned());
      const message = `the vehicle is not in service: ${column}`;
      expect([status, body]).toEqual([409, { error: 'VEHICLE_NOT_AVAILABLE', message }]);
    },
  );

  it('answers VEHICLE_ARCHIVED to a booking of an archived vehicle and to a change of one, and still ends it', async () => {
    const active = await book(access.api, access.vehicle, floating());
    const later = await book(access.api, await access.newVehicle(), planned());
    for (const id of [access.vehicle.id, later.vehicleId]) await archiveVehicle(access.platform.db, id);
    const created = await access.api.post(pathOf(access.vehicle), planned());
    const changed = await access.api.put(`/v1/booking/${active.bookingId}`, { until: inMinutes(5) });
    for (const answer of [created, changed]) expect(answerOf(answer)).toEqual([409, 'VEHICLE_ARCHIVED']);
    expect((await access.api.post(`/v1/booking/${active.bookingId}/stop`)).body).toEqual({ stopped: true });
    expect((await access.api.delete(`/v1/booking/${later.bookingId}`)).body).toEqual({ deleted: true });
  });

  it('answers VEHICLE_NOT_AVAILABLE for an overlap, says so, and accepts adjacent bookings', async () => {
    const [from, until] = [inMinutes(60), inMinutes(120)];
    await book(access.api, access.vehicle, { ...planned(), from, until });
    for (const overlap of [
      { from: inMinutes(61), until: inMinutes(62) },
      { from: inMinutes(0), until: inMinutes(61) },
    ]) {
      const { status, body } = await access.api.post(pathOf(access.vehicle), { ...planned(), ...overlap });
      const message = 'another booking of the vehicle overlaps';
      expect([status, body]).toEqual([409, { error: 'VEHICLE_NOT_AVAILABLE', message }]);
    }
    await book(access.api, access.vehicle, { ...planned(), from: until, until: inMinutes(180) });
    await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0), until: from });
  });

  it('accepts exactly one of 50 simultaneous bookings of a vehicle, and stores nothing of the others', async () => {
    const requests = Array.from({ length: 50 }, (_unused, index) => ({ ...planned(), driver: `driver-${index}` }));
    const answers = await Promise.all(requests.map((request) => access.api.post(pathOf(access.vehicle), request)));
    const outcomes = answers.map(({ status, body }) => `${status} ${body.error ?? body.booked}`).sort();
    expect(outcomes).toEqual(['200 true', ...Array<string>(49).fill('409 VEHICLE_NOT_AVAILABLE')]);
    expect((await access.api.get(pathOf(access.vehicle))).body.bookings).toHaveLength(1);
    const { body } = await access.api.get(`/v1/vehicle/${access.vehicle.id}/authorizations/scheduled`);
    expect(body.authorizations).toHaveLength(1);
  });

  it('writes every change to the audit, with the caller', async () => {
    const { bookingId } = await book(access.api, access.vehicle, planned());
    await access.api.put(`/v1/booking/${bookingId}`, { until: inMinutes(90) });
    await access.api.post(`/v1/booking/${bookingId}/stop`);
    const other = (await book(access.api, access.vehicle, planned())).bookingId;
    await access.api.delete(`/v1/booking/${other}`);
    const { rows } = await sql<{
      action: string;
    }>`select action, actor, address, details->>'driver' as driver from audit
      where subject in (${`booking:${bookingId}`}, ${`booking:${other}`})
        order by position`.execute(access.platform.db);
    expect(rows).toEqual(
      ['create', 'update', 'stop', 'create', 'delete'].map((action) => ({
        action: `booking.${action}`,
        actor: 'application',
        address: '127.0.0.1',
        driver: 'driver-1',
      })),
    );
  });
});

describe('a list of bookings', () => {
  it('of a vehicle contains all but the deleted ones, the latest start first, in pages on request', async () => {
    const first = (await book(access.api, access.vehicle, planned())).bookingId;
    const second = (
      await book(access.api, access.vehicle, { ...planned(), from: inMinutes(130), until: inMinutes(140) })
    ).bookingId;
    const gone = (await book(access.api, access.vehicle, { ...planned(), from: inMinutes(150), until: inMinutes(160) }))
      .bookingId;
    await access.api.delete(`/v1/booking/${gone}`);
    const idsOf = ({ body }: ApiAnswer) => body.bookings.map(({ id }: { id: string }) => id);
    const { body } = await access.api.get(pathOf(access.vehicle));
    expect(idsOf({ body } as ApiAnswer)).toEqual([second, first]);
    expect(body.bookings[1]).toEqual((await access.api.get(`/v1/booking/${first}`)).body);
    const page = await access.api.get(`${pathOf(access.vehicle)}?limit=1`);
    expect(idsOf(page)).toEqual([second]);
    const next = page.headers.get('link')?.match(/<(.*)>; rel="next"/)?.[1] ?? '';
    const last = await access.api.get(next);
    expect([idsOf(last), last.headers.get('x-has-more')]).toEqual([[first], 'false']);
  });

  it('of a vehicle is whole without a limit', async () => {
    await fillWithoutTriggers(
      access.platform.db,
      sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, authorization_id)
      select ${access.application.id}, ${Number(access.vehicle.id)}, 'driver-1', 'BOOKING', start,
        start + interval '1 microsecond', gen_random_uuid()
      from generate_series(1, 2100) n, lateral (select now() + n * interval '1 microsecond' as start) times`,
    );
    const { body } = await access.api.get(pathOf(access.vehicle));
    const ids: string[] = body.bookings.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(2100);
    const page = await access.api.get(`${pathOf(access.vehicle)}?offset=500&limit=1500`);
    expect(page.body.bookings.map(({ id }: { id: string }) => id)).toEqual(ids.slice(500, 2000));
    expect(page.headers.get('x-has-more')).toBe('true');
  });
});

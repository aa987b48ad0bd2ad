import { randomUUID } from 'node:crypto';
import { type ApiClient, createBrowser } from '@odograph/testkit/api-client';
import {
  createApplication,
  createGroup,
  createOperator,
  createUser,
  createVehicle,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';

setUpVehicle();

/** Inserts a booking; dates are days of March 2025. */
async function book(of: TestVehicle, from: number, until: number | null, values: object = {}): Promise<string> {
  const day = (number: number) => new Date(Date.UTC(2025, 2, number));
  const { id } = await platform.db
    .insertInto('booking')
    .values({
      ...{ application_id: application.id, vehicle_id: Number(of.id), user_id: 'driver', account_id: null },
      ...{ type: 'FREE_FLOATING', starts_at: day(from), ends_at: until === null ? null : day(until) },
      ...{ authorization_id: randomUUID(), ...values },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
const calendar = async (from: number, until: number, as = client, more = '') =>
  (await as.get(`/v1/x/bookings?from=2025-03-0${from}&until=2025-03-0${until}${more}`)).body;
const idsOf = (body: { bookings: { bookingId: string }[] }) => body.bookings.map(({ bookingId }) => bookingId);

describe('GET /v1/x/bookings', () => {
  it('answers the bookings that overlap the interval over all vehicles, bounds excluded, and pending requests', async () => {
    const other = await createVehicle(platform.db, application);
    const [first, second] = [await book(vehicle, 1, 3), await book(vehicle, 3, 5)];
    const open = await book(other, 2, null);
    await book(vehicle, 6, 7, { deleted_at: new Date() });
    await sql`insert into vehicle_request (application_id, plate, request)
      values (${application.id}, 'AB-1', 'ADD')`.execute(platform.db);
    await sql`insert into vehicle_request (application_id, plate, request, state)
      values (${application.id}, 'AB-2', 'ADD', 'declined')`.execute(platform.db);
    const { bookings, requests } = await calendar(1, 8);
    expect(bookings.map(({ bookingId }: { bookingId: string }) => bookingId)).toEqual([first, open, second]);
    expect(bookings[0]).toEqual({
      ...{
        bookingId: first,
        vehicleId: vehicle.id,
        plate: expect.any(String),
        appId: application.appId,
        userId: 'driver',
      },
      ...{ type: 'FREE_FLOATING', state: 'ENDED', from: '2025-03-01T00:00:00.000Z', until: '2025-03-03T00:00:00.000Z' },
    });
    expect(bookings[1]).toMatchObject({ state: 'ACTIVE' });
    expect(bookings[1]).not.toHaveProperty('until');
    expect(requests).toEqual([
      {
        requestId: expect.any(String),
        appId: application.appId,
        plate: 'AB-1',
        request: 'ADD',
        createdAt: expect.any(String),
      },
    ]);
    expect(idsOf(await calendar(3, 4))).toEqual([open, second]);
    expect(idsOf(await calendar(5, 9, client, `&vehicleId=${vehicle.id}`))).toEqual([]);
    const seen: string[] = [];
    let path: string | undefined = '/v1/x/bookings?from=2025-03-01&until=2025-03-08&limit=1';
    while (path) {
      const { body, headers }: Awaited<ReturnType<ApiClient['get']>> = await client.get(path);
      seen.push(...idsOf(body));
      path = /<(.+)>/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual([first, open, second]);
  });

  it('answers only the bookings of a group and its subgroups, on every page', async () => {
    const [inSubgroup, outside] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    const group = await createGroup(platform.db, application, { vehicleIds: [vehicle.id] });
    await createGroup(platform.db, application, { parentId: group, vehicleIds: [inSubgroup.id] });
    const booked = [await book(vehicle, 1, 3), await book(inSubgroup, 2, 3)];
    await book(outside, 1, 2);
    await book(outside, 2, 3);
    expect(idsOf(await calendar(1, 8, client, `&group=${group}`))).toEqual(booked);
    const { headers } = await client.get(`/v1/x/bookings?from=2025-03-01&until=2025-03-08&limit=1&group=${group}`);
    const next = /<(.+)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
    expect(idsOf((await client.get(next)).body)).toEqual([booked[1]]);
  });

  it('answers pending requests on the first page only', async () => {
    for (const day of [1, 2, 3]) await book(vehicle, day, day + 1);
    await sql`insert into vehicle_request (application_id, plate, request)
      values (${application.id}, 'AB-1', 'ADD')`.execute(platform.db);
    const pages: [bookings: number, requests: number][] = [];
    let path: string | undefined = '/v1/x/bookings?from=2025-03-01&until=2025-03-08&limit=1';
    while (path) {
      const { body, headers }: Awaited<ReturnType<ApiClient['get']>> = await client.get(path);
      pages.push([body.bookings.length, body.requests.length]);
      path = /<(.+)>/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(pages).toEqual([
      [1, 1],
      [1, 0],
      [1, 0],
    ]);
  });

  it('shows a user its own bookings, a manager those of the vehicle, and others nothing', async () => {
    const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'driver' });
    const manager = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const own = await book(vehicle, 1, 2, { account_id: user.id });
    const all = [own, await book(vehicle, 3, 4)];
    await sql`insert into vehicle_request (application_id, plate, request)
      values (${application.id}, 'AB-1', 'ADD')`.execute(platform.db);
    const seenBy = async (as: ApiClient) => {
      const body = await calendar(1, 9, as);
      return [idsOf(body), body.requests.length];
    };
    const withToken = (token: string) => platform.as(token);
    expect(await seenBy(withToken(user.token))).toEqual([[own], 0]);
    expect(await seenBy(withToken(manager.token))).toEqual([all, 0]);
    const limited = await createOperator(platform.db, { role: 'viewer', applicationIds: [application.id] });
    expect(await seenBy(createBrowser(platform.httpUrl, limited.cookie))).toEqual([all, 1]);
    const stranger = await createApplication(platform.db);
    expect(await seenBy(withToken(stranger.token))).toEqual([[], 0]);
    const elsewhere = await createOperator(platform.db, { role: 'administrator', applicationIds: [stranger.id] });
    expect(await seenBy(createBrowser(platform.httpUrl, elsewhere.cookie))).toEqual([[], 0]);
    const { admin } = platform;
    expect(idsOf(await calendar(1, 9, admin))).toEqual(expect.arrayContaining(all));
  });

  it.each([
    ['until', 'INVALID_INTERVAL', 'from=9&until=9'],
    ['after', 'INVALID_PARAMETER', 'from=0&until=9&after=1_x'],
    ['limit', 'INVALID_PARAMETER', 'from=0&until=9&limit=5001'],
  ])('names %s as %s: %s', async (field, error, query) => {
    const { status, body } = await client.get(`/v1/x/bookings?${query}`);
    expect([status, body.error, body.field]).toEqual([400, error, field]);
    expect((await client.get('/v1/x/bookings?from=0&until=9&vehicleId=1')).body.error).toBe('UNKNOWN_VEHICLE');
  });
});

describe('GET /v1/x/vehicle/{id}/access', () => {
  it('names current and planned authorizations and grants; to a user who is no manager, its own', async () => {
    const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'driver' });
    const manager = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const authorize = async (driver: string, until: string, revokedAt: Date | null = null) => {
      const { rows } = await sql<{ id: string }>`insert into bluetooth_authorization
        (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at)
        values (${vehicle.id}::integer, ${driver}, 'DRIVE', '2025-03-01', ${until}, ${revokedAt})
        returning id`.execute(platform.db);
      return rows[0]?.id;
    };
    const own = await authorize(user.username.toUpperCase(), '2099-01-01');
    const other = await authorize('another-driver', '2099-01-01');
    await authorize('past', '2025-03-02');
    await authorize('revoked', '2099-01-01', new Date());
    const path = `/v1/x/vehicle/${vehicle.id}/access`;
    const read = async (as: ApiClient) => {
      const { authorizations, grants } = (await as.get(path)).body;
      const ids = authorizations.map(({ authorizationId }: { authorizationId: string }) => authorizationId);
      return [ids.sort(), grants.map(({ role }: { role: string }) => role).sort()];
    };
    const all = [[own ?? '', other ?? ''].sort((one, next) => (one < next ? -1 : 1)), ['driver', 'manager']];
    expect(await read(client)).toEqual(all);
    expect(await read(platform.as(manager.token))).toEqual(all);
    const asUser = platform.as(user.token);
    expect(await read(asUser)).toEqual([[own], ['driver']]);
    expect((await asUser.get(path)).body).toEqual({
      authorizations: [
        {
          ...{ authorizationId: own, userId: user.username.toUpperCase(), level: 'DRIVE' },
          ...{ from: '2025-03-01T00:00:00.000Z', until: '2099-01-01T00:00:00.000Z', issuedAt: expect.any(String) },
        },
      ],
      grants: [{ userId: user.id, username: user.username, role: 'driver', byGroup: false }],
    });
    const stranger = platform.as((await createApplication(platform.db)).token);
    expect((await stranger.get(path)).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('lists ended authorizations on demand, with who issued them and when they were revoked', async () => {
    const manager = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const { rows } = await sql<{ id: string }>`insert into bluetooth_authorization
      (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at, issued_by, replaced_by) values
      (${vehicle.id}::integer, 'past', 'DRIVE', '2025-03-01', '2025-03-02', null, null, null),
      (${vehicle.id}::integer, 'revoked', 'DRIVE', '2025-03-02', '2099-01-01', '2025-03-03', ${manager.id}, null),
      (${vehicle.id}::integer, 'replaced', 'DRIVE', '2025-03-03', '2099-01-01', '2025-03-03', null, gen_random_uuid()),
      (${vehicle.id}::integer, 'current', 'DRIVE', '2025-03-04', '2099-01-01', null, null, null)
      returning id`.execute(platform.db);
    const path = `/v1/x/vehicle/${vehicle.id}/access`;
    const drivers = (body: { authorizations: { userId: string }[] }) => body.authorizations.map(({ userId }) => userId);
    expect(drivers((await client.get(path)).body)).toEqual(['current']);
    const { body } = await client.get(`${path}?ended=true`);
    expect(drivers(body)).toEqual(['past', 'revoked', 'current']);
    expect(body.authorizations[1]).toMatchObject({
      ...{ authorizationId: rows[1]?.id, revokedAt: '2025-03-03T00:00:00.000Z', issuedBy: manager.username },
    });
    expect(body.authorizations[0]).not.toHaveProperty('issuedBy');
  });
});

import { randomUUID } from 'node:crypto';
import { appendAudit } from '@odograph/database/audit';
import { createApplication, createGroup, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

// A separate database: searching every table is slow among the readings of other tests.
const database = await createOwnDatabase('persons');
afterAll(() => database.drop());
const { platform, admin } = await startFleet({ DATABASE_URL: database.url });
const { db } = platform;

/** Creates a booking with its authorization and audit row for a driver. */
async function book(application: TestApplication, driver: string, accountId: string | null, endsAt: Date) {
  const vehicle = await createVehicle(db, application);
  const startsAt = new Date(Date.now() - 7_200_000);
  const authorization = await db
    .insertInto('bluetooth_authorization')
    .values({
      vehicle_id: Number(vehicle.id),
      driver_id: driver,
      level: 'DRIVE',
      valid_from: startsAt,
      valid_until: endsAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const booking = await db
    .insertInto('booking')
    .values({
      ...{ application_id: application.id, vehicle_id: Number(vehicle.id), user_id: driver, account_id: accountId },
      ...{ type: 'BOOKING', starts_at: startsAt, ends_at: endsAt, authorization_id: authorization.id },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  await appendAudit(db, {
    ...{ chain: application.id, actor: accountId === null ? 'application' : `user:${accountId}`, address: '192.0.2.7' },
    ...{ action: 'booking.create', subject: `booking:${booking.id}`, details: { driver }, outcome: 'done' },
  });
  return { vehicle, bookingId: booking.id };
}

const inAnHour = () => new Date(Date.now() + 3_600_000);
const anHourAgo = () => new Date(Date.now() - 3_600_000);

/** Lists the tables in which a text occurs in any column. */
async function tablesWith(...texts: string[]): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(db);
  const found = new Set<string>();
  for (const { name } of tables) {
    for (const text of texts) {
      const { rows } = await sql<{ found: boolean }>`select exists (select from ${sql.table(name)} as one
        where strpos(to_jsonb(one)::text, ${text}) > 0) as found`.execute(db);
      if (rows[0]?.found === true) found.add(name);
    }
  }
  return [...found];
}

async function createAccount(application: TestApplication, username: string): Promise<string> {
  const answer = await admin.post('/v1/x/admin/users', {
    appId: application.appId,
    username,
    password: 'correct horse battery',
  });
  return answer.body.userId;
}

describe('erasing a person', () => {
  it('leaves neither account id nor user name nor address in any table, and the audit still verifies', async () => {
    const application = await createApplication(db);
    const username = `person-${randomUUID()}`;
    const userId = await createAccount(application, username);
    const { vehicle } = await book(application, userId, userId, anHourAgo());
    await admin.post(`/v1/x/admin/users/${userId}/vehicles`, { vehicleId: vehicle.id });
    await book(application, username, userId, anHourAgo());
    expect(await tablesWith(userId)).toEqual(
      expect.arrayContaining(['audit', 'bluetooth_authorization', 'booking', 'user_account', 'vehicle_grant']),
    );

    const { status, body } = await admin.post(`/v1/x/admin/persons/${userId}/erase`, { appId: application.appId });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        pseudonym: expect.stringMatching(/^erased-[0-9a-f-]{36}$/),
        changed: { commands: 0, mileageEntries: 0, bookings: 2, authorizations: 2, auditRows: 4 },
      },
    });
    expect(await tablesWith(userId, username)).toEqual([]);
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count from audit
      where chain = ${application.id} and address = '192.0.2.7'`.execute(db);
    expect(rows[0]?.count).toBe(0);

    const { chains } = (await admin.get('/v1/x/admin/audit/verify')).body;
    const chain = chains.find((one: { appId: string }) => one.appId === application.appId);
    expect(chain).toMatchObject({ length: 5, erasedRows: 4 });
    expect(chain).not.toHaveProperty('fault');
  });

  it('replaces the names of an account in any case, and is refused while a booking by any of them is open', async () => {
    const application = await createApplication(db);
    const username = `person-${randomUUID()}`;
    const userId = await createAccount(application, username);
    const names = [userId, userId.toUpperCase(), username, username.toUpperCase()];
    for (const name of names) await book(application, name, userId, anHourAgo());
    await sql`insert into mileage_entry (application_id, vehicle_id, trip_id, version, started_at, ended_at, distance_km,
        class, driver, entered_by)
      select application_id, id, gen_random_uuid(), 1, now(), now(), 1, 'business', ${username.toUpperCase()}, 'application'
      from vehicle where application_id = ${application.id} limit 1`.execute(db);
    const open = await book(application, userId.toUpperCase(), userId, inAnHour());
    const path = `/v1/x/admin/persons/${userId}`;

    const refused = await admin.post(`${path}/erase`, {});
    expect([refused.status, refused.body.error]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED']);
    await sql`update booking set stopped_at = now() where id = ${open.bookingId}`.execute(db);
    expect((await admin.post(`${path}/erase`, {})).status).toBe(409);
    await sql`update bluetooth_authorization set revoked_at = now()
      where vehicle_id = ${Number(open.vehicle.id)}`.execute(db);
    const exported = (await admin.get(path)).body;
    expect([exported.bookings.length, exported.authorizations.length, exported.mileage.length]).toEqual([5, 5, 1]);
    const { changed } = (await admin.post(`${path}/erase`, {})).body;
    expect(changed).toMatchObject({ bookings: 5, authorizations: 5, mileageEntries: 1 });
    expect(await tablesWith(...names)).toEqual([]);
  });

  it('leaves the rows of an earlier account that had the same name in another case', async () => {
    const application = await createApplication(db);
    const username = `person-${randomUUID()}`;
    const earlier = await createAccount(application, username.toUpperCase());
    await book(application, username.toUpperCase(), earlier, anHourAgo());
    await admin.delete(`/v1/x/admin/users/${earlier}`);
    const userId = await createAccount(application, username);
    await book(application, username, userId, anHourAgo());
    expect((await admin.post(`/v1/x/admin/persons/${userId}/erase`, {})).status).toBe(200);
    expect(await tablesWith(username)).toEqual([]);
    const { rows } = await sql`select user_id, account_id from booking where application_id = ${application.id}
      and user_id not like 'erased-%'`.execute(db);
    expect(rows).toEqual([{ user_id: username.toUpperCase(), account_id: earlier }]);
  });

  it.each(['vehicle', 'group'])(
    'ends the authorizations that the manager of a %s has issued for others',
    async (kind) => {
      const application = await createApplication(db);
      const userId = await createAccount(application, `person-${randomUUID()}`);
      const vehicle = await createVehicle(db, application);
      const groupId = await createGroup(db, application, { vehicleIds: [vehicle.id] });
      const granted = kind === 'vehicle' ? { vehicleId: vehicle.id } : { groupId };
      const path = `/v1/x/admin/users/${userId}/${kind}s`;
      expect((await admin.post(path, { ...granted, role: 'manager' })).status).toBe(200);
      const { rows } = await sql<{
        id: string;
      }>`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from,
        valid_until, issued_by)
      values (${vehicle.id}::integer, 'a visitor', 'DRIVE', now(), ${inAnHour()}, ${userId}) returning id`.execute(db);
      expect((await admin.post(`/v1/x/admin/persons/${userId}/erase`, {})).status).toBe(200);
      const { rows: left } = await sql`select from bluetooth_authorization
      where id = ${rows[0]?.id} and revoked_at is null`.execute(db);
      expect(left).toEqual([]);
    },
  );

  it('finds a driver who appears only in the mileage log or the audit once the bookings are deleted', async () => {
    const application = await createApplication(db);
    const [logged, audited] = [`driver-${randomUUID()}`, `driver-${randomUUID()}`];
    await sql`insert into mileage_entry (application_id, vehicle_id, trip_id, version, started_at, ended_at, distance_km,
        class, driver, entered_by)
      values (${application.id}, ${(await createVehicle(db, application)).id}::integer, gen_random_uuid(), 1, now(), now(), 1,
        'business', ${logged}, 'application')`.execute(db);
    const { vehicle } = await book(application, audited, null, anHourAgo());
    await sql`delete from booking where vehicle_id = ${vehicle.id}::integer`.execute(db);
    await sql`delete from bluetooth_authorization where vehicle_id = ${vehicle.id}::integer`.execute(db);
    for (const driver of [logged, audited]) {
      const path = `/v1/x/admin/persons/${driver}`;
      expect((await admin.get(path)).status).toBe(200);
      expect((await admin.post(`${path}/erase`, {})).status).toBe(200);
    }
    expect(await tablesWith(logged, audited)).toEqual([]);
  });

  it('leaves other persons and other applications alone', async () => {
    const [own, other] = [await createApplication(db), await createApplication(db)];
    const [driver, neighbour] = [`driver-${randomUUID()}`, `driver-${randomUUID()}`];
    await book(own, driver, null, anHourAgo());
    await book(own, neighbour, null, anHourAgo());
    await book(other, driver, null, anHourAgo());
    const ambiguous = await admin.post(`/v1/x/admin/persons/${driver}/erase`, {});
    expect([ambiguous.status, ambiguous.body.field]).toEqual([400, 'appId']);
    expect((await admin.post(`/v1/x/admin/persons/${driver}/erase`, { appId: own.appId })).status).toBe(200);
    const { rows } = await sql<{ application_id: number; user_id: string }>`select application_id, user_id from booking
      where application_id in (${own.id}, ${other.id}) and user_id not like 'erased-%' order by 1`.execute(db);
    expect(rows).toEqual([
      { application_id: own.id, user_id: neighbour },
      { application_id: other.id, user_id: driver },
    ]);
  });

  it('requires the application if one has an account and another one a driver of this name', async () => {
    const [first, second] = [await createApplication(db), await createApplication(db)];
    const name = `person-${randomUUID()}`;
    const userId = await createAccount(first, name);
    await book(first, name, userId, anHourAgo());
    await book(second, name, null, anHourAgo());
    const ambiguous = await admin.post(`/v1/x/admin/persons/${name}/erase`, {});
    expect([ambiguous.status, ambiguous.body.field]).toEqual([400, 'appId']);
    expect((await admin.post(`/v1/x/admin/persons/${name}/erase`, { appId: second.appId })).status).toBe(200);
    const { rows } = await sql`select user_id from booking where application_id in (${first.id}, ${second.id})
      and user_id not like 'erased-%'`.execute(db);
    expect(rows).toEqual([{ user_id: name }]);
  });

  it('is refused while a booking or authorization is open, and for an unknown person', async () => {
    const application = await createApplication(db);
    const driver = `driver-${randomUUID()}`;
    await book(application, driver, null, inAnHour());
    const open = await admin.post(`/v1/x/admin/persons/${driver}/erase`, {});
    expect([open.status, open.body.error]).toEqual([409, 'NOT_ALL_AUTHORIZATIONS_REVOKED']);
    expect(await tablesWith(driver)).toContain('booking');
    const unknown = await admin.post(`/v1/x/admin/persons/${randomUUID()}/erase`, {});
    expect([unknown.status, unknown.body.error]).toEqual([404, 'UNKNOWN_USER']);
  });

  it('is possible only by the function: the audit refuses other changes', async () => {
    const application = await createApplication(db);
    await book(application, 'a driver', null, anHourAgo());
    await expect(
      sql`update audit set actor = 'x', salt = null where chain = ${application.id}`.execute(db),
    ).rejects.toThrow('only ever added');
  });
});

describe('exporting a person', () => {
  it('returns account, grants, bookings, authorizations, trips during bookings and audit rows, and records it', async () => {
    const application = await createApplication(db);
    const username = `person-${randomUUID()}`;
    const userId = await createAccount(application, username);
    const { vehicle, bookingId } = await book(application, userId, userId, anHourAgo());
    await admin.post(`/v1/x/admin/users/${userId}/vehicles`, { vehicleId: vehicle.id });
    const groupId = await createGroup(db, application);
    await sql`insert into group_grant (user_id, application_id, group_id, role)
      values (${userId}, ${application.id}, ${groupId}, 'viewer')`.execute(db);
    await book(application, 'somebody else', null, anHourAgo());
    const { status, body } = await admin.get(`/v1/x/admin/persons/${username}?appId=${application.appId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      account: [{ id: userId, username }],
      grants: [{ vehicle_id: Number(vehicle.id) }],
      groupGrants: [{ group_id: groupId, role: 'viewer' }],
      bookings: [{ id: bookingId }],
      authorizations: [{ level: 'DRIVE' }],
      trips: [],
    });
    expect(body.audit.map(({ action }: { action: string }) => action)).toEqual([
      'user.create',
      'booking.create',
      'grant.give',
      'person.export',
    ]);
    expect(JSON.stringify(body)).not.toContain('password');
    const audit = (await admin.get(`/v1/x/admin/audit?appId=${application.appId}`)).body.audit;
    expect(audit.at(-1)).toMatchObject({ action: 'person.export', subject: `user:${userId}` });
  });

  it('succeeds while others write to the same audit', async () => {
    const application = await createApplication(db);
    const driver = `driver-${randomUUID()}`;
    await book(application, driver, null, anHourAgo());
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => admin.get(`/v1/x/admin/persons/${driver}?appId=${application.appId}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
  });
});

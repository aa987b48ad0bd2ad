import { startMailServer, type TestMailServer } from '@odograph/mail/mail-server.fixture';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createGroup, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEventService } from '../service.ts';

let mail: TestMailServer;
let platform: TestPlatform;
let application: TestApplication;
let vehicleId: string;
let now = new Date('2025-03-20T12:00:00Z');

const start = () =>
  startTestPlatform([createEventService({ clock: () => now, reportIntervalMs: 50 })], {
    ...{ SMTP_URL: mail.url, MAIL_FROM: 'fleet@odograph.example' },
  });
beforeAll(async () => {
  mail = await startMailServer();
  platform = await start();
});
afterAll(async () => {
  await platform.stop();
  await mail.close();
});
beforeEach(async () => {
  application = await createApplication(platform.db);
  ({ id: vehicleId } = await createVehicle(platform.db, application));
  mail.received.length = 0;
  mail.refused.clear();
  await sql`delete from report_schedule`.execute(platform.db);
});

const path = '/v1/x/report-schedules';
const schedule = {
  kind: 'trips',
  format: 'xlsx',
  every: 'month',
  timeZone: 'Europe/Paris',
  recipients: ['ann@example.com'],
};
const storeTrip = (startedAt: string, km: number, vehicle = vehicleId) =>
  sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at,
    settled, inferred, distance_km)
  select ${vehicle}::integer, start, start + interval '30 minutes', start, true, false, ${km}
  from (select ${startedAt}::timestamptz as start) as given`.execute(platform.db);

/** Creates a schedule whose report for February 2025 is due. */
async function createDue(more: object = {}): Promise<string> {
  const { status, body } = await platform.as(application.token).post(path, { ...schedule, ...more });
  expect([status, body.error]).toEqual([200, undefined]);
  await sql`update report_schedule set next_due_at = '2025-03-01T05:00:00Z' where id = ${body.id}`.execute(platform.db);
  return body.id;
}
const sentOf = async (id: string) => (await platform.as(application.token).get(`${path}/${id}/reports`)).body.reports;
const isSent = (id: string, state = 'sent') =>
  eventually(async () => expect(await sentOf(id)).toMatchObject([{ state }]), 30_000);

describe('a scheduled report', () => {
  it('is due at its local hour across clock changes', async () => {
    const dues = async (every: string, hour: number, zone: string, after: string) => {
      const { rows } = await sql<{
        due: Date;
      }>`select report_due_at(${every}, ${zone}, ${hour}::integer, ${after}) as due`.execute(platform.db);
      return rows[0]?.due.toISOString();
    };
    expect(await dues('month', 6, 'Europe/Paris', '2025-03-20T12:00:00Z')).toBe('2025-04-01T04:00:00.000Z');
    expect(await dues('week', 6, 'Europe/Paris', '2025-03-30T23:59:00Z')).toBe('2025-03-31T04:00:00.000Z');
    expect(await dues('week', 6, 'Europe/Paris', '2025-03-31T04:00:00Z')).toBe('2025-04-07T04:00:00.000Z');
    expect(await dues('month', 0, 'Asia/Tokyo', '2025-02-28T14:59:00Z')).toBe('2025-02-28T15:00:00.000Z');
  });

  it('is sent once to each recipient, with the file of the previous month', async () => {
    const id = await createDue({ recipients: ['ann@example.com', 'bob@example.com'], language: 'fr' });
    await isSent(id);
    expect(mail.received.map(({ recipients }) => recipients)).toEqual([['ann@example.com'], ['bob@example.com']]);
    expect(mail.received[0]?.source).toContain('trips-2025-02-01-2025-02-28.xlsx');
    const [report] = await sentOf(id);
    expect(report).toMatchObject({ from: '2025-01-31T23:00:00.000Z', until: '2025-02-28T23:00:00.000Z', changes: [] });
    const [{ nextDueAt }] = (await platform.as(application.token).get(path)).body.schedules;
    expect(nextDueAt).toBe('2025-04-01T04:00:00.000Z');
  });

  it('covers the month from its first midnight, even if clocks go back to midnight', async () => {
    const before = now;
    now = new Date('2020-12-01T12:00:00Z');
    try {
      const id = await createDue({ timeZone: 'America/Havana' });
      await sql`update report_schedule set next_due_at = '2020-12-01T11:00:00Z' where id = ${id}`.execute(platform.db);
      await isSent(id);
      const interval = { from: '2020-11-01T04:00:00.000Z', until: '2020-12-01T05:00:00.000Z' };
      expect(await sentOf(id)).toMatchObject([interval]);
    } finally {
      // Otherwise restoring the clock makes the reports of the skipped years due.
      await sql`delete from report_schedule`.execute(platform.db);
      now = before;
    }
  });

  it('is sent once although several processes compete for it', async () => {
    const others = [await start(), await start()];
    const ids = [];
    for (let n = 0; n < 4; n += 1) ids.push(await createDue({ recipients: [`r${n}@example.com`] }));
    const third = await start();
    await Promise.all(ids.map((id) => isSent(id)));
    for (const one of [...others, third]) await one.stop();
    expect(mail.received.flatMap(({ recipients }) => recipients).sort()).toEqual([
      'r0@example.com',
      'r1@example.com',
      'r2@example.com',
      'r3@example.com',
    ]);
  });

  it('is retried only for the recipient that was rejected', async () => {
    mail.refused.add('bob@example.com');
    const id = await createDue({ recipients: ['bob@example.com', 'ann@example.com'] });
    await eventually(
      async () => expect(await sentOf(id)).toMatchObject([{ accepted: ['ann@example.com'], attempts: 1 }]),
      30_000,
    );
    await eventually(async () => {
      expect(await sentOf(id)).toMatchObject([{ state: 'due', lastError: 'the mail server answered 550' }]);
    }, 30_000);
    mail.refused.clear();
    await sql`update sent_report set next_attempt_at = ${now} where schedule_id = ${id}`.execute(platform.db);
    await isSent(id);
    expect(mail.received.flatMap(({ recipients }) => recipients)).toEqual(['ann@example.com', 'bob@example.com']);
  });

  it('is marked as outdated when late data changes its totals, with sent and current values', async () => {
    await storeTrip('2025-02-10T08:00:00Z', 100);
    const id = await createDue();
    await isSent(id);
    await storeTrip('2025-02-11T08:00:00Z', 12.345);
    await storeTrip('2025-03-02T08:00:00Z', 7);
    const before = now;
    now = new Date(before.getTime() + 2 * 3_600_000);
    await eventually(async () => {
      const [report] = await sentOf(id);
      expect(report.outdatedAt).toBe('2025-03-20T14:00:00.000Z');
      expect(report.changes).toEqual(
        [
          ['distanceKm', 100, 112.345],
          ['drivingHours', 0.5, 1],
          ['trips', 1, 2],
        ].map(([column, sent, current]) => ({
          ...{ vehicleId, plate: expect.any(String), column, sent, now: current },
        })),
      );
    }, 30_000);
    now = before;
  });

  it('is outdated by late data of the vehicles that it covered, not by vehicles that join or leave its group', async () => {
    const { id: joining } = await createVehicle(platform.db, application);
    const { id: idle } = await createVehicle(platform.db, application);
    const group = await createGroup(platform.db, application, { vehicleIds: [vehicleId, idle] });
    await storeTrip('2025-02-10T08:00:00Z', 100);
    await storeTrip('2025-02-10T08:00:00Z', 30, joining);
    const id = await createDue({ group });
    await isSent(id);
    await sql`delete from vehicle_group_member where vehicle_id = ${vehicleId}::integer`.execute(platform.db);
    await sql`insert into vehicle_group_member values (${group}, ${joining}::integer)`.execute(platform.db);
    await storeTrip('2025-02-12T08:00:00Z', 5, idle);
    const before = now;
    now = new Date(before.getTime() + 2 * 3_600_000);
    await eventually(async () => expect((await sentOf(id))[0].outdatedAt).toBe('2025-03-20T14:00:00.000Z'), 30_000);
    const [{ changes }] = await sentOf(id);
    expect(new Set(changes.map((change: { vehicleId: string }) => change.vehicleId))).toEqual(new Set([idle]));
    now = before;
  });

  it('does not reveal internals when it cannot be created', async () => {
    const id = await createDue();
    await sql`update report_schedule set kind = 'salaries' where id = ${id}`.execute(platform.db);
    await eventually(async () => {
      const lastError = 'the platform could not create the report; the reason is in its log';
      expect(await sentOf(id)).toMatchObject([{ state: 'due', lastError }]);
    }, 30_000);
  });

  it('follows a change of its schedule, which keeps kind and group', async () => {
    const { body: created } = await platform.as(application.token).post(path, schedule);
    const { kind, ...delivery } = schedule;
    const change = (more: object) =>
      platform.as(application.token).put(`${path}/${created.id}`, { ...delivery, ...more });
    expect((await change({ recipients: ['bob@example.com'], language: 'fr' })).body).toEqual({
      ...created,
      ...{ recipients: ['bob@example.com'], language: 'fr' },
    });
    const { body: weekly } = await change({ every: 'week', timeZone: undefined, hour: 7 });
    expect(weekly).toMatchObject({ kind, every: 'week', timeZone: 'UTC', hour: 7 });
    expect(new Date(weekly.nextDueAt).getUTCDay()).toBe(1);
    expect((await change({ kind: 'stops' })).body).toMatchObject({ error: 'INVALID_PARAMETER', field: 'kind' });
    const other = platform.as((await createApplication(platform.db)).token);
    expect((await other.put(`${path}/${created.id}`, delivery)).status).toBe(404);
  });

  it('is accessible only to its application and to operators', async () => {
    const id = await createDue();
    const other = platform.as((await createApplication(platform.db)).token);
    expect((await other.get(`${path}/${id}/reports`)).status).toBe(404);
    expect((await other.delete(`${path}/${id}`)).status).toBe(404);
    const admin = '/v1/x/admin/report-schedules';
    const created = await platform.admin.post(admin, { ...schedule, appId: application.appId });
    expect(created.body).toMatchObject({ ...schedule, hour: 6, language: 'en' });
    expect((await platform.admin.delete(`${admin}/${created.body.id}`)).body).toEqual({ deleted: true });
    expect((await platform.as(application.token).delete(`${path}/${id}`)).body).toEqual({ deleted: true });
    expect((await platform.as(application.token).get(path)).body.schedules).toEqual([]);
  });

  it.each([
    [{ recipients: ['ann@example.com, bob@example.com'] }, 'recipients.0'],
    [{ recipients: ['ann@example.com\r\nBcc: eve@example.com'] }, 'recipients.0'],
    [{ recipients: [] }, 'recipients'],
    [{ timeZone: '+02:00' }, 'timeZone'],
    [{ timeZone: 'CET' }, 'timeZone'],
    [{ timeZone: 'US/Pacific-New' }, 'timeZone'],
    [{ language: '../en' }, 'language'],
    [{ kind: 'salaries' }, 'kind'],
  ])('refuses %j', async (more, field) => {
    const { status, body } = await platform.as(application.token).post(path, { ...schedule, ...more });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

import { startMailServer, type TestMailServer } from '@odograph/mail/mail-server.fixture';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEventService } from '../service.ts';
import { createRule, raiseAlarm, recordEscalations, setPlate } from './notifications.fixture.ts';

const path = '/v1/x/notifications';
const waitMs = 60_000;
const hour = 3_600_000;
/** The time of the service is ahead of the wall clock by this. */
let aheadMs = 0;
let server: TestMailServer;
let platform: TestPlatform;
let application: TestApplication;
let vehicle: TestVehicle;
let otherVehicle: TestVehicle;
let rule: string;
let api: ApiClient;

const startPlatform = async (): Promise<TestPlatform> => {
  const service = createEventService({ clock: () => new Date(Date.now() + aheadMs), timeLimitMs: 5000 });
  const mail = { SMTP_URL: server.url, MAIL_FROM: 'Odograph <fleet@odograph.example>' };
  return startTestPlatform([service], { ...mail, PUBLIC_URL: 'https://fleet.example' });
};

beforeAll(async () => {
  server = await startMailServer();
  platform = await startPlatform();
});
afterAll(async () => {
  await platform.stop();
  await server.close();
});
beforeEach(async () => {
  aheadMs = 0;
  server.refused.clear();
  server.received.splice(0);
  application = await createApplication(platform.db);
  vehicle = await createVehicle(platform.db, application);
  otherVehicle = await createVehicle(platform.db, application);
  await setPlate(platform.db, vehicle, 'AB-123-CD');
  await setPlate(platform.db, otherVehicle, 'EF-456-GH');
  rule = await createRule(platform.db, application.id);
  api = platform.as(application.token);
});
afterEach(async () => {
  const { notifications } = (await api.get(path)).body;
  for (const { id } of notifications) await api.delete(`${path}/${id}`);
});

async function create(fields: object = {}): Promise<string> {
  const given = { events: ['alarm.raised'], email: 'ann@example.com', ...fields };
  const { status, body } = await api.post(path, given);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body.id;
}

async function createGroup(applicationId: number, member?: TestVehicle): Promise<string> {
  const { rows } = await sql<{ id: string }>`insert into vehicle_group (application_id, name)
    values (${applicationId}, 'North') returning id`.execute(platform.db);
  const id = rows[0]?.id ?? '';
  if (member) {
    await sql`insert into vehicle_group_member values (${id}, ${Number(member.id)})`.execute(platform.db);
  }
  return id;
}

/** Waits until the escalation of an alarm is scheduled, and makes it due. */
async function escalate(alarmId: string): Promise<void> {
  await eventually(async () => {
    const { numAffectedRows } = await sql`update notification_escalation set due_at = now()
      where alarm_id = ${alarmId}`.execute(platform.db);
    expect(numAffectedRows).toBe(1n);
  }, waitMs);
  await recordEscalations(platform.db);
}

const stateOf = async (id: string) => (await api.get(`${path}/${id}`)).body;
const headerOf = (source: string, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(source.replaceAll(/\r\n[ \t]/g, ' '))?.[1] ?? '';
/** The subjects that an address received, decoded. */
const subjectsTo = (address: string) =>
  server.received
    .filter(({ recipients }) => recipients.includes(address))
    .map(({ source }) =>
      headerOf(source, 'subject').replaceAll(/=\?UTF-8\?Q\?(.*?)\?= ?/gi, (_all, text: string) =>
        decodeURIComponent(text.replaceAll('_', ' ').replaceAll('=', '%')),
      ),
    );
const awaitSubjects = (address: string, subjects: readonly string[]) =>
  eventually(async () => expect(subjectsTo(address)).toEqual(subjects), waitMs);
const ann = 'ann@example.com';
const bob = 'bob@example.com';
const noPoint = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) };
const sms = { to: '433', url: 'https://sms.example/send', body: '{text}', contentType: 'application/json' };

describe('a message about an alarm', { timeout: 2 * waitMs }, () => {
  it('is sent once, in the language of the notification, with place, link, escaped HTML and a stable Message-ID', async () => {
    const id = await create({ language: 'fr' });
    await raiseAlarm(platform.db, rule, vehicle);
    await awaitSubjects(ann, ['AB-123-CD : remorquage']);
    const source = server.received[0]?.source.replaceAll('=\r\n', '') ?? '';
    expect(source).toContain('48.85661, 2.35222');
    expect(source).toContain('https://fleet.example/alarms');
    expect(source).toContain('&lt;b&gt;&amp; gate&lt;/b&gt;');
    const { deliveries } = await eventually(async () => {
      const { body } = await api.get(`${path}/${id}/deliveries`);
      expect(body.deliveries).toMatchObject([{ type: 'alarm.raised', vehicleId: vehicle.id, attempt: 1 }]);
      return body;
    }, waitMs);
    expect(headerOf(source, 'message-id')).toBe(`<${id}-${deliveries[0].eventId}@odograph.example>`);
  });

  it('names the geofence that contains the place', async () => {
    await create();
    const geometry = JSON.stringify({ type: 'Point', coordinates: [2.35222, 48.85661] });
    await sql`insert into geofence (application_id, name, geometry, radius_metres)
      values (${application.id}, 'Depot', ${geometry}, 300)`.execute(platform.db);
    await raiseAlarm(platform.db, rule, vehicle);
    await awaitSubjects(ann, ['AB-123-CD: towing']);
    expect(server.received[0]?.source).toContain('Depot');
  });

  it('is sent once although the platform restarts, and holds no header that a plate smuggles in', async () => {
    await create();
    await setPlate(platform.db, vehicle, 'A1\r\nBcc: eve@example.com\r\n\r\nhello');
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(async () => expect(server.received).toHaveLength(1), waitMs);
    await platform.stop();
    platform = await startPlatform();
    api = platform.as(application.token);
    await raiseAlarm(platform.db, rule, otherVehicle);
    await eventually(async () => expect(subjectsTo(ann).at(-1)).toBe('EF-456-GH: towing'), waitMs);
    expect(server.received).toHaveLength(2);
    expect(subjectsTo('eve@example.com')).toEqual([]);
    expect(subjectsTo(ann)[0]).toBe('A1 Bcc: eve@example.com hello: towing');
    expect(server.received.flatMap(({ source }) => /^bcc/im.exec(source) ?? [])).toEqual([]);
  });

  it('is neither lost nor duplicated while the mail server is unavailable', async () => {
    const id = await create();
    await server.close();
    for (const one of [vehicle, otherVehicle]) await raiseAlarm(platform.db, rule, one);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ state: 'failing' }), waitMs);
    expect((await stateOf(id)).lastError).toBe('the mail server cannot be reached');
    expect(server.received).toEqual([]);
    server = await startMailServer(server.port);
    aheadMs = hour;
    await eventually(
      async () => expect(subjectsTo(ann).sort()).toEqual(['AB-123-CD: towing', 'EF-456-GH: towing']),
      waitMs,
    );
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ state: 'active' }), waitMs);
  });

  it('to a rejected address is logged as failed, does not delay other notifications, and is sent after a correction', async () => {
    server.refused.add(ann);
    const id = await create();
    await create({ email: bob });
    await raiseAlarm(platform.db, rule, vehicle);
    await awaitSubjects(bob, ['AB-123-CD: towing']);
    await eventually(async () => {
      const { deliveries } = (await api.get(`${path}/${id}/deliveries?failed=true`)).body;
      expect(deliveries.at(-1)).toMatchObject({ status: 550, error: 'the mail server answered 550' });
    }, waitMs);
    await api.put(`${path}/${id}`, { events: ['alarm.raised'], email: 'ann.b@example.com' });
    await awaitSubjects('ann.b@example.com', ['AB-123-CD: towing']);
  });
});

describe('events', { timeout: 2 * waitMs }, () => {
  it('beyond the hourly limit are counted and listed in one digest, also after a restart', async () => {
    const id = await create({ maxPerHour: 2 });
    for (let n = 0; n < 5; n += 1) await raiseAlarm(platform.db, rule, vehicle, 100 - n);
    await awaitSubjects(ann, ['AB-123-CD: towing', 'AB-123-CD: towing']);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ held: 3 }), waitMs);
    await platform.stop();
    platform = await startPlatform();
    api = platform.as(application.token);
    await raiseAlarm(platform.db, rule, otherVehicle);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ held: 4 }), waitMs);
    aheadMs = hour + 60_000;
    await awaitSubjects(ann, ['AB-123-CD: towing', 'AB-123-CD: towing', 'Notifications: 4']);
    const digest = server.received.at(-1)?.source.replaceAll('=\r\n', '') ?? '';
    expect(
      digest
        .split('<p>')
        .slice(1)
        .filter((line) => line.includes('towing')),
    ).toHaveLength(4);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ held: 0, state: 'active' }), waitMs);
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(async () => expect(subjectsTo(ann)).toHaveLength(4), waitMs);
  });

  it('are not sent for privacy intervals, other vehicles, other rules and off-duty hours', async () => {
    const otherRule = await createRule(platform.db, application.id, 'crash');
    await sql`insert into privacy_period (vehicle_id, period)
      values (${Number(vehicle.id)}, tstzrange(now() - interval '1 hour', null))`.execute(platform.db);
    const weekdays = [1, 2, 3, 4, 5, 6, 7];
    const now = new Date(Date.now());
    const at = (hours: number) => new Date(now.getTime() + hours * hour).toISOString().slice(11, 16);
    const duty = (from: number, until: number) => [{ weekdays, from: at(from), until: at(until) }];
    await create({ email: 'all@example.com' });
    await create({ email: 'vehicle@example.com', vehicleIds: [vehicle.id] });
    await create({ email: 'rule@example.com', ruleIds: [otherRule] });
    const [group, emptyGroup] = [await createGroup(application.id, otherVehicle), await createGroup(application.id)];
    await create({ email: 'group@example.com', groupIds: [group] });
    await create({ email: 'empty@example.com', groupIds: [emptyGroup] });
    await create({ email: 'off@example.com', duty: duty(2, 4), timeZone: 'UTC' });
    await create({ email: 'on@example.com', duty: duty(-2, 2), timeZone: 'UTC' });
    await raiseAlarm(platform.db, rule, vehicle);
    await raiseAlarm(platform.db, rule, otherVehicle);
    await raiseAlarm(platform.db, otherRule, otherVehicle);
    const both = ['EF-456-GH: towing', 'EF-456-GH: crash'];
    await awaitSubjects('all@example.com', both);
    await awaitSubjects('on@example.com', both);
    await awaitSubjects('rule@example.com', ['EF-456-GH: crash']);
    await awaitSubjects('group@example.com', both);
    for (const address of ['vehicle@example.com', 'off@example.com', 'empty@example.com'])
      expect(subjectsTo(address)).toEqual([]);
  });

  it('escalate once, and only if the alarm is not acknowledged in time', async () => {
    const second = await create({ email: bob, events: ['device.silent'] });
    await create({ escalation: { notificationId: second, afterMinutes: 1 } });
    const [open, acknowledged] = [
      await raiseAlarm(platform.db, rule, vehicle),
      await raiseAlarm(platform.db, rule, otherVehicle),
    ];
    await eventually(async () => expect(subjectsTo(ann)).toHaveLength(2), waitMs);
    await sql`update alarm set acknowledged_at = now(), acknowledged_by = 'ann' where id = ${acknowledged}`.execute(
      platform.db,
    );
    await recordEscalations(platform.db);
    await sql`update notification_escalation set due_at = now() where alarm_id in (${open}, ${acknowledged})`.execute(
      platform.db,
    );
    for (let n = 0; n < 2; n += 1) await recordEscalations(platform.db);
    await awaitSubjects(bob, ['AB-123-CD: towing, not acknowledged']);
    expect(subjectsTo(ann)).toHaveLength(2);
  });

  it('escalate even if the first address refuses every message, including the one about the previous alarm', async () => {
    server.refused.add(ann);
    const second = await create({ email: bob, events: ['device.silent'] });
    const first = await create({ escalation: { notificationId: second, afterMinutes: 1 } });
    await raiseAlarm(platform.db, rule, vehicle, 60);
    await eventually(async () => expect(await stateOf(first)).toMatchObject({ state: 'failing' }), waitMs);
    await escalate(await raiseAlarm(platform.db, rule, vehicle));
    await awaitSubjects(bob, ['AB-123-CD: towing, not acknowledged']);
  });

  it('that escalated are retried after a correction of the address, even for vehicles that are not selected', async () => {
    server.refused.add(bob);
    const fields = { events: ['device.silent'], vehicleIds: [otherVehicle.id] };
    const second = await create({ ...fields, email: bob });
    await create({ escalation: { notificationId: second, afterMinutes: 1 } });
    await escalate(await raiseAlarm(platform.db, rule, vehicle));
    await eventually(async () => expect(await stateOf(second)).toMatchObject({ state: 'failing' }), waitMs);
    await api.put(`${path}/${second}`, { ...fields, email: 'bob.b@example.com' });
    await awaitSubjects('bob.b@example.com', ['AB-123-CD: towing, not acknowledged']);
  });
});

describe('the interface', { timeout: waitMs }, () => {
  it('sends a test message regardless of vehicles and events, and returns the result', async () => {
    const id = await create({ events: ['device.silent'], language: 'fr' });
    expect((await api.post(`${path}/${id}/test`)).body).toMatchObject({ delivered: true });
    expect(subjectsTo(ann)).toEqual(['Essai d’une notification']);
    server.refused.add(ann);
    expect((await api.post(`${path}/${id}/test`)).body).toMatchObject({ delivered: false, status: 550 });
  });

  it('counts test messages towards the hourly limit, and refuses those beyond it', async () => {
    const id = await create({ maxPerHour: 2 });
    await raiseAlarm(platform.db, rule, vehicle);
    await awaitSubjects(ann, ['AB-123-CD: towing']);
    expect((await api.post(`${path}/${id}/test`)).body).toMatchObject({ delivered: true });
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ held: 1 }), waitMs);
    const refused = await api.post(`${path}/${id}/test`);
    expect([refused.status, refused.body.error]).toEqual([429, 'TOO_MANY_REQUESTS']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000);
    aheadMs = hour + 60_000;
    await awaitSubjects(ann, ['AB-123-CD: towing', 'Test notification', 'Notifications: 1']);
    expect((await api.post(`${path}/${id}/test`)).body).toMatchObject({ delivered: true });
  });

  it('names the resource of a malformed and of an unknown identifier', async () => {
    for (const id of ['mine', '9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10']) {
      const answers = [
        await api.get(`${path}/${id}`),
        await api.put(`${path}/${id}`, { events: ['*'] }),
        await api.delete(`${path}/${id}`),
        await api.post(`${path}/${id}/test`),
        await api.get(`${path}/${id}/deliveries`),
        await platform.admin.post(`/v1/x/admin/notifications/${id}/test`),
      ];
      expect(answers.map(({ body }) => body.message)).toEqual(Array(6).fill('no such notification'));
    }
  });

  it.each([
    [{ email: 'ann@example.com, bob@example.com' }, 'email'],
    [{ email: 'ann@example.com\r\nBcc: b@example.com' }, 'email'],
    [{ email: undefined }, 'email'],
    [{ slack: { url: 'https://hooks.slack.example/x' } }, 'slack'],
    [{ email: undefined, slack: { url: 'https://127.0.0.1/x' } }, 'slack.url'],
    [{ email: undefined, slack: { url: 'http://hooks.slack.example/x' } }, 'slack.url'],
    [{ events: ['alarm.imagined'] }, 'events.0'],
    [{ timeZone: 'Europe/Atlantis' }, 'timeZone'],
    [{ timeZone: 'CET' }, 'timeZone'],
    [{ timeZone: 'US/Pacific-New' }, 'timeZone'],
    [{ email: undefined, push: { endpoint: 'https://push.example/x', keys: noPoint } }, 'push.keys.p256dh'],
    [{ email: undefined, sms: { ...sms, url: 'https:2130706{to}/' } }, 'sms.url'],
    [{ email: undefined, sms: { ...sms, authorization: 'Bearer x\r\ny: z' } }, 'sms.authorization'],
    [{ ruleIds: ['9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10'] }, 'ruleIds'],
    [{ duty: [{ weekdays: [8], from: '06:00', until: '22:00' }] }, 'duty.0.weekdays.0'],
    [{ duty: [{ weekdays: [1], from: '6:00', until: '22:00' }] }, 'duty.0.from'],
    [
      { escalation: { notificationId: '9b2c9f7e-1a34-4d0f-8a45-1f6f2c1f4f10', afterMinutes: 5 } },
      'escalation.notificationId',
    ],
  ])('refuses %j and names the field', async (fields, field) => {
    const { status, body } = await api.post(path, { events: ['alarm.raised'], email: ann, ...fields });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('never returns credentials, and stores them sealed', async () => {
    const botToken = `1234:${'planted'.repeat(5)}`;
    const { id } = (await api.post(path, { events: ['*'], telegram: { botToken, chatId: '-77' } })).body;
    const shown = await api.get(path);
    expect(shown.body.notifications).toMatchObject([{ id, channel: 'telegram', target: '-77', state: 'active' }]);
    expect(JSON.stringify(shown.body)).not.toContain('planted');
    const { rows } = await sql<{ row: string }>`select webhook::text || notification::text as row from webhook
      join notification using (id) where id = ${id}`.execute(platform.db);
    expect(rows[0]?.row).not.toContain(Buffer.from('planted').toString('hex'));
    expect((await api.get('/v1/x/webhooks')).body).toEqual({ webhooks: [] });
    expect((await api.get(`/v1/x/webhooks/${id}`)).status).toBe(404);
    expect((await api.delete(`/v1/x/webhooks/${id}`)).status).toBe(404);
  });

  it('hides the notifications of other applications', async () => {
    const id = await create();
    const foreign = platform.as((await createApplication(platform.db)).token);
    expect((await foreign.get(path)).body).toEqual({ notifications: [] });
    for (const answer of [
      await foreign.get(`${path}/${id}`),
      await foreign.put(`${path}/${id}`, { events: ['*'] }),
      await foreign.delete(`${path}/${id}`),
      await foreign.post(`${path}/${id}/test`),
      await foreign.get(`${path}/${id}/deliveries`),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'NOT_FOUND']);
    }
  });
});

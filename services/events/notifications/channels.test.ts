import { createDecipheriv, createECDH, createHmac, createPublicKey, randomBytes, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createEventService } from '../service.ts';
import { createRule, raiseAlarm, setPlate } from './notifications.fixture.ts';

const path = '/v1/x/notifications';
const waitMs = 60_000;
interface Request {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
const requests: Request[] = [];
let status = 200;
let headers: Record<string, string> = {};
/** Answers are sent once it resolves. */
let answered = Promise.resolve();
const receiver = createServer();
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  requests.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
  await answered;
  response.writeHead(status, headers).end();
}
receiver.on('request', (request, response) => void answer(request, response));
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
afterAll(() => receiver.close());
const base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

const settings = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PUBLIC_URL: 'https://fleet.example' };
/** The time of the service is ahead of the wall clock by this. */
let aheadMs = 0;
const service = createEventService({ clock: () => new Date(Date.now() + aheadMs), timeLimitMs: 5000 });
const platform = await usePlatform([service], settings);
let application: TestApplication;
let vehicle: TestVehicle;
let api: ApiClient;
beforeEach(async () => {
  requests.splice(0);
  status = 200;
  headers = {};
  answered = Promise.resolve();
  aheadMs = 0;
  application = await createApplication(platform.db);
  vehicle = await createVehicle(platform.db, application);
  await setPlate(platform.db, vehicle, '<!channel> "A" & Ü');
  api = platform.as(application.token);
});

async function create(channel: object): Promise<string> {
  const { body } = await api.post(path, { events: ['alarm.raised'], ...channel });
  expect(body).toEqual({ id: expect.any(String) });
  return body.id;
}

/** Creates a notification, raises an alarm, and waits for the request. */
async function tellAlarm(channel: object): Promise<Request & { id: string }> {
  const id = await create(channel);
  await raiseAlarm(platform.db, await createRule(platform.db, application.id), vehicle);
  await eventually(async () => expect(requests).toHaveLength(1), waitMs);
  const [request] = requests;
  if (!request) throw new Error('nothing was received');
  return { id, ...request };
}

const subject = '<!channel> "A" & Ü: towing';

describe('a message', { timeout: 2 * waitMs }, () => {
  it('to Slack cannot mention users', async () => {
    const { body, url } = await tellAlarm({ slack: { url: `${base}/services/T/B/x` } });
    expect(url).toBe('/services/T/B/x');
    const { text } = JSON.parse(body.toString());
    expect(text).toContain('&lt;!channel&gt; "A" &amp; Ü: towing\n');
    expect(text).toContain('https://fleet.example/alarms');
  });

  it('that waits for another one is not sent once its vehicle is private', async () => {
    await create({ slack: { url: `${base}/services/T/B/x` } });
    const [second, third] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    await setPlate(platform.db, second, 'second');
    await setPlate(platform.db, third, 'third');
    let answerAll: () => void = () => undefined;
    answered = new Promise((resolve) => {
      answerAll = resolve;
    });
    const rule = await createRule(platform.db, application.id);
    await platform.db.transaction().execute(async (trx) => {
      for (const one of [vehicle, second, third]) await raiseAlarm(trx, rule, one);
    });
    await eventually(async () => expect(requests).toHaveLength(1), waitMs);
    await sql`insert into privacy_period (vehicle_id, period)
      values (${Number(second.id)}, tstzrange(now() - interval '1 hour', null))`.execute(platform.db);
    aheadMs = 60_000;
    answerAll();
    const texts = () => requests.map(({ body }) => JSON.parse(body.toString()).text);
    await eventually(async () => expect(texts()).toContainEqual(expect.stringContaining('third')), waitMs);
    expect(texts()).not.toContainEqual(expect.stringContaining('second'));
  });

  it('about an alarm does not delay its escalation while the address has paused delivery', async () => {
    [status, headers] = [503, { 'retry-after': '3600' }];
    const notificationId = await create({ slack: { url: `${base}/second` }, events: ['device.silent'] });
    const first = await create({
      slack: { url: `${base}/first` },
      escalation: { notificationId, afterMinutes: 1 },
    });
    const rule = await createRule(platform.db, application.id);
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(
      async () => expect((await api.get(`${path}/${first}`)).body).toMatchObject({ state: 'failing' }),
      waitMs,
    );
    const alarmId = await raiseAlarm(platform.db, rule, await createVehicle(platform.db, application));
    await eventually(async () => {
      const { rows } = await sql`select from notification_escalation where alarm_id = ${alarmId}`.execute(platform.db);
      expect(rows).toHaveLength(1);
    }, waitMs);
    expect(requests).toHaveLength(1);
    for (const id of [first, notificationId]) await api.delete(`${path}/${id}`);
  });

  it('about an alarm does not delay its escalation, even if it is pending behind more messages than the window holds', async () => {
    [status, headers] = [503, { 'retry-after': '3600' }];
    const notificationId = await create({ slack: { url: `${base}/second` }, events: ['device.silent'] });
    const escalation = { notificationId, afterMinutes: 1 };
    const first = await create({ slack: { url: `${base}/first` }, escalation });
    const rule = await createRule(platform.db, application.id);
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(
      async () => expect((await api.get(`${path}/${first}`)).body).toMatchObject({ state: 'failing' }),
      waitMs,
    );
    const other = await createVehicle(platform.db, application);
    await sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
      select application_id, id, ${Number(other.id)}, kind, now() - age * interval '1 second', now()
      from alarm_rule, generate_series(1, 1600) as age where id = ${rule}`.execute(platform.db);
    const alarmId = await raiseAlarm(platform.db, rule, other);
    await eventually(async () => {
      const { rows } = await sql`select from notification_escalation where alarm_id = ${alarmId}`.execute(platform.db);
      expect(rows).toHaveLength(1);
    }, waitMs);
    for (const id of [first, notificationId]) await api.delete(`${path}/${id}`);
  });

  it('to an address that no longer exists does not disable a notification with an escalation', async () => {
    status = 410;
    const notificationId = await create({ slack: { url: `${base}/second` }, events: ['device.silent'] });
    const escalation = { notificationId, afterMinutes: 1 };
    const { id } = await tellAlarm({ slack: { url: `${base}/first` }, escalation });
    const lastError = 'answered 410: the address no longer exists';
    await eventually(
      async () => expect((await api.get(`${path}/${id}`)).body).toMatchObject({ state: 'failing', lastError }),
      waitMs,
    );
    for (const one of [id, notificationId]) await api.delete(`${path}/${one}`);
  });

  it('in a digest is sent once even if the notification changes while the digest is in flight', async () => {
    const fields = { events: ['alarm.raised'], maxPerHour: 1 };
    const id = await create({ slack: { url: `${base}/services/T/B/x` }, ...fields });
    const rule = await createRule(platform.db, application.id);
    for (const secondsAgo of [2, 1]) await raiseAlarm(platform.db, rule, vehicle, secondsAgo);
    const awaitHeld = (held: number) =>
      eventually(async () => expect((await api.get(`${path}/${id}`)).body).toMatchObject({ held }), waitMs);
    await awaitHeld(1);
    let answerAll: () => void = () => undefined;
    answered = new Promise((resolve) => {
      answerAll = resolve;
    });
    aheadMs = 3_660_000;
    await eventually(async () => expect(requests).toHaveLength(2), waitMs);
    await api.put(`${path}/${id}`, fields);
    // Longer than it takes to load the change.
    await delay(2500);
    answerAll();
    await awaitHeld(0);
    expect(requests).toHaveLength(2);
    await api.delete(`${path}/${id}`);
  });

  it('to Matrix contains text and escaped HTML', async () => {
    const { body } = await tellAlarm({ matrix: { url: `${base}/webhook/x` } });
    const { text, html } = JSON.parse(body.toString());
    expect(text.split('\n')[0]).toBe(subject);
    expect(html).toContain('&lt;b&gt;&amp; gate&lt;/b&gt;');
    expect(html).not.toContain('<!channel>');
  });

  it('to Teams is an adaptive card of plain text', async () => {
    const { body } = await tellAlarm({ teams: { url: `${base}/workflows/x` } });
    const [{ content }] = JSON.parse(body.toString()).attachments;
    expect(content.body[0].inlines[0].text).toBe(subject);
    expect(content.actions[0].url).toBe('https://fleet.example/alarms');
  });

  it('to Telegram names the chat, and contains the token only in the path', async () => {
    const botToken = `1234:${'t'.repeat(35)}`;
    const { body, url } = await tellAlarm({ telegram: { botToken, chatId: '-77', url: base } });
    expect(url).toBe(`/bot${botToken}/sendMessage`);
    expect(JSON.parse(body.toString())).toMatchObject({ chat_id: '-77', text: expect.stringContaining(subject) });
  });

  it.each([
    ['application/json' as const, '{"to":"{to}","text":"{text}","ref":"{id}"}'],
    ['application/x-www-form-urlencoded' as const, 'to={to}&text={text}&ref={id}'],
  ])('to a provider of SMS is escaped in its URL and in %s', async (contentType, template) => {
    const sms = {
      to: '+33612345678',
      url: `${base}/send?to={to}`,
      body: template,
      contentType,
      authorization: 'Key k',
    };
    const { body, url, headers, id } = await tellAlarm({ sms });
    expect(url).toBe('/send?to=%2B33612345678');
    expect(headers).toMatchObject({ authorization: 'Key k', 'content-type': contentType });
    const text = body.toString();
    const sent = contentType === 'application/json' ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    expect(sent).toEqual({
      to: '+33612345678',
      text: expect.stringContaining(`${subject}\n`),
      ref: expect.stringContaining(id),
    });
  });

  it('to a provider of SMS is cut to 480 characters, never within an emoji, in a digest too', async () => {
    // One character before the emojis, or two: in one of the two texts, an emoji is at the limit.
    for (const plate of [`A${'🚗'.repeat(300)}`, `AB${'🚗'.repeat(300)}`]) {
      requests.splice(0);
      aheadMs = 0;
      await setPlate(platform.db, vehicle, plate);
      const form = { contentType: 'application/x-www-form-urlencoded', body: '{text}' };
      const sms = { to: '+33612345678', url: `${base}/send`, ...form };
      const id = await create({ sms, maxPerHour: 1 });
      const rule = await createRule(platform.db, application.id);
      for (const secondsAgo of [2, 1]) await raiseAlarm(platform.db, rule, vehicle, secondsAgo);
      const stateOf = async () => (await api.get(`${path}/${id}`)).body;
      await eventually(async () => expect(await stateOf()).toMatchObject({ held: 1 }), waitMs);
      aheadMs = 3_660_000;
      await eventually(async () => expect(requests).toHaveLength(2), waitMs);
      const [message = '', digest = ''] = requests.map(({ body }) => decodeURIComponent(body.toString()));
      expect(message).toBe(plate.slice(0, plate.startsWith('AB') ? 480 : 479));
      expect([479, 480]).toContain(digest.length);
      expect(digest).toMatch(/🚗$/u);
      await api.delete(`${path}/${id}`);
    }
  });

  it('logs failures without the address, and disables the notification on status 410', async () => {
    status = 500;
    const { id } = await tellAlarm({ slack: { url: `${base}/secret-path` } });
    const log = await eventually(async () => {
      const { deliveries } = (await api.get(`${path}/${id}/deliveries`)).body;
      expect(deliveries.at(-1)).toMatchObject({ status: 500, error: 'answered 500' });
      return deliveries;
    }, waitMs);
    expect(JSON.stringify(log)).not.toContain('secret-path');
    status = 410;
    const gone = { state: 'disabled', disabledReason: 'GONE' };
    await eventually(async () => expect((await api.get(`${path}/${id}`)).body).toMatchObject(gone), waitMs);
  });
});

/** Derives 32 bytes at most (RFC 5869). */
function hkdf(salt: Buffer, key: Buffer, info: Buffer, length: number): Buffer {
  const extracted = createHmac('sha256', salt).update(key).digest();
  return createHmac('sha256', extracted).update(info).update(Buffer.of(1)).digest().subarray(0, length);
}

/** Decrypts a push message as a browser does (RFC 8291, section 3.4; RFC 8188). */
function decrypt(body: Buffer, keys: ReturnType<typeof createECDH>, auth: Buffer): string {
  const [salt, idLength] = [body.subarray(0, 16), body.readUInt8(20)];
  const sender = body.subarray(21, 21 + idLength);
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
  const input = hkdf(auth, keys.computeSecret(sender), info, 32);
  const key = hkdf(salt, input, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = hkdf(salt, input, Buffer.from('Content-Encoding: nonce\0'), 12);
  const sealed = body.subarray(21 + idLength);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

describe('a push message', { timeout: 2 * waitMs }, () => {
  it('is encrypted for the browser, and signed with the key of its subscription', async () => {
    const keys = createECDH('prime256v1');
    keys.generateKeys();
    const auth = randomBytes(16);
    const { publicKey } = (await api.get(`${path}/push-key`)).body;
    const subscription = { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') };
    const { body, headers } = await tellAlarm({ push: { endpoint: `${base}/push/1`, keys: subscription } });
    expect(JSON.parse(decrypt(body, keys, auth))).toMatchObject({
      title: subject,
      url: 'https://fleet.example/alarms',
    });
    expect(headers).toMatchObject({ 'content-encoding': 'aes128gcm', urgency: 'high', ttl: '86400' });
    const [, token = '', key] = /^vapid t=([^,]+), ?k=(.+)$/.exec(headers.authorization ?? '') ?? [];
    expect(key).toBe(publicKey);
    const point = Buffer.from(publicKey, 'base64url');
    const coordinate = (start: number) => point.subarray(start, start + 32).toString('base64url');
    const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) };
    const signed = createPublicKey({ key: jwk, format: 'jwk' });
    const [head, claims = '', signature = ''] = token.split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const isGenuine = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: signed, dsaEncoding: 'ieee-p1363' },
      bytes,
    );
    expect(isGenuine).toBe(true);
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aud: base });
  });

  it('to an unsubscribed browser disables the notification, and is sent once the browser renews its subscription', async () => {
    status = 404;
    const createPush = (endpoint: string) => {
      const keys = createECDH('prime256v1');
      keys.generateKeys();
      const p256dh = keys.getPublicKey('base64url');
      // As PushSubscription.toJSON() returns it.
      return { endpoint, expirationTime: null, keys: { p256dh, auth: randomBytes(16).toString('base64url') } };
    };
    const { id } = await tellAlarm({ push: createPush(`${base}/push/1`) });
    const gone = { state: 'disabled', disabledReason: 'GONE' };
    await eventually(async () => expect((await api.get(`${path}/${id}`)).body).toMatchObject(gone), waitMs);
    status = 201;
    const foreign = platform.as((await createApplication(platform.db)).token);
    const push = createPush(`${base}/push/2`);
    expect((await foreign.put(`${path}/${id}/push`, { push })).body.error).toBe('NOT_FOUND');
    expect((await api.put(`${path}/${id}/push`, { push })).body).toMatchObject({ id, state: 'active' });
    await eventually(async () => expect(requests.at(-1)?.url).toBe('/push/2'), waitMs);
  });

  it('that cannot be sent backs off, is logged, and becomes a dead letter, and later ones of the vehicle are sent', async () => {
    const keys = createECDH('prime256v1');
    keys.generateKeys();
    const subscription = { p256dh: keys.getPublicKey('base64url'), auth: randomBytes(16).toString('base64url') };
    await api.get(`${path}/push-key`);
    const { rows } = await sql<{ sealed: Buffer }>`select sealed_private_key as sealed from push_key`.execute(
      platform.db,
    );
    const setKey = (sealed?: Buffer) => sql`update push_key set sealed_private_key = ${sealed}`.execute(platform.db);
    await setKey(randomBytes(60));
    const id = await create({ push: { endpoint: `${base}/push/1`, keys: subscription } });
    const rule = await createRule(platform.db, application.id);
    await raiseAlarm(platform.db, rule, vehicle);
    const error = 'internal error: message not sent';
    const stateOf = async () => (await api.get(`${path}/${id}`)).body;
    await eventually(async () => expect(await stateOf()).toMatchObject({ state: 'failing', lastError: error }), waitMs);
    const { deliveries } = (await api.get(`${path}/${id}/deliveries`)).body;
    expect(deliveries).toMatchObject([{ type: 'alarm.raised', vehicleId: vehicle.id, attempt: 1, error }]);
    aheadMs = 3 * 86_400_000 + 60_000;
    await eventually(async () => expect(await stateOf()).toMatchObject({ undelivered: 1 }), waitMs);
    await setKey(rows[0]?.sealed);
    await raiseAlarm(platform.db, rule, vehicle);
    await eventually(async () => expect(requests).toHaveLength(1), waitMs);
    expect(await stateOf()).toMatchObject({ undelivered: 1 });
  });

  it('is sent at its first attempt after a database outage, during which reads are retried at intervals', async () => {
    const keys = {
      p256dh: createECDH('prime256v1').generateKeys('base64url'),
      auth: randomBytes(16).toString('base64url'),
    };
    const id = await create({ push: { endpoint: `${base}/push/1`, keys } });
    // A sequence counts the reads of the key, although their transactions are rolled back.
    await sql`create sequence key_reads`.execute(platform.db);
    await sql`create function fail_key_read() returns trigger language plpgsql security definer as $$
      begin
        perform nextval('key_reads');
        raise exception 'the database system is starting up' using errcode = '57P03';
      end $$`.execute(platform.db);
    await sql`create trigger outage before insert on push_key execute function fail_key_read()`.execute(platform.db);
    const endOutage = () => sql`drop trigger if exists outage on push_key`.execute(platform.db);
    onTestFinished(async () => void (await endOutage()));
    await raiseAlarm(platform.db, await createRule(platform.db, application.id), vehicle);
    const awaitReads = (count: number) =>
      eventually(async () => {
        const { rows } = await sql`select from key_reads where last_value > ${count}`.execute(platform.db);
        expect(rows).toHaveLength(1);
      }, waitMs);
    await awaitReads(1);
    const startMs = performance.now();
    await awaitReads(21);
    // Reads are retried a few times a second, not as fast as they fail.
    expect(performance.now() - startMs).toBeGreaterThan(3000);
    await endOutage();
    await eventually(async () => {
      const { deliveries } = (await api.get(`${path}/${id}/deliveries`)).body;
      expect(deliveries).toMatchObject([{ type: 'alarm.raised', attempt: 1, status: 200 }]);
    }, waitMs);
  });

  it('goes to no notification of another channel', async () => {
    const id = await create({ slack: { url: `${base}/services/T/B/x` } });
    const keys = { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'A'.repeat(22) };
    const answer = await api.put(`${path}/${id}/push`, { push: { endpoint: `${base}/push/1`, keys } });
    expect([answer.status, answer.body.error]).toEqual([404, 'NOT_FOUND']);
  });
});

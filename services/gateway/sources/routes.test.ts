import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueuedUpload } from '@odograph/contracts/queues';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { Limits } from '@odograph/runtime/limits';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice, createSource } from '@odograph/testkit/fixtures';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest';
import { gatewayService } from '../service.ts';

const heldBytes = 12_000_000;
const stops: (() => Promise<unknown>)[] = [];

const platform = await usePlatform([gatewayService], {}, { maxHeldBytes: heldBytes, maxLoginFailuresPerMinute: 5 });
const queues = openUploadQueues(platform.config);
const application = await createApplication(platform.db);
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => queues.close());

interface Sent {
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
  readonly httpUrl?: string;
}

interface Answer {
  readonly status: number;
  readonly body: { error?: string; field?: string; message?: string };
  readonly retryAfter: string | null;
}

async function send(path: string, { body, headers = {}, httpUrl = platform.httpUrl }: Sent): Promise<Answer> {
  const response = await fetch(new URL(path, httpUrl), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  });
  const answer = (await response.json()) as Answer['body'];
  return { status: response.status, body: answer, retryAfter: response.headers.get('retry-after') };
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const basic = (name: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`,
});
const sourceOf = (format: SourceFormatName, of: TestPlatform = platform) =>
  createSource(of.db, application, { format });
const messagesOf = (ident: string, count = 1, more: object = {}) =>
  JSON.stringify(Array.from({ length: count }, (_unused, index) => ({ ident, timestamp: 1 + index, ...more })));

/** The uploads of a device that wait in a queue. */
async function queuedOf(deviceId: string, from = queues): Promise<QueuedUpload[]> {
  return (await from.uploads()).filter((upload) => upload.deviceId === deviceId);
}

describe('the secret of a request to an endpoint', () => {
  it('is missing, wrong, deleted or of another application that is gone: 401, and nothing is queued', async () => {
    const { sourceId, secret } = await sourceOf('flespi');
    const ident = randomUUID();
    const body = messagesOf(ident);
    expect(await send('/in/flespi', { body })).toMatchObject({ status: 401, body: { error: 'MISSING_TOKEN' } });
    for (const headers of [bearer(createSecret()), basic(randomUUID(), secret), basic(sourceId, createSecret())]) {
      const answer = await send('/in/flespi', { body, headers });
      expect(answer).toMatchObject({ status: 401, body: { error: 'INVALID_CREDENTIALS' } });
    }
    const gone = await createApplication(platform.db);
    const orphan = await createSource(platform.db, gone, { format: 'flespi' });
    await platform.db.updateTable('application').set({ deleted_at: new Date() }).where('id', '=', gone.id).execute();
    expect((await send('/in/flespi', { body, headers: bearer(orphan.secret) })).status).toBe(401);
    expect((await send('/in/flespi', { body, headers: bearer(secret) })).status).toBe(200);
    await platform.db.updateTable('source').set({ deleted_at: new Date() }).where('id', '=', sourceId).execute();
    expect((await send('/in/flespi', { body, headers: bearer(secret) })).status).toBe(401);
    expect(await queuedOf(ident)).toHaveLength(1);
  });

  it('opens the endpoint of its own format only', async () => {
    const { secret } = await sourceOf('flespi');
    const answer = await send('/in/traccar', { body: '{}', headers: bearer(secret) });
    expect(answer).toMatchObject({ status: 403, body: { error: 'UNAUTHORIZED' } });
  });

  it('stays valid during a rotation until the new one is first used', async () => {
    const { sourceId, secret } = await sourceOf('flespi');
    const next = createSecret();
    const rotated = { secret_sha256: hashSecret(next), previous_secret_sha256: hashSecret(secret) };
    const until = new Date(Date.now() + 3_600_000);
    await platform.db
      .updateTable('source')
      .set({ ...rotated, previous_secret_until: until })
      .where('id', '=', sourceId)
      .execute();
    const sendWith = async (one: string) =>
      (await send('/in/flespi', { body: messagesOf(randomUUID()), headers: bearer(one) })).status;
    expect([await sendWith(secret), await sendWith(next)]).toEqual([200, 200]);
    await eventually(async () => expect(await sendWith(secret)).toBe(401));
  });

  it('of a device is for itself only', async () => {
    const device = await createDevice(platform.db);
    const other = await createDevice(platform.db);
    const query = `secret=${device.secret}&lat=1&lon=2&timestamp=3`;
    expect((await send(`/in/osmand/${device.deviceId}?${query}`, {})).status).toBe(200);
    expect((await send(`/in/osmand/${other.deviceId}?${query}`, {})).status).toBe(401);
    const headers = basic(other.deviceId, device.secret);
    expect((await send('/in/owntracks', { body: '{"_type":"location"}', headers })).status).toBe(401);
    expect(await queuedOf(device.deviceId)).toMatchObject([{ format: 'osmand' }]);
    expect(JSON.stringify(await queuedOf(device.deviceId))).not.toContain(device.secret);
  });

  it('that is wrong is refused with 429 after 5 attempts in a minute, and shuts out no right one', async () => {
    const { secret } = await sourceOf('flespi');
    const wrong = bearer(createSecret());
    const body = messagesOf(randomUUID());
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      statuses.push((await send('/in/flespi', { body, headers: wrong })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await send('/in/flespi', { body, headers: wrong })).retryAfter).not.toBeNull();
    expect((await send('/in/flespi', { body, headers: bearer(secret) })).status).toBe(200);
  });

  it('that is missing or wrong more often than any request of one address may come is refused with 429', async () => {
    const limited = await startTestPlatform([gatewayService], { HTTP_REQUESTS_PER_MINUTE: '10' });
    stops.push(() => limited.stop());
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      const headers: Record<string, string> = attempt % 2 === 0 ? {} : bearer(createSecret());
      statuses.push((await send('/in/flespi', { body: '[]', headers, httpUrl: limited.httpUrl })).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
  });
});

describe('a body', () => {
  it('that cannot be assigned to a device is refused with the field, and nothing of it is queued', async () => {
    const { secret } = await sourceOf('flespi');
    const headers = bearer(secret);
    const ident = randomUUID();
    const refusals: [body: string, field: string][] = [
      ['', 'body'],
      ['{', 'body'],
      ['7', 'message 0'],
      [`[{"ident":"${ident}","timestamp":1},{"timestamp":2}]`, 'message 1: ident'],
      [`[{"ident":"${ident}","timestamp":1},{"ident":"a/b"}]`, 'message 1: ident'],
      [`[{"ident":"${ident}","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}]`, 'message 0'],
    ];
    for (const [body, field] of refusals) {
      const answer = await send('/in/flespi', { body, headers });
      expect([field, answer.status, answer.body]).toMatchObject([field, 400, { error: 'INVALID_PARAMETER', field }]);
    }
    const traccar = await sourceOf('traccar');
    const answer = await send('/in/traccar', { body: '{"device":{}}', headers: bearer(traccar.secret) });
    expect(answer.body).toMatchObject({ field: 'device.uniqueId' });
    expect(await queuedOf(ident)).toEqual([]);
  });

  it('that is too large, has too many messages or too large a message is refused with 413', async () => {
    const { secret } = await sourceOf('flespi');
    const headers = bearer(secret);
    for (const body of [
      messagesOf('a', 1, { text: 'x'.repeat(4 * 1024 * 1024) }),
      messagesOf('a', 5001),
      messagesOf('a', 1, { text: 'x'.repeat(256 * 1024) }),
    ]) {
      const answer = await send('/in/flespi', { body, headers });
      expect([answer.status, answer.body.error]).toEqual([413, 'TOO_LARGE']);
    }
  });

  it('is queued in uploads of 1,000 messages and 256 KiB for each device', async () => {
    const { secret } = await sourceOf('flespi');
    const ident = randomUUID();
    const body = messagesOf(ident, 2500, { text: 'x'.repeat(200) });
    expect(await send('/in/flespi', { body, headers: bearer(secret) })).toMatchObject({ status: 200 });
    const uploads = (await queuedOf(ident)).map(({ text = '' }) => text);
    for (const text of uploads) expect(text.length).toBeLessThanOrEqual(256 * 1024);
    const messages = uploads.flatMap((text) => JSON.parse(text) as { timestamp: number }[]);
    expect(messages.map(({ timestamp }) => timestamp).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 2500 }, (_unused, index) => index + 1),
    );
  });
});

describe('a sender', () => {
  const startLimited = async (limits: Partial<Limits>, settings: Record<string, string> = {}) => {
    const limited = await startTestPlatform([gatewayService], settings, limits);
    stops.push(() => limited.stop());
    return limited;
  };

  const startRedis = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-redis-'));
    let server = await spawnRedis(directory);
    const kill = () => server.end('SIGKILL');
    stops.push(async () => {
      await kill();
      await rm(directory, { recursive: true, force: true });
    });
    const restart = async () => {
      server = await spawnRedis(directory, server.port);
    };
    return { url: server.url, kill, restart };
  };

  it('has messages queued as late if the first is older than five days, though the last is current', async () => {
    const { secret } = await sourceOf('flespi');
    const nowSeconds = Math.floor(Date.now() / 1000);
    const [late, live] = [randomUUID(), randomUUID()];
    const messages = [
      { ident: late, timestamp: nowSeconds - 6 * 86_400 },
      { ident: live, timestamp: nowSeconds - 4 * 86_400 },
      ...[late, live].map((ident) => ({ ident, timestamp: nowSeconds })),
    ];
    expect((await send('/in/flespi', { body: JSON.stringify(messages), headers: bearer(secret) })).status).toBe(200);
    const devicesIn = async (queue: { getJobs: typeof queues.live.getJobs }) =>
      (await queue.getJobs(['wait'])).flatMap(({ data }) => data.uploads.map(({ deviceId }) => deviceId));
    const [inLive, inLate] = [await devicesIn(queues.live), await devicesIn(queues.late)];
    expect([inLate.includes(late), inLate.includes(live), inLive.includes(live)]).toEqual([true, false, true]);
  });

  it('over its rate is refused with 429 and Retry-After, whatever its request', async () => {
    const limited = await startLimited({ sourceRequestsPerSecond: 1 });
    const { secret } = await sourceOf('flespi', limited);
    const other = await sourceOf('flespi', limited);
    const sendWith = (one: string) =>
      send('/in/flespi', { body: messagesOf('a'), headers: bearer(one), httpUrl: limited.httpUrl });
    const answers = await Promise.all(Array.from({ length: 15 }, () => sendWith(secret)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(2);
    for (const { body, retryAfter } of refused) {
      expect([body.error, Number(retryAfter) >= 1]).toEqual(['TOO_MANY_REQUESTS', true]);
    }
    expect((await sendWith(other.secret)).status).toBe(200);
  });

  it('may create a number of devices in an hour; further ones are not created, and nothing is refused', async () => {
    const limited = await startLimited({ maxNewDevicesPerHour: 3 });
    const { secret } = await createSource(limited.db, application, { format: 'flespi', createDevices: true });
    const idents = Array.from({ length: 5 }, () => randomUUID());
    const ids = idents.map((ident) => `${application.appId}:${ident}`);
    const body = JSON.stringify(idents.map((ident) => ({ ident, timestamp: 1 })));
    const answer = await send('/in/flespi', { body, headers: bearer(secret), httpUrl: limited.httpUrl });
    expect(answer.status).toBe(200);
    const created = await limited.db.selectFrom('device').select('id').where('id', 'in', ids).execute();
    expect(created.map(({ id }) => id).sort()).toEqual(ids.slice(0, 3).sort());
  });

  it('writes for its application only, even after a device that was found moves to another', async () => {
    const other = await createApplication(platform.db);
    const { deviceId: id } = await createDevice(platform.db, { applicationId: application.id, model: 'flespi' });
    const { secret } = await sourceOf('flespi');
    for (const applicationId of [application.id, other.id]) {
      await platform.db.updateTable('device').set({ application_id: applicationId }).where('id', '=', id).execute();
      expect((await send('/in/flespi', { body: messagesOf(id), headers: bearer(secret) })).status).toBe(200);
    }
    const queued = await queuedOf(id);
    expect(queued.map(({ applicationId }) => applicationId)).toEqual([application.id, application.id]);
  });

  it('queues live messages while late ones are held, however many these are', async () => {
    const { url } = await startRedis();
    const limited = await startLimited({ maxBacklogJobs: 4, maxHeldBytes: 3_000_000 }, { REDIS_URL: url });
    const own = openUploadQueues(limited.config);
    stops.unshift(() => own.close());
    const { secret } = await sourceOf('flespi', limited);
    const post = (timestamp: number, bytes: number) => {
      const body = JSON.stringify([{ ident: 'unit-1', timestamp, text: 'x'.repeat(bytes) }]);
      return send('/in/flespi', { body, headers: bearer(secret), httpUrl: limited.httpUrl });
    };
    const nowSeconds = Math.floor(Date.now() / 1000);
    for (let job = 0; job < 3; job += 1) expect((await post(nowSeconds, 0)).status).toBe(200);
    const health = async () => (await fetch(new URL('/health', limited.httpUrl))).text();
    await eventually(async () => expect(await health()).toContain('holding late uploads'));
    const held = async () =>
      (await limited.metrics.getSingleMetric('odograph_gateway_held_bytes')?.get())?.values[0]?.value ?? 0;
    /** Sends late messages until one is refused; the others get no answer. */
    const fill = async (bytes: number): Promise<void> => {
      for (let isRefused = false; !isRefused; ) {
        const before = await held();
        void post(1, bytes).then(({ status }) => {
          isRefused = status === 503;
        });
        await eventually(async () => expect(isRefused || (await held()) >= before + 2 * bytes).toBe(true));
      }
    };
    for (const bytes of [200_000, 100_000, 50_000, 25_000, 10_000]) await fill(bytes);
    expect((await post(nowSeconds, 50_000)).status).toBe(200);
    await own.drain();
    await eventually(async () => expect(await held()).toBe(0));
    // The uploads that were held have filled the queue again.
    await own.drain();
    await eventually(async () => expect((await post(1, 50_000)).status).toBe(200));
  });

  it('that disconnects before it is authenticated leaves no memory held', async ({ skip }) => {
    if (!inject('isNativeDatabase')) skip('the embedded database has one session, so nothing waits for a lock');
    const { secret } = await sourceOf('flespi');
    const isWaiting = async (): Promise<void> => {
      const { rows } = await sql`select from pg_stat_activity where wait_event_type = 'Lock'
        and datname = current_database() and query like '%from source join application%'`.execute(platform.db);
      expect(rows).not.toEqual([]);
    };
    await platform.db.transaction().execute(async (transaction) => {
      await sql`lock table source in access exclusive mode`.execute(transaction);
      const headers = { ...bearer(secret), 'content-length': '100000' };
      const sent = request(new URL('/in/flespi', platform.httpUrl), { method: 'POST', headers });
      sent.on('error', () => undefined).flushHeaders();
      await eventually(isWaiting);
      sent.destroy();
      // Once /health answers, the gateway has noticed the disconnect.
      await fetch(new URL('/health', platform.httpUrl));
    });
    expect((await send('/in/flespi', { body: messagesOf('a'), headers: bearer(secret) })).status).toBe(200);
    await eventually(async () =>
      expect(await platform.metrics.getSingleMetricAsString('odograph_gateway_held_bytes')).toMatch(/ 0$/),
    );
  });

  it('gets 503 while Redis is unavailable and 200 once it is back, and nothing is acknowledged in between', async () => {
    const redis = await startRedis();
    const limited = await startLimited({}, { REDIS_URL: redis.url });
    const own = openUploadQueues(limited.config);
    stops.unshift(() => own.close());
    const { secret } = await sourceOf('flespi', limited);
    const ident = randomUUID();
    const statuses: number[] = [];
    const sendOnce = async () => {
      const request = { body: messagesOf(ident), headers: bearer(secret), httpUrl: limited.httpUrl };
      const answer = await send('/in/flespi', request);
      statuses.push(answer.status);
      return answer;
    };
    expect((await sendOnce()).status).toBe(200);
    await redis.kill();
    await eventually(async () => {
      const { status, body, retryAfter } = await sendOnce();
      expect([status, body.error, retryAfter]).toEqual([503, 'OVERLOADED', '5']);
    }, 30_000);
    await redis.restart();
    await eventually(async () => expect((await sendOnce()).status).toBe(200), 20_000);
    await eventually(async () => {
      const counts = limited.db.selectFrom('source').selectAll().where('secret_sha256', '=', hashSecret(secret));
      const { messages, refused_requests: refused } = await counts.executeTakeFirstOrThrow();
      expect([messages, refused]).toEqual([statuses.filter((one) => one === 200).length, statuses.length - messages]);
    });
    // A reading that arrives twice is stored once.
    const texts = new Set((await queuedOf(ident, own)).map(({ text }) => text));
    expect(texts).toEqual(new Set([messagesOf(ident)]));
  });
});

import { type EventEmitter, once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { openQueue } from '@odograph/queue/queues';
import { createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { Worker } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { consoleService } from './service.ts';

const planted = 'PLANTED-48.8566';
let connection: { redisUrl: string; prefix: string };

const platform = await usePlatform([consoleService], { UPLOAD_SHARDS: '2' });
const { admin } = platform;
connection = { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX };

/** Creates a failed job with the planted text in every member of a job, and returns its id. */
async function plantFailedJob(
  name: 'uploads' | 'acknowledgements' | 'maintenance',
  data: object,
  shard = 0,
): Promise<string> {
  const queue = openQueue(name, { ...connection, shard });
  await queue.waitUntilReady();
  const job = await queue.add(name, data as never, { attempts: 1 });
  await job.log(planted);
  const worker = new Worker(
    queue.name,
    async (running) => {
      await running.updateProgress({ seen: planted });
      throw new Error(`could not store ${planted}`);
    },
    { connection: { url: connection.redisUrl }, prefix: connection.prefix },
  );
  await once(worker as unknown as EventEmitter, 'failed');
  await worker.close();
  await queue.close();
  return job.id ?? '';
}

describe('the reference of the interface', () => {
  it('is a page for everyone who is signed in, and a document for anyone', async () => {
    const application = await createApplication(platform.db);
    const { cookie } = await createOperator(platform.db, { role: 'viewer', applicationIds: [application.id] });
    for (const client of [createBrowser(platform.httpUrl, cookie), platform.as(application.token), admin]) {
      const { status, body } = await client.get('/docs');
      expect([status, String(body).includes('Odograph: interface')]).toEqual([200, true]);
    }
    const stranger = platform.anonymous;
    expect((await stranger.get('/docs')).status).toBe(401);
    const { openapi, paths } = (await stranger.get('/docs/json')).body;
    expect([openapi, Object.keys(paths).filter((path) => path.startsWith('/docs'))]).toEqual(['3.1.0', []]);
  });

  it('is compressed where accepted, and not sent again to a client that has it', async () => {
    const read = async (headers: Record<string, string>) => {
      const [answer] = (await once(get(`${platform.httpUrl}/docs/json`, { headers }), 'response')) as [IncomingMessage];
      return { answer, body: await buffer(answer) };
    };
    const plain = await read({});
    const packed = await read({ 'accept-encoding': 'gzip, br' });
    expect(packed.answer.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
    expect(packed.body.length).toBeLessThan(plain.body.length / 5);
    const again = await read({ 'if-none-match': packed.answer.headers.etag ?? '' });
    expect([again.answer.statusCode, again.body.length]).toEqual([304, 0]);
  });

  it('has a page about devices, and an AsyncAPI document for anyone', async () => {
    const stranger = platform.anonymous;
    expect((await stranger.get('/docs/devices')).status).toBe(401);
    expect((await stranger.get('/docs/asyncapi.json')).body.asyncapi).toBe('3.0.0');
    const { status, headers, body } = await admin.get('/docs/devices');
    expect([status, String(body).includes('v1/devices/{deviceId}/telemetry')]).toEqual([200, true]);
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  });
});

describe('the queue page', () => {
  it('answers 401 on every path without the admin token, with a challenge', async () => {
    const stranger = platform.anonymous;
    for (const path of ['/queues', '/queues/', '/queues/api/queues', '/queues/static/favicon-32x32.png']) {
      const { status, headers, body } = await stranger.get(path);
      expect([path, status]).toEqual([path, 401]);
      expect(headers.get('www-authenticate')).toContain('Bearer');
      expect(JSON.stringify(body)).not.toContain('<html');
    }
    expect((await stranger.put('/queues/api/queues/maintenance/pause')).status).toBe(401);
  });

  it('sends a browser that is not signed in to the sign-in, and from there back', async () => {
    const open = (path: string, headers: Record<string, string> = {}) =>
      fetch(new URL(path, platform.httpUrl), { redirect: 'manual', headers: { accept: 'text/html,*/*', ...headers } });
    for (const path of ['/queues', '/queues/?activeQueue=uploads&status=failed', '/docs', '/docs/']) {
      const { status, headers } = await open(path);
      const next = encodeURIComponent(path);
      expect([path, status, headers.get('location')]).toEqual([path, 303, `/sign-in?next=${next}`]);
    }
    const ended = await open('/queues', { cookie: 'odograph_session=ended' });
    expect([ended.status, ended.headers.get('location')]).toEqual([303, '/sign-in?next=%2Fqueues']);
    expect((await open('/queues', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await open('/v1/x/admin/quarantine')).status).toBe(401);
    const { hostname, port } = new URL(platform.httpUrl);
    const request = get({ hostname, port, path: 'http://elsewhere.example/queues', headers: { accept: 'text/html' } });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.headers.location).toBe('/sign-in?next=%2Fqueues');
  });

  it('is for operators without limits, and changes nothing for a viewer or from a page of another site', async () => {
    const application = await createApplication(platform.db);
    const statusOf = async (options: Parameters<typeof createOperator>[1]) => {
      const browser = createBrowser(platform.httpUrl, (await createOperator(platform.db, options)).cookie);
      const retry = await browser.put('/queues/api/queues/maintenance/none/retry');
      return [(await browser.get('/queues/api/queues')).status, retry.status];
    };
    expect(await statusOf({ role: 'viewer' })).toEqual([200, 403]);
    expect(await statusOf({ role: 'operator' })).toEqual([200, 404]);
    expect(await statusOf({ role: 'administrator', applicationIds: [application.id] })).toEqual([404, 404]);
    const { cookie } = await createOperator(platform.db);
    const foreign = createApiClient(platform.httpUrl, { cookie, origin: 'https://elsewhere.example' });
    expect((await foreign.put('/queues/api/queues/maintenance/none/retry')).status).toBe(403);
  });

  it('is available to operators', async () => {
    expect((await admin.get('/queues')).body).toContain('Odograph queues');
    const { body } = await admin.get('/queues/api/queues');
    expect(body.queues.map(({ name }: { name: string }) => name).sort()).toEqual([
      'acknowledgements',
      'late-uploads',
      'maintenance',
      'uploads',
      '{late-uploads-1}',
      '{uploads-1}',
    ]);
  });

  it('never shows a payload in data, progress, errors, logs or options', async () => {
    const uploads = [{ deviceId: 'd1', receivedAtMs: 1, text: `{"latitude":"${planted}"}` }];
    const upload = await plantFailedJob('uploads', { uploads, devices: 1, bytes: 32 });
    const ofShard = await plantFailedJob('uploads', { uploads, devices: 1, bytes: 32 }, 1);
    const acknowledgement = await plantFailedJob('acknowledgements', {
      deviceId: 'd1',
      receivedAtMs: 1,
      text: planted,
    });
    const maintenance = await plantFailedJob('maintenance', { task: 'compress', text: planted });
    const jobs = { uploads: upload, '{uploads-1}': ofShard, acknowledgements: acknowledgement, maintenance };
    for (const [name, id] of Object.entries(jobs)) {
      for (const path of [
        `?activeQueue=${name}&status=latest&page=1&jobsPerPage=10`,
        `?activeQueue=${name}&status=failed&page=1&jobsPerPage=10`,
        `/${name}/${id}`,
        `/${name}/${id}/logs`,
        `/${name}/${id}/flow`,
        `/${name}/default-job-options`,
        `/${name}/metrics`,
        `/${name}/workers`,
      ]) {
        const { status, body } = await admin.get(`/queues/api/queues${path}`);
        expect([path, status]).toEqual([path, 200]);
        expect([path, JSON.stringify(body).includes(planted)]).toEqual([path, false]);
      }
    }
    const { body } = await admin.get('/queues/api/queues?activeQueue=uploads&status=failed&page=1&jobsPerPage=10');
    const { jobs: shown } = body.queues.find(({ name }: { name: string }) => name === 'uploads');
    expect(shown).toHaveLength(1);
    expect(shown[0]).toMatchObject({ id: upload, isFailed: true, data: { uploads: 1, devices: 1, bytes: 32 } });
  });

  it('allows no change except running maintenance jobs again', async () => {
    const upload = await plantFailedJob('uploads', { uploads: [], devices: 0, bytes: 0 });
    const maintenance = await plantFailedJob('maintenance', { task: 'retain' });
    const forbidden = [
      `uploads/${upload}/retry`,
      `uploads/${upload}/clean`,
      'uploads/clean/failed',
      'uploads/empty',
      'uploads/obliterate',
      'uploads/pause',
      'acknowledgements/empty',
      'acknowledgements/pause',
      `maintenance/${maintenance}/clean`,
      'maintenance/clean/failed',
      'maintenance/obliterate',
      'pause',
    ];
    for (const path of forbidden) {
      const { status } = await admin.put(`/queues/api/queues/${path}`, {});
      expect([path, [403, 405].includes(status)]).toEqual([path, true]);
    }
    const added = await admin.post('/queues/api/queues/uploads/add', { name: 'uploads', data: {} });
    expect([403, 405]).toContain(added.status);
    expect((await admin.get(`/queues/api/queues/uploads/${upload}`)).body.status).toBe('failed');
    expect((await admin.put(`/queues/api/queues/maintenance/${maintenance}/retry`)).status).toBe(204);
    expect((await admin.get(`/queues/api/queues/maintenance/${maintenance}`)).body.status).toBe('waiting');
  });

  it('exposes no stack trace', async () => {
    const { body } = await admin.get('/queues/api/queues/none/1');
    expect(JSON.stringify(body)).not.toMatch(/stack|node_modules/);
  });
});

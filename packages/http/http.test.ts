import { once } from 'node:events';
import { connect } from 'node:net';
import { Failure } from '@odograph/contracts/failures';
import { readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import Type from 'typebox';
import { afterEach, describe, expect, it } from 'vitest';
import { operatorRoutes, type RoutePlugin, tokenRoutes } from './authentication.ts';
import { createHttp } from './create-http.ts';
import { addOperationRoutes } from './operations.ts';
import { sendPage } from './paging.ts';
import { answers, Flag, isTrue } from './schemas.ts';

const adminToken = 'admin-token-of-the-tests';
const asAdmin = { authorization: `Bearer ${adminToken}` };
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** Routes of the kinds that services have. */
const echoRoutes: RoutePlugin = (http) => {
  const Parameters = Type.Object({ count: Type.Integer({ minimum: 0 }), flag: Type.Optional(Flag) });
  const Echo = Type.Object({ count: Type.Integer(), flag: Type.Boolean(), ip: Type.String() });
  http.post('/v1/echo', { schema: { body: Parameters, response: answers(Echo) } }, async ({ body, ip }) => ({
    count: body.count,
    flag: isTrue(body.flag ?? false),
    ip,
  }));
  http.post('/v1/echo/:count', { schema: { body: Parameters, response: answers(Echo) } }, async ({ body, ip }) => ({
    count: body.count,
    flag: false,
    ip,
  }));
  http.get('/v1/page', async (_request, reply) =>
    sendPage(reply, '[1]', { path: '/v1/page', parameters: { after: 'a&b', limit: undefined } }),
  );
  http.get('/v1/last', async (_request, reply) => sendPage(reply, '[]', undefined));
  http.get('/v1/long', async ({ raw }) => {
    await once(raw.socket, 'close');
    throw new Error('canceling statement due to user request');
  });
  http.get('/v1/defect', async () => {
    throw new TypeError('a secret detail');
  });
  http.get('/v1/refused', async () => {
    throw new Failure('ALREADY_EXISTS', 'taken', { field: 'plate', reason: 'PLATE', retryAfterSeconds: 7 });
  });
};

async function startHttp(settings: Record<string, string> = {}) {
  const lookups: Buffer[] = [];
  const lines: { level: number; msg: string }[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const config = readConfig(settings);
  const http = await createHttp(config, logger);
  closes.push(() => http.close());
  addOperationRoutes(http, {
    services: () => new Map(),
    metrics: new Registry(),
    adminToken,
    metricsNetworks: config.METRICS_NETWORKS,
  });
  const authenticate = async (hash: Buffer) => {
    lookups.push(hash);
    if (!hash.equals(hashSecret('right'))) throw new Failure('INVALID_TOKEN');
    return { applicationId: 1 };
  };
  await tokenRoutes(http, authenticate, [echoRoutes]);
  await operatorRoutes(http, adminToken, [(scope) => void scope.get('/v1/x/admin/ping', async () => ({}))]);
  const url = await http.listen({ host: '127.0.0.1', port: 0 });
  const client = createApiClient(url, { 'x-service-token': 'right' });
  return { url, client, lookups, lines };
}

/** Opens a connection, writes bytes, and collects what the server sends until it closes. */
function openSocket(url: string, bytes = '') {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => void chunks.push(chunk));
  if (bytes !== '') socket.write(bytes);
  closes.push(() => socket.destroy());
  const answer = once(socket, 'close').then(() => Buffer.concat(chunks).toString());
  return { socket, answer };
}

describe('a failure', () => {
  it('is answered with its code, message, details and status', async () => {
    const { client } = await startHttp();
    const { status, body, headers } = await client.get('/v1/refused');
    expect([status, body]).toEqual([
      409,
      { error: 'ALREADY_EXISTS', message: 'taken', field: 'plate', reason: 'PLATE' },
    ]);
    expect(headers.get('retry-after')).toBe('7');
  });

  it('that nobody expected is logged once and answered without its details', async () => {
    const { client, lines } = await startHttp();
    const { status, body } = await client.get('/v1/defect');
    expect([status, body.error, JSON.stringify(body)]).toEqual([
      500,
      'INTERNAL_ERROR',
      expect.not.stringContaining('secret'),
    ]);
    expect(lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)).toEqual(['request failed']);
  });

  it('of an unknown path is NOT_FOUND', async () => {
    const { client } = await startHttp();
    expect(await client.get('/v1/nothing')).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } });
  });

  it('is no error in the log when its client has disconnected', async () => {
    const { url, lines } = await startHttp();
    const token = 'host: x\r\nx-service-token: right\r\n';
    for (const request of [
      `POST /v1/echo HTTP/1.1\r\n${token}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"count":`,
      `GET /v1/long HTTP/1.1\r\n${token}\r\n`,
    ]) {
      const { socket } = openSocket(url, request);
      await once(socket, 'connect');
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.resetAndDestroy();
    }
    await eventually(async () => expect(lines.filter(({ msg }) => msg.includes('disconnected'))).toHaveLength(2));
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });
});

describe('parameters', () => {
  it('come from body, query and path, of which the path wins over the body and the body over the query', async () => {
    const { client } = await startHttp();
    expect((await client.post('/v1/echo?count=3')).body.count).toBe(3);
    expect((await client.post('/v1/echo?count=3', { count: 4 })).body.count).toBe(4);
    expect((await client.post('/v1/echo/5?count=3', { count: 4 })).body.count).toBe(5);
    expect((await client.post('/v1/echo?count=3&flag=true', '')).body).toMatchObject({ count: 3, flag: true });
  });

  it('that are missing, malformed or extreme are INVALID_PARAMETER and named', async () => {
    const { client } = await startHttp();
    for (const [path, body] of [
      ['/v1/echo', {}],
      ['/v1/echo?count=x', {}],
      ['/v1/echo', { count: -1 }],
      ['/v1/echo', { count: [1] }],
      ['/v1/echo?count=1e999', {}],
    ] as const) {
      const answer = await client.post(path, body);
      expect([path, answer.status, answer.body.error, answer.body.field]).toEqual([
        path,
        400,
        'INVALID_PARAMETER',
        'count',
      ]);
    }
    expect(await client.post('/v1/echo?count=1', '[')).toMatchObject({ status: 400, body: { field: 'body' } });
    expect(await client.post('/v1/echo?count=1', { flag: null })).toMatchObject({
      status: 400,
      body: { field: 'flag' },
    });
  });
});

it('a page names the next one, and the last page says that it is the last', async () => {
  const { client } = await startHttp();
  const { headers, body } = await client.get('/v1/page');
  expect(body).toEqual([1]);
  expect([headers.get('x-has-more'), headers.get('link')]).toEqual(['true', '</v1/page?after=a%26b>; rel="next"']);
  const last = await client.get('/v1/last');
  expect([last.headers.get('x-has-more'), last.headers.get('link')]).toEqual(['false', null]);
});

describe('tokens', () => {
  it('are required once for all routes of a scope, and open no other scope', async () => {
    const { url, client } = await startHttp();
    expect(await createApiClient(url).get('/v1/page')).toMatchObject({ status: 401, body: { error: 'MISSING_TOKEN' } });
    const wrong = createApiClient(url, { 'x-service-token': 'wrong' });
    expect(await wrong.get('/v1/page')).toMatchObject({ status: 401, body: { error: 'INVALID_TOKEN' } });
    expect((await client.get('/v1/x/admin/ping')).status).toBe(401);
    expect((await createApiClient(url, asAdmin).get('/v1/x/admin/ping')).status).toBe(200);
    expect((await createApiClient(url, asAdmin).get('/v1/page')).status).toBe(401);
  });

  it('are declared in OpenAPI for the routes that need them', async () => {
    const { url } = await startHttp();
    const { paths } = (await createApiClient(url).get('/docs/json')).body;
    expect(paths['/v1/page'].get.security).toEqual([{ serviceToken: [] }]);
    expect(paths['/v1/x/admin/ping'].get).toMatchObject({ tags: ['operators'], security: [{ adminToken: [] }] });
    expect(paths['/health'].get.security).toBeUndefined();
  });

  it('cost no lookup beyond the request limit, and neither do unknown paths pass it', async () => {
    const { url, lookups } = await startHttp({ HTTP_REQUESTS_PER_MINUTE: '5' });
    const wrong = createApiClient(url, { 'x-service-token': 'wrong' });
    const statuses: number[] = [];
    for (let n = 0; n < 20; n += 1) statuses.push((await wrong.get('/v1/page')).status);
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(15).fill(429)]);
    expect(lookups).toHaveLength(5);
    const unknown = await wrong.get('/v1/nothing');
    expect([unknown.status, unknown.body.error]).toEqual([429, 'TOO_MANY_REQUESTS']);
    expect(Number(unknown.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await wrong.get('/health')).status).toBe(200);
  });

  it('never reach a cache with the answers that they open', async () => {
    const { client, url } = await startHttp();
    expect((await client.get('/v1/page')).headers.get('cache-control')).toBe('no-store');
    expect((await createApiClient(url).get('/v1/page')).headers.get('cache-control')).toBe('no-store');
  });
});

describe('the address of a client', () => {
  const ipOf = async (settings: Record<string, string>, forwardedFor: string) => {
    const { client } = await startHttp(settings);
    return (await client.post('/v1/echo?count=1', {}, { 'x-forwarded-for': forwardedFor })).body.ip;
  };

  it('is that of the connection unless a proxy is trusted', async () => {
    expect(await ipOf({}, '192.0.2.1')).toBe('127.0.0.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '0' }, '192.0.2.1')).toBe('127.0.0.1');
  });

  it('is found behind a number of proxies, or behind proxies in networks', async () => {
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '198.51.100.9, 192.0.2.1')).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '2' }, '198.51.100.9, 192.0.2.1')).toBe('198.51.100.9');
    const networks = '127.0.0.0/8,192.0.2.0/24';
    expect(await ipOf({ HTTP_TRUST_PROXY: networks }, '203.0.113.5, 198.51.100.9, 192.0.2.1')).toBe('198.51.100.9');
    expect(await ipOf({ HTTP_TRUST_PROXY: '10.0.0.0/8' }, '192.0.2.1')).toBe('127.0.0.1');
  });

  it('is always an address', async () => {
    expect(await ipOf({ HTTP_TRUST_PROXY: '2' }, `${'x'.repeat(5000)}, 192.0.2.1`)).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, "'; drop table audit")).toBe('127.0.0.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '192.0.2.1:5678')).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '[2001:db8::1]:443')).toBe('2001:db8::1');
  });

  it.each(['true', 'yes', 'loopback', '10.0.0.0/99', '-1'])(
    'cannot be taken from a proxy with HTTP_TRUST_PROXY=%s',
    (value) => {
      expect(() => readConfig({ HTTP_TRUST_PROXY: value })).toThrow(/HTTP_TRUST_PROXY: must be the number of proxies/);
    },
  );
});

describe('metrics', () => {
  const statusOf = async (settings: Record<string, string>, headers: Record<string, string> = {}) => {
    const { url } = await startHttp(settings);
    return (await createApiClient(url, headers).get('/metrics')).status;
  };

  it('are read from the local machine or a given network, and from elsewhere with the admin token', async () => {
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8' })).toBe(401);
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8' }, asAdmin)).toBe(200);
    const behindProxy = { HTTP_TRUST_PROXY: '1', METRICS_NETWORKS: '10.0.0.0/8' };
    expect(await statusOf(behindProxy, { 'x-forwarded-for': '10.1.1.1' })).toBe(200);
    expect(await statusOf(behindProxy, { 'x-forwarded-for': '192.0.2.1' })).toBe(401);
  });

  it('are not open to everybody behind a proxy on the same machine that is not trusted', async () => {
    expect(await statusOf({}, { 'x-forwarded-for': '192.0.2.1' })).toBe(401);
    expect(await statusOf({}, { 'x-forwarded-for': 'unknown' })).toBe(401);
  });

  it('name networks that can be read', () => {
    expect(() => readConfig({ METRICS_NETWORKS: 'everywhere' })).toThrow(/METRICS_NETWORKS/);
  });
});

describe('connections', () => {
  it('with two Host headers are refused', async () => {
    const { url } = await startHttp();
    const { answer } = openSocket(url, 'GET /health HTTP/1.1\r\nHost: a\r\nhost: b\r\nconnection: close\r\n\r\n');
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toContain('"field":"host"');
  });

  it('are limited for each address', async () => {
    const { url } = await startHttp({ HTTP_CONNECTIONS_PER_ADDRESS: '3' });
    const request = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';
    const open = [1, 2, 3].map(() => openSocket(url, request).socket);
    await Promise.all(open.map((socket) => once(socket, 'data')));
    expect(await openSocket(url, request).answer).toBe('');
    open[0]?.destroy();
    await eventually(async () => {
      const { socket, answer } = openSocket(url, request.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
      expect(await answer).toMatch(/^HTTP\/1.1 200 /);
      socket.destroy();
    });
  });

  it('that send nothing, or headers that never end, are closed after the timeout', async () => {
    const { url } = await startHttp({ HTTP_REQUEST_TIMEOUT_MS: '1000' });
    const silent = openSocket(url);
    const slow = openSocket(url, 'GET /health HTTP/1.1\r\nhost: x\r\n');
    const trickle = setInterval(() => slow.socket.write('x-more: 1\r\n'), 200);
    closes.push(() => clearInterval(trickle));
    expect(await silent.answer).toMatch(/^(HTTP\/1.1 408 |$)/);
    expect(await slow.answer).toMatch(/^HTTP\/1.1 408 /);
  });
});

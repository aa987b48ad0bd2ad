import { once } from 'node:events';
import { createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { describe, expect, it } from 'vitest';
import { asAdmin, openSocket, startHttp } from './http.fixture.ts';

describe('a failure', () => {
  it('is answered with its code, message, details and status', async () => {
    const { client } = await startHttp();
    const { status, body, headers } = await client.get('/v1/refused');
    const details = { field: 'plate', reason: 'PLATE' };
    expect([status, body]).toEqual([409, { error: 'ALREADY_EXISTS', message: 'taken', ...details }]);
    expect(headers.get('retry-after')).toBe('7');
  });

  it('is logged once if unhandled, and answered without its details', async () => {
    const { client, lines } = await startHttp();
    const { status, body } = await client.get('/v1/defect');
    expect([status, body.error]).toEqual([500, 'INTERNAL_ERROR']);
    expect(JSON.stringify(body)).not.toContain('secret');
    expect(lines.filter(({ level }) => level >= 50).map(({ msg }) => msg)).toEqual(['request failed']);
  });

  it('of an unavailable database is OVERLOADED and logged once, and the outcome of a write is unknown', async () => {
    const { client, lines } = await startHttp();
    const read = await client.get('/v1/without-database');
    expect([read.status, read.body.error, read.body.reason]).toEqual([503, 'OVERLOADED', undefined]);
    expect(lines.filter(({ level }) => level >= 40).map(({ msg }) => msg)).toEqual([
      'request failed: database unavailable',
    ]);
    const write = await client.post('/v1/without-database');
    expect([write.status, write.body.error, write.body.reason]).toEqual([503, 'OVERLOADED', 'OUTCOME_UNKNOWN']);
    expect([read, write].map(({ headers }) => headers.get('retry-after'))).toEqual(['5', '5']);
  });

  it('for an unknown path is NOT_FOUND', async () => {
    const { client } = await startHttp();
    expect(await client.get('/v1/nothing')).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } });
  });

  it('for a known path with another method is METHOD_NOT_ALLOWED, and lists the methods', async () => {
    const { client } = await startHttp();
    expect(await client.get('/v1/echo/fixed')).toMatchObject({ status: 405 });
    const { status, body, headers } = await client.delete('/v1/echo/3');
    expect([status, body.error, headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST, GET, HEAD']);
  });

  it('for a body that is not JSON is UNSUPPORTED_MEDIA_TYPE', async () => {
    const { url } = await startHttp();
    const headers = { 'x-service-token': 'right', 'content-type': 'text/plain' };
    const response = await fetch(`${url}/v1/echo`, { method: 'POST', headers, body: 'count=3' });
    expect([response.status, await response.json()]).toMatchObject([415, { error: 'UNSUPPORTED_MEDIA_TYPE' }]);
  });

  it('is not caused by the type of an empty body', async () => {
    const { url } = await startHttp();
    for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
      const headers = { 'x-service-token': 'right', 'content-type': type };
      const response = await fetch(`${url}/v1/echo?count=3`, { method: 'POST', headers, body: '' });
      expect([response.status, await response.json()]).toMatchObject([200, { count: 3 }]);
    }
  });

  it('is not caused by a trailing slash', async () => {
    const { client } = await startHttp();
    expect((await client.get('/v1/page/')).status).toBe(200);
  });

  it('is not logged as an error when the client has disconnected', async () => {
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

describe('the id of a request', () => {
  it('is in every answer, refused and unknown requests included, and in the lines of the log', async () => {
    const { client, url, lines } = await startHttp();
    for (const path of ['/v1/page', '/v1/nothing', '/v1/%', '/v1/defect', '/health']) {
      expect((await client.get(path)).headers.get('x-request-id')).toMatch(/^.{36}$/);
    }
    const headers = { 'x-service-token': 'right', 'x-request-id': 'proxy:4711.a-b_c' };
    const id = 'proxy:4711.a-b_c';
    expect((await createApiClient(url, headers).get('/v1/defect')).headers.get('x-request-id')).toBe(id);
    expect(lines.flatMap(({ requestId, msg }) => (requestId === id ? [msg] : []))).toEqual(['request failed']);
  });

  it('is replaced when it is too long or has other characters', async () => {
    const { url } = await startHttp();
    for (const given of ['x'.repeat(129), 'a b', '{"level":60}', '']) {
      const { headers } = await createApiClient(url, { 'x-request-id': given }).get('/health');
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('parameters', () => {
  it('are merged from path, body and query, in this order of precedence', async () => {
    const { client } = await startHttp();
    expect((await client.post('/v1/echo?count=3')).body.count).toBe(3);
    expect((await client.post('/v1/echo?count=3', { count: 4 })).body.count).toBe(4);
    expect((await client.post('/v1/echo/5?count=3', { count: 4 })).body.count).toBe(5);
    expect((await client.post('/v1/echo?count=3&flag=true', '')).body).toMatchObject({ count: 3, flag: true });
  });

  it.each([
    ['', {}, 'count', 'count is missing'],
    ['', { count: 'x' }, 'count', 'count must be a whole number'],
    ['', { count: -1 }, 'count', 'count must be at least 0'],
    ['', { count: [1] }, 'count', 'count must be a whole number'],
    ['', { count: null }, 'count', 'count must be a whole number'],
    ['', { count: 1, flag: 'maybe' }, 'flag', 'flag must be one of true, false, 1, 0'],
    ['', { count: 1, flag: {} }, 'flag', 'flag must be one of true, false, 1, 0'],
    ['', [], 'body', 'body must be an object'],
    ['?count=1', '[', 'body', expect.any(String)],
    ['?count=x', {}, 'count', 'count must be a whole number'],
    ['?count=1e999', {}, 'count', expect.stringContaining('must be')],
  ])('are refused with their name and the rule that they break: %s %j', async (query, body, field, message) => {
    const { client } = await startHttp();
    const refusal = { error: 'INVALID_PARAMETER', field, message };
    expect(await client.post(`/v1/echo${query}`, body)).toMatchObject({ status: 400, body: refusal });
  });

  it.each([
    ['%00', {}, 'name'],
    ['x?text=a%00b', {}, 'text'],
    ['x', { list: [{ text: 'a\0' }] }, 'list.0.text'],
    ['x', { list: [{ 'a\0': 1 }] }, 'list.0'],
    ['x', { 'a\0': 1 }, 'body'],
  ])('are refused with their name if the database refuses their NUL: %s %j', async (path, body, field) => {
    const { client, lines } = await startHttp();
    const refusal = { error: 'INVALID_PARAMETER', field, message: `${field} must not contain the character NUL` };
    expect(await client.post(`/v1/texts/${path}`, body)).toEqual(
      expect.objectContaining({ status: 400, body: refusal }),
    );
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('are not blamed for text of the platform that the database refuses', async () => {
    const { client } = await startHttp();
    expect((await client.get('/v1/own-text?text=x')).status).toBe(500);
  });

  it('count as left out when they are optional and null', async () => {
    const { client } = await startHttp();
    const answer = await client.post('/v1/echo', { count: 1, flag: null });
    expect(answer).toMatchObject({ status: 200, body: { flag: false } });
  });

  it('keep the types of a JSON body, which only text of path and query is converted to', async () => {
    const { client } = await startHttp();
    expect((await client.post('/v1/echo?count=3&flag=TRUE')).body).toMatchObject({ count: 3, flag: true });
    expect(await client.post('/v1/echo', { count: '3' })).toMatchObject({ status: 400, body: { field: 'count' } });
    expect(await client.post('/v1/echo?count=3', 'null')).toMatchObject({ status: 400, body: { field: 'body' } });
  });
});

it('a page links to the next one, and the last page is marked as the last', async () => {
  const { client } = await startHttp();
  const { headers, body } = await client.get('/v1/page');
  expect(body).toEqual([1]);
  expect([headers.get('x-has-more'), headers.get('link')]).toEqual(['true', '</v1/page?after=a%26b>; rel="next"']);
  const last = await client.get('/v1/last');
  expect([last.headers.get('x-has-more'), last.headers.get('link')]).toEqual(['false', null]);
});

describe('tokens', () => {
  it('are required for all routes of a scope, and give no access to another scope', async () => {
    const { url, client } = await startHttp();
    expect(await createApiClient(url).get('/v1/page')).toMatchObject({ status: 401, body: { error: 'MISSING_TOKEN' } });
    const wrong = createApiClient(url, { 'x-service-token': 'wrong' });
    expect(await wrong.get('/v1/page')).toMatchObject({ status: 401, body: { error: 'INVALID_TOKEN' } });
    expect((await client.get('/v1/x/admin/applications')).status).toBe(401);
    expect((await createApiClient(url, asAdmin).get('/v1/x/admin/applications')).status).toBe(200);
    expect((await createApiClient(url, asAdmin).get('/v1/page')).status).toBe(401);
  });

  it('of an application and of the operator show the vehicles that they see to viewer routes', async () => {
    const { url, client } = await startHttp();
    expect((await client.get('/v1/x/view')).body).toEqual({ applicationIds: [1] });
    expect((await createApiClient(url, asAdmin).get('/v1/x/view')).body).toEqual({});
    expect((await createApiClient(url).get('/v1/x/view')).body.error).toBe('MISSING_TOKEN');
    const elsewhere = createApiClient(url, { 'x-service-token': 'right', 'x-application': 'app-other' });
    expect((await elsewhere.get('/v1/x/view')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('are declared in OpenAPI for the routes that need them', async () => {
    const { url } = await startHttp();
    const { paths } = (await createApiClient(url).get('/docs/json')).body;
    expect(paths['/v1/page'].get.security).toEqual([{ serviceToken: [] }, { session: [] }, { apiKey: [] }]);
    expect(paths['/v1/x/admin/applications'].get).toMatchObject({
      tags: ['operators'],
      security: [{ adminToken: [] }, { session: [] }, { apiKey: [] }],
    });
    expect(paths['/health'].get.security).toBeUndefined();
  });

  it('are not looked up beyond the request limit, which covers unknown paths too', async () => {
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

  it('make an answer no-store, so that no cache keeps it', async () => {
    const { client, url } = await startHttp();
    expect((await client.get('/v1/page')).headers.get('cache-control')).toBe('no-store');
    expect((await createApiClient(url).get('/v1/page')).headers.get('cache-control')).toBe('no-store');
  });
});

describe('a process whose event loop stood still', () => {
  /** Blocks the thread, without using the processor, and lets the next sample be taken. */
  async function standStill(ms: number): Promise<void> {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  const limits = { maxLoopDelayMs: 1500 };

  it('for less than the limit answers at once', async () => {
    const { client } = await startHttp({}, limits);
    await standStill(500);
    expect((await client.get('/v1/page')).status).toBe(200);
  });

  it('for longer than the limit refuses requests, until it turns in time again', async () => {
    const { client } = await startHttp({}, limits);
    await standStill(3000);
    expect(await client.get('/v1/page')).toMatchObject({ status: 503, body: { error: 'OVERLOADED' } });
    await eventually(async () => expect((await client.get('/v1/page')).status).toBe(200));
  });
});

describe('the admin token', () => {
  it.each([
    ['the newest', 'admin-token-of-the-tests', 200],
    ['the older one during a rotation', 'the-older-admin-token', 200],
    ['both together', 'admin-token-of-the-tests,the-older-admin-token', 401],
    ['another', 'another-admin-token', 401],
    ['none', '', 401],
  ])('is accepted as it is set: %s', async (_case, token, status) => {
    const { url } = await startHttp();
    const operator = createApiClient(url, { authorization: `Bearer ${token}` });
    expect((await operator.get('/v1/x/admin/applications')).status).toBe(status);
  });
});

import { accessService } from '@odograph/access/service';
import { consoleService } from '@odograph/console/service';
import { fleetService } from '@odograph/fleet/service';
import { openSocket } from '@odograph/http/http.fixture';
import { registrationService } from '@odograph/registration/service';
import { createApiClient } from '@odograph/testkit/api-client';
import { usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { describe, expect, it } from 'vitest';

const platform = await usePlatform(
  [fleetService, accessService, registrationService, consoleService],
  {
    HTTP_TRUST_PROXY: '1',
  },
  { httpRequestTimeoutMs: 1000 },
);

const headersOf = async (path: string, headers: Record<string, string> = {}) =>
  (await fetch(new URL(path, platform.httpUrl), { headers })).headers;
const asAdmin = { authorization: `Bearer ${testAdminToken}` };

/** Finds the last answer of a connection. */
function lastOf(text: string): string {
  return text.slice(Math.max(0, text.lastIndexOf('HTTP/1.1 ')));
}

describe('response headers', () => {
  it('forbid browsers to load content, sniff types and render frames', async () => {
    const headers = await headersOf('/v1/vehicles');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('server')).toBeNull();
  });

  it.each(['/', '/queues', '/docs', '/docs/static/index.html'])(
    'let the page %s run its own scripts only',
    async (path) => {
      const response = await fetch(new URL(path, platform.httpUrl), { headers: asAdmin });
      expect(response.status).toBe(200);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'self'");
      expect(policy).not.toMatch(/script-src|unsafe-eval|https:|upgrade-insecure/);
      const inline = /<script(?![^>]*\bsrc=)(?![^>]*application\/json)[^>]*>/;
      expect(await response.text()).not.toMatch(inline);
    },
  );

  it('allow no cross-origin request, with or without a preflight', async () => {
    const origin = { origin: 'https://other.example', 'access-control-request-method': 'POST' };
    for (const method of ['GET', 'OPTIONS']) {
      const response = await fetch(new URL('/v1/login', platform.httpUrl), { method, headers: origin });
      const names = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect([names, response.ok]).toEqual([[], false]);
    }
  });

  it('set Strict-Transport-Security only over TLS', async () => {
    expect((await headersOf('/health')).get('strict-transport-security')).toBeNull();
    const secure = await headersOf('/health', { 'x-forwarded-proto': 'https' });
    expect(secure.get('strict-transport-security')).toMatch(/^max-age=\d{7,}/);
  });
});

const answered = 'HEAD /metrics HTTP/1.1\r\nhost: x\r\n\r\n';
const jsonStart = 'POST /v1/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{';

describe('a malformed request gets a failure of the interface', () => {
  it.each([
    ['no HTTP', 'what is this?\r\n\r\n', 400],
    ['headers of 20 kB', `GET /health HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'headers of 20 kB after a request on the same connection',
      `${answered}GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['two lengths', 'POST /v1/login HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}', 400],
    ['a path that does not decode', 'GET /v1/vehicle/%zz/status HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 400],
    ['a body that never comes', jsonStart, 408],
    ['headers that never end', 'GET /health HTTP/1.1\r\nhost: x\r\n', 408],
  ])('%s', async (_what, bytes, status) => {
    const answer = lastOf(await openSocket(platform.httpUrl, bytes).answer);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const [, body = ''] = answer.split('\r\n\r\n');
    expect(JSON.parse(body)).toMatchObject({ error: 'INVALID_PARAMETER' });
  });
});

it('blocks an address temporarily after wrong admin tokens, and counts the attempts', async () => {
  const guess = (token: string, address: string) =>
    fetch(new URL('/v1/x/admin/devices', platform.httpUrl), {
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address },
    });
  for (let n = 0; n < 60; n += 1) expect((await guess(`wrong ${n}`, '192.0.2.1')).status).toBe(401);
  const refused = await guess(testAdminToken, '192.0.2.1');
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await guess(testAdminToken, '192.0.2.2')).status).toBe(200);
  const { body } = await platform.anonymous.get('/metrics');
  expect(body).toMatch(/odograph_http_failures_total\{code="INVALID_TOKEN"\} 60/);
});

it.each(['1e999', 'Infinity', '-Infinity', `1${'0'.repeat(400)}`])(
  'rejects the number %s as out of bounds',
  async (limit) => {
    const admin = createApiClient(platform.httpUrl, asAdmin);
    const { status, body } = await admin.get(`/v1/x/admin/devices?limit=${limit}`);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'limit']);
    const answer = await admin.post('/v1/x/admin/devices/none/secret', { overlapSeconds: limit });
    expect([answer.status, answer.body.field]).toEqual([400, 'overlapSeconds']);
  },
);

it('rejects a deeply nested value in any parameter', async () => {
  const admin = createApiClient(platform.httpUrl, asAdmin);
  const deep = `{"id":"d","model":"generic","extra":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const { status, body } = await admin.post('/v1/x/admin/devices', deep);
  expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'extra']);
});

import { once } from 'node:events';
import { readConfig } from '@odograph/runtime/config';
import { createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { describe, expect, it } from 'vitest';
import { asAdmin, closes, openSocket, startHttp } from './http.fixture.ts';

describe('the address of a client', () => {
  const ipOf = async (settings: Record<string, string>, forwardedFor: string) => {
    const { client } = await startHttp(settings);
    return (await client.post('/v1/echo?count=1', {}, { 'x-forwarded-for': forwardedFor })).body.ip;
  };

  it('is that of the connection unless a proxy is trusted', async () => {
    expect(await ipOf({}, '192.0.2.1')).toBe('127.0.0.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '0' }, '192.0.2.1')).toBe('127.0.0.1');
  });

  it('is taken from behind a number of trusted proxies, or proxies in trusted networks', async () => {
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '198.51.100.9, 192.0.2.1')).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '2' }, '198.51.100.9, 192.0.2.1')).toBe('198.51.100.9');
    const networks = '127.0.0.0/8,192.0.2.0/24';
    expect(await ipOf({ HTTP_TRUST_PROXY: networks }, '203.0.113.5, 198.51.100.9, 192.0.2.1')).toBe('198.51.100.9');
    expect(await ipOf({ HTTP_TRUST_PROXY: '10.0.0.0/8' }, '192.0.2.1')).toBe('127.0.0.1');
  });

  it('is always a valid address', async () => {
    expect(await ipOf({ HTTP_TRUST_PROXY: '2' }, `${'x'.repeat(5000)}, 192.0.2.1`)).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, "'; drop table audit")).toBe('127.0.0.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '192.0.2.1:5678')).toBe('192.0.2.1');
    expect(await ipOf({ HTTP_TRUST_PROXY: '1' }, '[2001:db8::1]:443')).toBe('2001:db8::1');
  });

  it.each(['true', 'yes', 'loopback', '10.0.0.0/99', '-1'])('is not configurable by HTTP_TRUST_PROXY=%s', (value) => {
    expect(() => readConfig({ HTTP_TRUST_PROXY: value })).toThrow(/HTTP_TRUST_PROXY: must be the number of proxies/);
  });
});

describe('metrics', () => {
  const statusOf = async (settings: Record<string, string>, headers: Record<string, string> = {}) => {
    const { url } = await startHttp(settings);
    return (await createApiClient(url, headers).get('/metrics')).status;
  };

  it('are readable from the local host or a configured network, and from elsewhere with the admin token', async () => {
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8' })).toBe(401);
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8' }, asAdmin)).toBe(200);
    const METRICS_TOKEN = 'metrics-token-of-the-tests';
    const asPrometheus = { authorization: `Bearer ${METRICS_TOKEN}` };
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8', METRICS_TOKEN }, asPrometheus)).toBe(200);
    expect(await statusOf({ METRICS_NETWORKS: '10.0.0.0/8' }, asPrometheus)).toBe(401);
    const behindProxy = { HTTP_TRUST_PROXY: '1', METRICS_NETWORKS: '10.0.0.0/8' };
    expect(await statusOf(behindProxy, { 'x-forwarded-for': '10.1.1.1' })).toBe(200);
    expect(await statusOf(behindProxy, { 'x-forwarded-for': '192.0.2.1' })).toBe(401);
  });

  it('are not public behind an untrusted proxy on the same host', async () => {
    expect(await statusOf({}, { 'x-forwarded-for': '192.0.2.1' })).toBe(401);
    expect(await statusOf({}, { 'x-forwarded-for': 'unknown' })).toBe(401);
  });

  it('reject malformed networks in METRICS_NETWORKS', () => {
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

  it('are limited per address', async () => {
    const { url } = await startHttp({}, { maxHttpConnectionsPerAddress: 3 });
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

  it('are closed after the timeout when they send nothing or never end their headers', async () => {
    const { url } = await startHttp({}, { httpRequestTimeoutMs: 1000 });
    const silent = openSocket(url);
    const slow = openSocket(url, 'GET /health HTTP/1.1\r\nhost: x\r\n');
    const trickle = setInterval(() => slow.socket.write('x-more: 1\r\n'), 200);
    closes.push(() => clearInterval(trickle));
    expect(await silent.answer).toMatch(/^(HTTP\/1.1 408 |$)/);
    expect(await slow.answer).toMatch(/^HTTP\/1.1 408 /);
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isPublicAddress, parseNetworks } from '@odograph/runtime/network-address';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ResolveHost, requireLiteralPermitted } from './addresses.ts';
import type { Attempt } from './context.ts';
import { Receiver, signHeaders } from './receiver.ts';

describe('an address that webhooks may be delivered to', () => {
  it.each(['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::808:808', '2606:4700::1111'])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.255.254'],
    ...['168.63.129.16', '169.254.169.254', '172.16.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:0:7f00:1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe'],
    ...['64:ff9b:1::808:808', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1'],
    ...['fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', 'localhost', ''],
  ])('is not %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('a URL', () => {
  const refuse =
    (url: string, networks = '') =>
    () =>
      requireLiteralPermitted(new URL(url), { allowed: networks === '' ? [] : (parseNetworks(networks) ?? []) });

  it.each([
    ...['https://127.0.0.1/', 'https://127.1/', 'https://2130706433/', 'https://0x7f000001/', 'https://0177.0.0.1/'],
    ...['https://[::1]/', 'https://[::ffff:7f00:1]/', 'https://[::ffff:10.0.0.1]/', 'https://[64:ff9b::7f00:1]/'],
    ...['https://①②⑦.0.0.1/', 'https://127.0.0.1./', 'http://8.8.8.8/', 'http://receiver.example/'],
  ])('%s is refused', (url) => {
    expect(refuse(url)).toThrow();
  });

  it.each([
    ['https://8.8.8.8/', ''],
    ['https://receiver.example/', ''],
    ['http://10.1.2.3/', '10.0.0.0/8'],
    ['https://[fd00::1]/', 'fd00::/8'],
    ['http://receiver.example/', '10.0.0.0/8'],
  ])('%s is permitted with the allowed networks "%s"', (url, networks) => {
    expect(refuse(url, networks)).not.toThrow();
    expect(refuse('http://192.168.1.1/', networks)).toThrow();
  });
});

describe('the addresses of a host', () => {
  const server = createServer((_request, response) => response.writeHead(204).end());
  let requests = 0;
  beforeAll(async () => {
    server.on('request', () => {
      requests += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function postTo(url: string, networks: string, resolve: ResolveHost): Promise<Attempt> {
    const allowed = networks === '' ? [] : (parseNetworks(networks) ?? []);
    const receiver = new Receiver(url, { allowed, resolve, connections: 1, timeLimitMs: 30_000 });
    try {
      return await receiver.post(signHeaders([], 'id', new Date(), '{}'), '{}');
    } finally {
      await receiver.close();
    }
  }

  const answering = (addresses: readonly string[]): ResolveHost => {
    return (_host, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  };

  it('are checked at each connection, so that a name whose answer changes reaches nothing', async () => {
    const { port } = server.address() as AddressInfo;
    const changing = [['93.184.215.14'], ['127.0.0.1']];
    const resolve: ResolveHost = (host, callback) => answering(changing.shift() ?? [])(host, callback);
    // The result of a check before the connection.
    resolve('receiver.example', () => undefined);
    const attempt = await postTo(`https://receiver.example:${port}/`, '', resolve);
    expect(attempt).toMatchObject({ outcome: 'forbidden', error: 'the host has no public address' });
    expect(requests).toBe(0);
  });

  it.each(['https', 'http'])(
    'answers the same over %s for an internal name that exists and one that does not',
    async (scheme) => {
      const missing: ResolveHost = (_host, callback) => callback(Object.assign(new Error(), { code: 'ENOTFOUND' }), []);
      const url = `${scheme}://receiver.internal/`;
      const answers = [];
      for (const resolve of [missing, answering([]), answering(['10.0.0.1'])]) {
        const { outcome, error } = await postTo(url, '127.0.0.0/8', resolve);
        answers.push({ outcome, error });
      }
      expect(answers).toEqual([answers[0], answers[0], answers[0]]);
      expect(answers[0]?.outcome).toBe('forbidden');
    },
  );

  it.each([['127.0.0.1'], ['::1'], ['::ffff:127.0.0.1'], ['169.254.169.254'], ['10.0.0.1', '192.168.0.1']])(
    'are refused where all of them are private: %s',
    async (...addresses) => {
      const attempt = await postTo('https://receiver.example/', '', answering(addresses));
      expect(attempt.outcome).toBe('forbidden');
      expect(attempt.error).not.toMatch(/\d/);
    },
  );

  it('are those in WEBHOOK_ALLOWED_NETWORKS too, also without TLS; of several, the others are not tried', async () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://receiver.example:${port}/`;
    const attempt = await postTo(url, '127.0.0.0/8', answering(['8.8.8.8', '10.0.0.1', '127.0.0.1']));
    expect(attempt).toMatchObject({ outcome: 'delivered', status: 204 });
    expect((await postTo(url, '10.0.0.0/8', answering(['127.0.0.1']))).outcome).toBe('forbidden');
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get, type RequestOptions } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createSelfSigned } from '@odograph/broker/connect/certificates.fixture';
import { brokerService } from '@odograph/broker/service';
import { childEnvironment } from '@odograph/runtime/config';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasAcmePrograms } from '@odograph/testkit/programs';
import { useDirectory } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';

const domain = 'telematics.test';
const caddyfile = fileURLToPath(new URL('../../infra/Caddyfile', import.meta.url));
const request = async (options: RequestOptions): Promise<IncomingMessage> => {
  const [answer] = await once(get({ host: '127.0.0.1', ...options }), 'response');
  return answer;
};
const signatureOfProxyProtocol2 = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

describe.skipIf(!hasAcmePrograms)('infra/Caddyfile', async () => {
  const directory = useDirectory();
  const running = new Set<ChildProcess>();
  const start = (program: string, parameters: string[], environment: Record<string, string> = {}): ChildProcess => {
    const child = spawn(program, parameters, { env: childEnvironment(environment), stdio: 'ignore' });
    running.add(child);
    return child;
  };
  const end = async (child: ChildProcess): Promise<void> => {
    running.delete(child);
    child.kill();
    await once(child, 'exit');
  };
  afterAll(() => Promise.all([...running].map((child) => end(child))));

  const [dns, acme, management] = [await freePort(), await freePort(), await freePort()];
  const [http, https] = [await freePort(), await freePort()];
  /** The certificate of the ACME endpoint of Pebble. */
  const authority = createSelfSigned(directory, 'pebble', 'IP:127.0.0.1');
  const pebbleConfig = {
    listenAddress: `127.0.0.1:${acme}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: authority.certificate,
    privateKey: authority.key,
    httpPort: http,
    tlsPort: https,
    profiles: { default: { description: 'the only one', validityPeriod: 86_400 } },
  };

  /** Stands in for HAProxy: records the first bytes of a connection and answers the request. */
  const received: Buffer[] = [];
  const upstream = createServer((socket) =>
    socket.once('data', (data) => {
      received.push(data);
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello');
    }),
  ).listen(0, '127.0.0.1');
  afterAll(() => upstream.close());

  const startCaddy = (): ChildProcess =>
    start('caddy', ['run', '--config', caddyfile, '--adapter', 'caddyfile'], {
      DOMAIN: domain,
      HTTP_PORT: String(http),
      HTTPS_PORT: String(https),
      ACME_CA: `https://127.0.0.1:${acme}/dir`,
      UPSTREAM: `127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      XDG_DATA_HOME: directory,
      SSL_CERT_FILE: authority.certificate,
    });
  const issued = join(directory, `caddy/certificates/127.0.0.1-${acme}-dir`, domain);
  const [certificate, key] = [join(issued, `${domain}.crt`), join(issued, `${domain}.key`)];
  const untilIssued = () =>
    eventually(async () => expect([certificate, key].every((file) => existsSync(file))).toBe(true), 60_000);

  const serialNumberAt = async (port: number): Promise<string> => {
    const socket = connect({ port, host: '127.0.0.1', servername: domain, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  it('obtains one certificate for HTTPS and MQTT, and a renewal ends no session', async () => {
    writeFileSync(join(directory, 'pebble.json'), JSON.stringify({ pebble: pebbleConfig }));
    const unused = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-doh', '', '-management', ''];
    start('pebble-challtestsrv', ['-dnsserver', `127.0.0.1:${dns}`, '-defaultIPv6', '', ...unused]);
    start('pebble', ['-config', join(directory, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns}`], {
      PEBBLE_VA_NOSLEEP: '1',
    });
    await eventually(() => serialNumberAt(acme));
    const caddy = startCaddy();
    await untilIssued();

    const mqttsPort = await freePort();
    const platform = await startTestPlatform([brokerService], {
      MQTT_TLS_CERTIFICATE: certificate,
      MQTT_TLS_KEY: key,
      MQTTS_PORT: String(mqttsPort),
    });
    onTestFinished(() => platform.stop());
    const first = await serialNumberAt(https);
    expect(await serialNumberAt(mqttsPort)).toBe(first);
    const roots = await request({ port: management, path: '/roots/0', ca: readFileSync(authority.certificate) });
    const verified = { ca: await text(roots), servername: domain };
    const device = await connectDevice(`mqtts://127.0.0.1:${mqttsPort}`, await createDevice(platform.db), verified);

    const answer = await request({ port: https, headers: { host: domain }, ...verified });
    expect(await text(answer)).toBe('hello');
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
    expect(received[0]?.subarray(0, 12)).toEqual(signatureOfProxyProtocol2);

    await end(caddy);
    rmSync(issued, { recursive: true });
    startCaddy();
    await untilIssued();
    await eventually(async () => expect(await serialNumberAt(mqttsPort)).not.toBe(first), 30_000);
    expect(await serialNumberAt(mqttsPort)).toBe(await serialNumberAt(https));
    await device.upload({ timestamp: 1 });
    await device.close();
  });
});

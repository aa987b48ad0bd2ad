import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasHaproxy, hasOpenssl } from '@odograph/testkit/programs';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, describe, expect, it } from 'vitest';
import { connackOf } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { createSelfSigned } from './certificates.fixture.ts';

let platform: TestPlatform;
let balancer: ChildProcess | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  balancer?.kill('SIGKILL');
  await platform.stop();
});

/** Starts HAProxy, which sends the PROXY protocol to each port. @returns the listening port for each */
async function startBalancer(directory: string, ports: readonly number[]): Promise<number[]> {
  const own = await Promise.all(ports.map(() => freePort()));
  const listeners = ports.map((port, index) =>
    [
      `listen l${index}`,
      `  bind 127.0.0.1:${own[index]}`,
      '  mode tcp',
      `  server broker 127.0.0.1:${port} send-proxy-v2`,
    ].join('\n'),
  );
  const timeouts = ['connect', 'client', 'server'].map((name) => `  timeout ${name} 60s`);
  const file = join(directory, 'haproxy.cfg');
  await writeFile(file, `${['defaults', ...timeouts, ...listeners].join('\n')}\n`);
  balancer = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  await eventually(async () => (await openFrom('127.0.0.1', own[0] ?? 0)).destroy());
  return own;
}

async function openFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

describe.skipIf(!hasHaproxy || !hasOpenssl)('behind a balancer that sends the PROXY protocol', () => {
  it('devices connect over TCP and TLS, and limits apply to their addresses', async () => {
    const directory = createTestDirectory();
    const { certificate, key } = createSelfSigned(directory, 'localhost');
    const [mqttPort, tlsPort] = [await freePort(), await freePort()];
    platform = await startTestPlatform(
      [brokerService],
      {
        ...{ MQTT_PORT: String(mqttPort), MQTTS_PORT: String(tlsPort), PROXY_PROTOCOL_NETWORKS: '127.0.0.1' },
        ...{ MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key },
      },
      { maxUnauthenticatedConnectionsPerAddress: 2 },
    );
    const [mqtt = 0, mqtts = 0] = await startBalancer(directory, [mqttPort, tlsPort]);
    for (const port of [mqtt, mqtts]) {
      const silent = await Promise.all([1, 2, 3, 4].map(() => openFrom('127.0.0.2', port)));
      await eventually(async () => expect(silent.filter(({ closed }) => !closed)).toHaveLength(2));
      const url = port === mqtt ? `mqtt://127.0.0.1:${port}` : `mqtts://127.0.0.1:${port}`;
      const device = await connectDevice(url, await createDevice(platform.db), { rejectUnauthorized: false });
      await device.upload({ timestamp: 1 });
      await device.close();
      for (const socket of silent) socket.destroy();
    }
  });

  it('a connection of the balancer without a header is closed, and one from another address needs none', async () => {
    platform = await startTestPlatform([brokerService], { PROXY_PROTOCOL_NETWORKS: '127.0.0.2' });
    const { deviceId, secret } = await createDevice(platform.db);
    expect(await connackOf(platform.mqttUrl, { clientId: deviceId, username: deviceId, password: secret })).toBe(0);
    const socket = await openFrom('127.0.0.2', platform.config.MQTT_PORT);
    socket.resume().write('sixteen bytes and more, but no header');
    await once(socket, 'close');
  });
});

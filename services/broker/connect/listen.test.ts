import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { openSocket } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { createSelfSigned } from './certificates.fixture.ts';

it.skipIf(!hasOpenssl)('accepts uploads over TLS and over plain connections', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-tls-'));
  const { certificate, key } = createSelfSigned(directory, 'localhost');
  const port = String(await freePort());
  const settings = { MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key, MQTTS_PORT: port };
  const platform = await startTestPlatform([brokerService], settings);
  const url = `mqtts://127.0.0.1:${port}`;
  const secure = await connectDevice(url, await createDevice(platform.db), { rejectUnauthorized: false });
  const plain = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  const stranger = await openSocket(url);
  stranger.end('no TLS');
  await Promise.all([
    secure.upload({ timestamp: 1 }),
    plain.upload('x'.repeat(200_000)),
    secure.upload('y'.repeat(200_000)),
  ]);
  expect(secure.client.connected && plain.client.connected).toBe(true);
  await Promise.all([secure.close(), plain.close()]);
  await platform.stop();
  await rm(directory, { recursive: true });
});

it('does not start when its port is in use', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await expect(startTestPlatform([brokerService], { MQTT_PORT: String(port) })).rejects.toThrow('EADDRINUSE');
  other.close();
});

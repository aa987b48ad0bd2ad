import { EventEmitter, once } from 'node:events';
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { InvalidSettings, readConfig } from '@odograph/runtime/config';
import { followTlsFiles, readTlsFiles } from '@odograph/sessions/listeners';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSocket } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { createRevocationList, createSelfSigned, issueCertificate } from './certificates.fixture.ts';

it('rejects a revocation list without its authorities', () => {
  expect(() => readConfig({ MQTT_TLS_CLIENT_CRL: 'list.pem' })).toThrow(InvalidSettings);
});

describe.skipIf(!hasOpenssl)('changed certificate files', () => {
  let directory: string;
  let platform: TestPlatform;
  let port: string;
  let authority: { certificate: string; key: string };
  const file = (name: string): string => join(directory, name);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-tls-'));
    authority = createSelfSigned(directory, 'authority');
    const first = createSelfSigned(directory, 'first');
    await copyFile(first.certificate, file('server.pem'));
    await copyFile(first.key, file('server-key.pem'));
    await copyFile(createRevocationList(directory, authority, []), file('list.pem'));
    port = String(await freePort());
    platform = await startTestPlatform([brokerService], {
      MQTT_TLS_CERTIFICATE: file('server.pem'),
      MQTT_TLS_KEY: file('server-key.pem'),
      MQTT_TLS_CLIENT_CA: authority.certificate,
      MQTT_TLS_CLIENT_CRL: file('list.pem'),
      MQTTS_PORT: port,
    });
  });
  afterAll(async () => {
    await platform.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const nameOfServer = async (ofPort: string | number): Promise<unknown> => {
    const socket = connect({ port: Number(ofPort), host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  const isAccepted = (device: { deviceId: string; secret: string }, certificate: { cert: Buffer; key: Buffer }) =>
    connectDevice(`mqtts://127.0.0.1:${port}`, device, { rejectUnauthorized: false, ...certificate }).then(
      (session) => session.close().then(() => true),
      () => false,
    );

  it('apply to new connections, and sessions stay', async () => {
    const url = `mqtts://127.0.0.1:${port}`;
    const session = await connectDevice(url, await createDevice(platform.db), { rejectUnauthorized: false });
    expect(await nameOfServer(port)).toBe('first');
    const second = createSelfSigned(directory, 'second');
    await copyFile(second.certificate, file('server.pem'));
    await copyFile(second.key, file('server-key.pem'));
    await eventually(async () => expect(await nameOfServer(port)).toBe('second'));
    await session.upload({ timestamp: 1 });
    await session.close();
  });

  it('change nothing while a certificate and its key do not match, or one is missing', async () => {
    const [old, renewed] = [createSelfSigned(directory, 'old'), createSelfSigned(directory, 'renewed')];
    const [certificate, key] = [file('own.pem'), file('own-key.pem')];
    await copyFile(old.certificate, certificate);
    await copyFile(old.key, key);
    const config = { ...platform.config, MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key };
    const files = await readTlsFiles(config);
    if (!files) throw new Error('there are files');
    const server = createServer(files).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: ownPort } = server.address() as AddressInfo;
    const reports = new EventEmitter();
    const stop = followTlsFiles(server, config, files, (error) => reports.emit('report', error), 50);
    const reportOf = async (change: () => Promise<void>): Promise<unknown> => {
      const report = once(reports, 'report');
      await change();
      return (await report)[0];
    };

    expect(await reportOf(() => rm(key))).toMatchObject({ code: 'ENOENT' });
    expect(await nameOfServer(ownPort)).toBe('old');
    expect(await reportOf(() => rename(old.key, key))).toBeUndefined();
    expect(await reportOf(() => rename(renewed.certificate, certificate))).toBeInstanceOf(Error);
    expect(await nameOfServer(ownPort)).toBe('old');
    expect(await reportOf(() => rename(renewed.key, key))).toBeUndefined();
    expect(await nameOfServer(ownPort)).toBe('renewed');
    stop();
    server.close();
  });

  it('refuse a device once the revocation list names its certificate, and no other', async () => {
    const [lost, kept] = [await createDevice(platform.db), await createDevice(platform.db)];
    const ofLost = issueCertificate(directory, authority, `/CN=${lost.deviceId}`);
    const ofKept = issueCertificate(directory, authority, `/CN=${kept.deviceId}`);
    expect([await isAccepted(lost, ofLost), await isAccepted(kept, ofKept)]).toEqual([true, true]);
    await copyFile(createRevocationList(directory, authority, [ofLost.cert]), file('list.pem'));
    await eventually(async () => expect(await isAccepted(lost, ofLost)).toBe(false));
    expect(await isAccepted(kept, ofKept)).toBe(true);
  });
});

it.skipIf(!hasOpenssl)('accepts uploads over TLS and over plain connections', async () => {
  const directory = createTestDirectory();
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
});

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closed, openRedis, packet } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { createSelfSigned, issueCertificate } from './certificates.fixture.ts';

type Options = NonNullable<Parameters<typeof connectDevice>[2]>;

/** Options that unset defaults of connectDevice. */
function optionsWithout(options: { [Name in keyof Options]: Options[Name] | undefined }): Options {
  return options as Options;
}

describe.skipIf(!hasOpenssl)('a client certificate', () => {
  let directory: string;
  let platform: TestPlatform;
  let url: string;
  let authority: { certificate: string; key: string };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-tls-'));
    authority = createSelfSigned(directory, 'authority');
    const server = createSelfSigned(directory, 'localhost');
    const port = String(await freePort());
    platform = await startTestPlatform([brokerService], {
      MQTT_TLS_CERTIFICATE: server.certificate,
      MQTT_TLS_KEY: server.key,
      MQTT_TLS_CLIENT_CA: authority.certificate,
      MQTTS_PORT: port,
    });
    url = `mqtts://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    await platform.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const certificateOf = (name: string) => issueCertificate(directory, authority, `/CN=${name}`);
  const withoutPassword: Options = optionsWithout({ rejectUnauthorized: false, password: undefined });
  const bare: Options = optionsWithout({ ...withoutPassword, username: undefined });

  const isAccepted = (device: { deviceId: string; secret: string }, options: Options) =>
    connectDevice(url, device, { ...options, connectTimeout: 5000 }).then(
      async (session) => {
        await session.upload({ timestamp: 1 });
        await session.close();
        return true;
      },
      () => false,
    );

  it('of the authority signs its device in, with or without the secret', async () => {
    const device = await createDevice(platform.db);
    const certificate = certificateOf(device.deviceId);
    expect(await isAccepted(device, { ...bare, ...certificate })).toBe(true);
    expect(await isAccepted(device, { ...withoutPassword, ...certificate })).toBe(true);
    expect(await isAccepted(device, { rejectUnauthorized: false, ...certificate })).toBe(true);
    const wrong = { ...device, secret: 'wrong' };
    expect(await isAccepted(wrong, { rejectUnauthorized: false, ...certificate })).toBe(false);
  });

  it('is optional with the secret, and required without it', async () => {
    const device = await createDevice(platform.db);
    expect(await isAccepted(device, { rejectUnauthorized: false })).toBe(true);
    expect(await isAccepted(device, withoutPassword)).toBe(false);
    expect(await isAccepted(device, bare)).toBe(false);
  });

  it('of another device is refused, even with the right secret', async () => {
    const [device, other] = [await createDevice(platform.db), await createDevice(platform.db)];
    const certificate = certificateOf(other.deviceId);
    expect(await isAccepted(device, { ...bare, ...certificate })).toBe(false);
    expect(await isAccepted(device, { rejectUnauthorized: false, ...certificate })).toBe(false);
    expect(await isAccepted(device, { ...withoutPassword, username: other.deviceId, ...certificate })).toBe(false);
  });

  it('of a device that does not exist, or with several names, or of the platform itself is refused', async () => {
    const device = await createDevice(platform.db);
    const unknown = { deviceId: 'unknown-device', secret: '' };
    expect(await isAccepted(unknown, { ...bare, ...certificateOf(unknown.deviceId) })).toBe(false);
    const several = issueCertificate(directory, authority, `/CN=${device.deviceId}/CN=${device.deviceId}`);
    expect(await isAccepted(device, { ...bare, ...several })).toBe(false);
    const service = { deviceId: 'odograph-command', secret: '' };
    expect(await isAccepted(service, { ...bare, ...certificateOf(service.deviceId) })).toBe(false);
  });

  it('of another authority, or expired, closes the connection before CONNECT is read', async () => {
    const device = await createDevice(platform.db);
    const stranger = createSelfSigned(directory, 'stranger');
    const forged = issueCertificate(directory, stranger, `/CN=${device.deviceId}`);
    const expired = issueCertificate(directory, authority, `/CN=${device.deviceId}`, -1);
    for (const certificate of [forged, expired]) {
      expect(await isAccepted(device, { rejectUnauthorized: false, ...certificate })).toBe(false);
      const { port } = new URL(url);
      const socket = connectTls({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false, ...certificate });
      socket.on('error', () => undefined);
      socket.write(packet(0xc0));
      await once(socket, 'close');
    }
    expect(await platform.metrics.getSingleMetricAsString('odograph_broker_refused_total')).toMatch(
      /refused_total\{reason="certificate"\} [1-9]/,
    );
  });

  it('issued before a revocation is refused and its session closed; one issued later is accepted', async () => {
    const device = await createDevice(platform.db);
    const certificate = certificateOf(device.deviceId);
    const session = await connectDevice(url, device, { ...bare, ...certificate });
    const revokeAt = (moment: Date) =>
      platform.db
        .updateTable('device')
        .set({ certificates_issued_from: moment })
        .where('id', '=', device.deviceId)
        .execute();
    await revokeAt(new Date(Date.now() + 1000));
    const redis = await openRedis(platform.config.REDIS_URL);
    await redis.publish(deviceRevokedChannel(platform.config.QUEUE_PREFIX), device.deviceId);
    await closed(session);
    redis.disconnect();
    expect(await isAccepted(device, { ...bare, ...certificate })).toBe(false);
    await revokeAt(new Date(Date.now() - 3_600_000));
    expect(await isAccepted(device, { ...bare, ...certificateOf(device.deviceId) })).toBe(true);
    await sql`delete from device where id = ${device.deviceId}`.execute(platform.db);
    expect(await isAccepted(device, { ...bare, ...certificate })).toBe(false);
  });
});

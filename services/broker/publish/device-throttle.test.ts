import { setTimeout as delay } from 'node:timers/promises';
import { DeviceThrottle } from '@odograph/runtime/device-throttle';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { brokerService } from '../service.ts';

let platform: TestPlatform;

const uploadsPerSecond = 20;
const burst = 10 * uploadsPerSecond;
const start = (settings: Record<string, string>) =>
  startTestPlatform([brokerService], settings).then((started) => (platform = started));

/** Publishes as fast as the connection takes it. @returns the number of PUBACKs so far */
function flood(device: DeviceConnection, uploads: number, payload: string): () => number {
  let acknowledged = 0;
  for (let n = 0; n < uploads; n += 1) {
    device.upload(payload).then(
      () => {
        acknowledged += 1;
      },
      () => undefined,
    );
  }
  return () => acknowledged;
}

describe('the broker', () => {
  afterEach(() => platform.stop());

  it('reads no more uploads from a flooding device than its rate allows, and delays no other device', async () => {
    await start({ MQTT_DEVICE_UPLOADS_PER_SECOND: String(uploadsPerSecond) });
    const identity = await createDevice(platform.db);
    const flooding = await connectDevice(platform.mqttUrl, identity);
    const other = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    const acknowledged = flood(flooding, 20_000, JSON.stringify({ timestamp: 1, padding: 'x'.repeat(1000) }));
    const times: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      const startMs = performance.now();
      await other.upload({ timestamp: n });
      times.push(performance.now() - startMs);
      await delay(100);
    }
    expect(Math.max(...times)).toBeLessThan(1000);
    // One chunk of a socket (64 KiB) may exceed the burst.
    expect(acknowledged()).toBeGreaterThanOrEqual(burst);
    expect(acknowledged()).toBeLessThan(burst + 5 * uploadsPerSecond + 130);
    expect(flooding.client.connected).toBe(true);
    expect(await platform.metrics.getSingleMetricAsString('odograph_broker_throttled_total')).toMatch(/ [1-9]/);
    await Promise.all([flooding.close('cut'), other.close()]);
  });

  it('counts the uploads of a device over its connections, and goes on at its rate', async () => {
    await start({ MQTT_DEVICE_UPLOADS_PER_SECOND: String(uploadsPerSecond) });
    const identity = await createDevice(platform.db);
    const startMs = performance.now();
    const first = await connectDevice(platform.mqttUrl, identity);
    for (let n = 0; n < burst + 5; n += 1) await first.upload({ timestamp: n });
    await first.close();
    const second = await connectDevice(platform.mqttUrl, identity);
    for (let n = 0; n < 2 * uploadsPerSecond; n += 1) await second.upload({ timestamp: n });
    // However slow the machine, the uploads beyond the burst take their time.
    expect(performance.now() - startMs).toBeGreaterThan(2000);
    await second.close();
  });

  it('reads no more bytes from a device than its rate allows', async () => {
    await start({ MQTT_DEVICE_BYTES_PER_SECOND: '50000' });
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    const acknowledged = flood(device, 200, 'x'.repeat(50_000));
    await delay(2000);
    expect(acknowledged()).toBeGreaterThanOrEqual(9);
    expect(acknowledged()).toBeLessThan(20);
    await device.close('cut');
  });

  it('applies the rates that an application sets for its devices from their next connection on', async () => {
    await start({ MQTT_DEVICE_UPLOADS_PER_SECOND: String(uploadsPerSecond) });
    const application = await createApplication(platform.db);
    const identity = await createDevice(platform.db, { applicationId: application.id });
    const setRate = (rate: number | null) =>
      sql`update application set device_uploads_per_second = ${rate} where id = ${application.id}`.execute(platform.db);
    const uploads = 1000;
    const payload = JSON.stringify({ padding: 'x'.repeat(200) });
    await setRate(uploads);
    const fast = await connectDevice(platform.mqttUrl, identity);
    const acknowledged = flood(fast, uploads, payload);
    await eventually(async () => expect(acknowledged()).toBe(uploads));
    await fast.close();
    await setRate(null);
    const slow = await connectDevice(platform.mqttUrl, identity);
    const acknowledgedSlowly = flood(slow, uploads, payload);
    await delay(2000);
    expect(acknowledgedSlowly()).toBeLessThan(uploads);
    await slow.close('cut');
  });
});

describe('the share of a device in the live lane', () => {
  const rates = { uploadsPerSecond: 50, bytesPerSecond: 512 * 1024 };
  let nowMs = 0;
  const createThrottle = () => new DeviceThrottle(rates, nowMs);

  it('covers a burst of 64 KiB, and then 16 KiB/s for any length of time', () => {
    const throttle = createThrottle();
    expect(throttle.isWithinLiveShare(64 * 1024, nowMs)).toBe(true);
    for (let second = 0; second < 100; second += 1) {
      nowMs += 1000;
      expect(throttle.isWithinLiveShare(16 * 1024, nowMs)).toBe(true);
    }
    expect(throttle.isWithinLiveShare(1, nowMs)).toBe(false);
  });

  it('is free again seconds after the device slows down, whatever it uploaded before', () => {
    const throttle = createThrottle();
    for (let upload = 0; upload < 1000; upload += 1) throttle.isWithinLiveShare(250 * 1024, nowMs);
    expect(throttle.isWithinLiveShare(20 * 1024, nowMs)).toBe(false);
    nowMs += 2000;
    expect(throttle.isWithinLiveShare(20 * 1024, nowMs)).toBe(true);
  });
});

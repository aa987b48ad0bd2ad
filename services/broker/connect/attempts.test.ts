import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connackOf } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { ConnectAttempts } from './attempts.ts';

const limits = { failuresPerDevice: 3, failuresPerAddress: 8 };

describe('the judgement of a CONNECT', () => {
  const failTimes = (attempts: ConnectAttempts, times: number, address: (n: number) => string, id: string) => {
    for (let n = 0; n < times; n += 1) attempts.failed(address(n), id, 0);
  };

  it('refuses a device id at an address after so many failures, for a minute, and no other id or address', () => {
    const attempts = new ConnectAttempts(limits);
    failTimes(attempts, 2, () => '10.0.0.1', 'd');
    expect(attempts.judge('10.0.0.1', 'd', 0)).toBe('admit');
    attempts.failed('10.0.0.1', 'd', 0);
    expect(attempts.judge('::ffff:10.0.0.1', 'd', 59_999)).toBe('refuse');
    expect(attempts.judge('10.0.0.1', 'other', 0)).toBe('admit');
    expect(attempts.judge('10.0.0.2', 'd', 0)).toBe('admit');
    expect(attempts.judge('10.0.0.1', 'd', 60_000)).toBe('admit');
  });

  it('refuses an address that tries many ids, except the devices that were let in from there', () => {
    const attempts = new ConnectAttempts(limits);
    attempts.succeeded('10.0.0.1', 'own');
    for (let n = 0; n < 8; n += 1) attempts.failed('10.0.0.1', `d${n}`, 0);
    expect(attempts.judge('10.0.0.1', 'new', 0)).toBe('refuse');
    expect(attempts.judge('10.0.0.1', 'own', 0)).toBe('admit');
    failTimes(attempts, 3, () => '10.0.0.1', 'own');
    expect(attempts.judge('10.0.0.1', 'own', 0)).toBe('slow');
  });

  it('only slows a device whose id fails from many addresses, and not where it was let in before', () => {
    const attempts = new ConnectAttempts(limits);
    attempts.succeeded('192.0.2.1', 'd');
    failTimes(attempts, 30, (n) => `10.0.1.${n}`, 'd');
    expect(attempts.judge('203.0.113.9', 'd', 0)).toBe('slow');
    expect(attempts.judge('192.0.2.1', 'd', 0)).toBe('admit');
  });
});

describe('a broker', () => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startTestPlatform([brokerService], { MQTT_FAILURES_PER_DEVICE: '3' });
  });
  afterAll(() => platform.stop());

  const connack = (device: string, password: string) =>
    connackOf(platform.mqttUrl, { clientId: device, username: device, password });
  const refused = async () => (await platform.metrics.getSingleMetricAsString('odograph_broker_refused_total')) ?? '';

  it('answers late and "server unavailable" after too many failures, even to the right secret, and counts it', async () => {
    const [guessed, neighbour] = [await createDevice(platform.db), await createDevice(platform.db)];
    for (const _ of [1, 2, 3]) expect(await connack(guessed.deviceId, 'wrong')).toBe(4);
    const start = performance.now();
    expect(await connack(guessed.deviceId, guessed.secret)).toBe(3);
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(await connack(neighbour.deviceId, neighbour.secret)).toBe(0);
    expect(await refused()).toMatch(/reason="credentials"\} 3/);
    expect(await refused()).toMatch(/reason="attempts"\} 1/);
  });

  it('still lets a device in that somebody at its own address guesses at, only later', async () => {
    const device = await createDevice(platform.db);
    expect(await connack(device.deviceId, device.secret)).toBe(0);
    for (const _ of [1, 2, 3, 4]) await connack(device.deviceId, 'wrong');
    expect(await connack(device.deviceId, device.secret)).toBe(0);
  });
});

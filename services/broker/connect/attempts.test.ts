import { setImmediate as turn } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connackOf } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { ConnectAttempts } from './attempts.ts';

const limits = { failuresPerDevice: 3, failuresPerAddress: 8 };

describe('failed CONNECTs', () => {
  it('are answered late when one device id fails often at one address, for a minute', () => {
    const attempts = new ConnectAttempts(limits);
    const answers = [1, 2, 3, 4].map(() => attempts.failed('10.0.0.1', 'd', 0));
    expect(answers).toEqual([false, false, false, true]);
    expect(attempts.failed('::ffff:10.0.0.1', 'd', 59_999)).toBe(true);
    expect(attempts.failed('10.0.0.1', 'other', 0)).toBe(false);
    expect(attempts.failed('10.0.0.2', 'd', 0)).toBe(false);
    expect(attempts.failed('10.0.0.1', 'd', 60_000)).toBe(false);
  });

  it('are answered late when one address tries many ids, of IPv6 a whole /64', () => {
    const attempts = new ConnectAttempts(limits);
    for (let n = 0; n < 8; n += 1) expect(attempts.failed(`2001:db8::${n + 1}`, `d${n}`, 0)).toBe(false);
    expect(attempts.failed('2001:db8::ffff', 'new', 0)).toBe(true);
    expect(attempts.failed('2001:db8:0:1::1', 'new', 0)).toBe(false);
  });

  it('are answered late when one id fails at many addresses', () => {
    const attempts = new ConnectAttempts(limits);
    for (let n = 0; n < 30; n += 1) expect(attempts.failed(`10.0.1.${n}`, 'd', 0)).toBe(false);
    expect(attempts.failed('203.0.113.9', 'd', 0)).toBe(true);
  });

  it('are forgotten when the device connects', () => {
    const attempts = new ConnectAttempts(limits);
    for (let n = 0; n < 3; n += 1) attempts.failed('10.0.0.1', 'd', 0);
    attempts.succeeded('10.0.0.1', 'd');
    expect(attempts.failed('10.0.0.1', 'd', 0)).toBe(false);
  });
});

it('lets the checks of other networks pass those that wait for their own network', async () => {
  const attempts = new ConnectAttempts(limits);
  const ended: (() => void)[] = [];
  const started: string[] = [];
  const check = (address: string) =>
    attempts.check(address, () => {
      started.push(address);
      return new Promise<void>((resolve) => ended.push(resolve));
    });
  const checks = Array.from({ length: 500 }, () => check('10.0.0.1'));
  checks.push(check('10.0.0.2'));
  await turn();
  expect(started.length).toBe(201);
  expect(started.at(-1)).toBe('10.0.0.2');
  while (ended.length > 0) {
    for (const end of ended.splice(0)) end();
    await turn();
  }
  await Promise.all(checks);
  expect(started.length).toBe(501);
});

describe('a broker under guessing', () => {
  let platform: TestPlatform;
  beforeAll(async () => {
    const limits = { maxConnectFailuresPerDevice: 3, maxConnectFailuresPerAddress: 300 };
    platform = await startTestPlatform([brokerService], {}, limits);
  });
  afterAll(() => platform.stop());

  const connack = (device: string, password: string) =>
    connackOf(platform.mqttUrl, { clientId: device, username: device, password });
  const refused = async () => (await platform.metrics.getSingleMetricAsString('odograph_broker_refused_total')) ?? '';

  it('accepts the right secret without delay after any number of failures of its id and address, and delays failures', async () => {
    const [guessed, neighbour] = [await createDevice(platform.db), await createDevice(platform.db)];
    for (const _ of [1, 2, 3]) expect(await connack(guessed.deviceId, 'wrong')).toBe(4);
    const answerMs = async (secret: string, code: number): Promise<number> => {
      const startMs = performance.now();
      expect(await connack(guessed.deviceId, secret)).toBe(code);
      return performance.now() - startMs;
    };
    expect(await answerMs('wrong', 4)).toBeGreaterThan(900);
    // A delay would slow down each of them; a busy machine rather one.
    const undelayed: number[] = [];
    for (const _ of [1, 2, 3]) undelayed.push(await answerMs(guessed.secret, 0));
    expect(Math.min(...undelayed)).toBeLessThan(900);
    expect(await connack(neighbour.deviceId, neighbour.secret)).toBe(0);
    expect(await refused()).toMatch(/reason="credentials"\} 4/);
  });

  it('accepts a device within a second while its address keeps hundreds of failing CONNECTs in progress', async () => {
    const device = await createDevice(platform.db);
    let isOver = false;
    let failures = 0;
    const attack = async (attacker: number): Promise<void> => {
      for (let n = 0; !isOver; n += 1) {
        const deviceId = `guess-${attacker}-${n}`;
        await connack(deviceId, 'wrong').catch(() => undefined);
        failures += 1;
      }
    };
    const attackers = Array.from({ length: 300 }, (_, attacker) => attack(attacker));
    await eventually(async () => expect(failures).toBeGreaterThan(600));
    const times: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const startMs = performance.now();
      expect(await connack(device.deviceId, device.secret)).toBe(0);
      times.push(performance.now() - startMs);
    }
    isOver = true;
    await Promise.all(attackers);
    expect(times.sort((a, b) => a - b)[10]).toBeLessThan(1000);
  });
});

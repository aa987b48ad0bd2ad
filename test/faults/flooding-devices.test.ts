import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type FloodEffect,
  type FloodedPlatform,
  type FloodKind,
  type Measured,
  startFloodedPlatform,
} from './parts/flood.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

/** Low enough that one second of flood exceeds the burst. */
const lowRates = { device_uploads_per_second: 10, device_bytes_per_second: 128 * 1024 };
const options = scale.isFullLength
  ? { honestDevices: 200, hostileDevices: 10, intervalMs: 1000 }
  : { honestDevices: 50, hostileDevices: 5, intervalMs: 500, rates: lowRates };
const seconds = scale.isFullLength ? 15 : 1.5;
/** The guarantee of docs/security.md, on an otherwise idle machine. */
const maximumMs = 1000;
/**
 * Next to other tests a median is compared with that of the same devices alone, of which the slowest counts: single delays
 * are those of the machine.
 */
const maximumRatio = 8;
const minMs = 50;

const at = (delays: readonly number[], share: number): number =>
  Math.round(delays[Math.floor(share * (delays.length - 1))] ?? Number.NaN);

describe('next to devices of another application that flood the platform, the uploads of others', () => {
  let platform: FloodedPlatform;
  const calm: Measured[] = [];
  const measureCalm = async (): Promise<void> => {
    const measured = await platform.measure(seconds);
    calm.push(measured);
    await reportDelays('nobody', measured);
  };
  const reportDelays = (kind: string, { pubacks, stored, closed, throttled }: Measured) =>
    report(`flooding devices: ${kind}`, {
      ...{ pubackP50Ms: at(pubacks, 0.5), pubackP99Ms: at(pubacks, 0.99) },
      ...{ storedP50Ms: at(stored, 0.5), storedP99Ms: at(stored, 0.99), closed, throttled },
    });
  const expectUndelayed = (delays: (measured: Measured) => readonly number[], measured: Measured): void => {
    if (scale.isFullLength) expect(at(delays(measured), 0.99)).toBeLessThan(maximumMs);
    const alone = Math.max(minMs, ...calm.map((one) => at(delays(one), 0.5)));
    expect(at(delays(measured), 0.5)).toBeLessThan(maximumRatio * alone);
  };

  beforeAll(async () => {
    platform = await startFloodedPlatform(options);
    await platform.measure(1);
    await measureCalm();
  }, 300_000);
  afterAll(() => platform.stop());

  it.each<[FloodKind, 'closed' | 'throttled']>([
    ['PUBACK', 'closed'],
    ['PINGREQ', 'closed'],
    ['SUBSCRIBE', 'closed'],
    ['invalid JSON', 'throttled'],
    ['arrays of 1,000 readings', 'throttled'],
  ])(
    'are acknowledged and stored as without them: %s, whose senders are %s',
    async (kind, consequence) => {
      const hasEffect = (effect: FloodEffect) => effect[consequence] >= options.hostileDevices;
      const measured = await platform.measure(seconds, kind, hasEffect);
      await reportDelays(kind, measured);
      if (kind === 'SUBSCRIBE') await measureCalm();
      expect(hasEffect(measured)).toBe(true);
      expectUndelayed(({ pubacks }) => pubacks, measured);
      expectUndelayed(({ stored }) => stored, measured);
    },
    120_000,
  );
});
